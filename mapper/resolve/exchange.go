package resolve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/miekg/dns"
)

// Exchanger sends one query to one server and returns its answer. It ends when ctx does.
type Exchanger interface {
	Exchange(ctx context.Context, query *dns.Msg, server string, tcp bool) (*dns.Msg, error)
}

const (
	// udpSize is what passes without fragments (DNS flag day 2020).
	udpSize = 1232
	// maxStrays is how many datagrams that answer something else are read past.
	maxStrays = 64
)

// network is the Exchanger of real life: a fresh socket, and so a fresh port, for each query.
type network struct{}

func (network) Exchange(ctx context.Context, query *dns.Msg, server string,
	tcp bool) (*dns.Msg, error) {
	protocol := "udp"
	if tcp {
		protocol = "tcp"
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, protocol, server)
	if err != nil {
		return nil, err
	}
	defer conn.Close() // nothing is lost with it
	// AfterFunc fires at the deadline as well as at a cancellation.
	stop := context.AfterFunc(ctx, func() {
		conn.SetDeadline(time.Unix(1, 0)) //nolint:errcheck // a closed socket needs none
	})
	defer stop()
	stream := &dns.Conn{Conn: conn, UDPSize: 4096}
	if err := stream.WriteMsg(query); err != nil {
		return nil, err
	}
	var broken *net.OpError // the socket's error, rather than a datagram's
	for range maxStrays {
		msg, err := stream.ReadMsg()
		switch {
		case err == nil && answers(msg, query):
			return msg, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case tcp && err == nil:
			return nil, errors.New("an answer to another question")
		case err != nil && (tcp || errors.As(err, &broken)):
			return nil, err
		}
		// By UDP anyone may send anything: what does not answer is passed over.
	}
	return nil, fmt.Errorf("%d datagrams, none of them the answer", maxStrays)
}

// systemServers are the servers that /etc/resolv.conf names; none if it cannot be read.
func systemServers() []string {
	config, err := dns.ClientConfigFromFile("/etc/resolv.conf")
	if err != nil {
		return nil
	}
	var servers []string
	for _, s := range config.Servers {
		servers = append(servers, net.JoinHostPort(s, config.Port))
	}
	return servers
}
