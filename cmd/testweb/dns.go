package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// answer answers queries for addresses until ctx ends: names that lookup has
// with their IPv4 address, all others with NXDOMAIN.
func answer(ctx context.Context, conn net.PacketConn, lookup func(string) (netip.Addr, bool)) error {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	packet := make([]byte, 1500)
	for {
		n, from, err := conn.ReadFrom(packet)
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("name server: %w", err)
		}
		reply, err := replyTo(packet[:n], lookup)
		if err != nil {
			continue // no query; nobody waits for an answer
		}
		if _, err := conn.WriteTo(reply, from); err != nil && ctx.Err() == nil {
			return fmt.Errorf("name server: %w", err)
		}
	}
}

// replyTo makes the answer to one query.
func replyTo(query []byte, lookup func(string) (netip.Addr, bool)) ([]byte, error) {
	var p dnsmessage.Parser
	header, err := p.Start(query)
	if err != nil {
		return nil, err
	}
	q, err := p.Question()
	if err != nil {
		return nil, err
	}
	if header.Response {
		return nil, errors.New("a response")
	}
	addr, known := lookup(strings.ToLower(strings.TrimSuffix(q.Name.String(), ".")))
	code := dnsmessage.RCodeSuccess
	if !known {
		code = dnsmessage.RCodeNameError
	}
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{ID: header.ID, Response: true, Authoritative: true,
		RecursionDesired: header.RecursionDesired, RecursionAvailable: true, RCode: code})
	if err := errors.Join(b.StartQuestions(), b.Question(q)); err != nil {
		return nil, err
	}
	if known && q.Type == dnsmessage.TypeA && addr.Is4() {
		if err := errors.Join(b.StartAnswers(), b.AResource(dnsmessage.ResourceHeader{Name: q.Name,
			Class: dnsmessage.ClassINET, TTL: 300}, dnsmessage.AResource{A: addr.As4()})); err != nil {
			return nil, err
		}
	}
	return b.Finish()
}
