package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"seine/cmd/internal/node"
	"seine/coordinator/peer"
	"seine/coordinator/raftnode"
	"seine/coordinator/server"
)

const coordinatorLong = `A coordinator of a crawl. Three or five of them form a group, which works as long as
more than half of it does; one alone is a group as well.

An empty data folder begins in one of three ways; afterwards the same command goes
on with what is in the folder:
  --bootstrap LIST   the first members of a new group, the same list on each of them
  --join URL         a group that runs takes this node in
  --recover          nothing is left of the group but the store, or less than half of
                     it: this node alone begins a new group, which takes the crawl
                     over where the store says that it stood. Sealed work is kept,
                     nothing is granted for a minute, and what is left of the old
                     group ends by itself. Then others --join.

Elsewhere than on loopback the API needs --tls-cert, --tls-key and --tokens-file (or
--client-ca), and the group --peer-ca, --peer-cert and --peer-key, unless --insecure
says that the network itself is safe. The tokens file has lines of "ROLE TOKEN", the
role being read, submit or worker.

Certificates, keys, authorities and tokens are exchanged without a restart: the files
are read again when they have changed. One that cannot be used (half written, gone,
without a token) leaves in force what it held before, and the log says so.`

const coordinatorExample = `  seined coordinator --id n1 --data /var/lib/seine --store s3://bucket/crawl \
    --listen 10.0.0.1:7700 --raft 10.0.0.1:7701 \
    --bootstrap n1=10.0.0.1:7701,n2=10.0.0.2:7701,n3=10.0.0.3:7701 \
    --tls-cert n1.pem --tls-key n1-key.pem --tokens-file tokens \
    --peer-ca ca.pem --peer-cert n1.pem --peer-key n1-key.pem`

// coordinatorFlags are the command line of a coordinator.
type coordinatorFlags struct {
	id, data, store                   string
	listen, advertiseAPI              string
	raft, advertise                   string
	bootstrap, join                   string
	recover, insecure                 bool
	tlsCert, tlsKey, clientCA, tokens string
	peerCA, peerCert, peerKey         string
	joining                           node.Dialling
}

func newCoordinator(a *app) *cobra.Command {
	var f coordinatorFlags
	c := &cobra.Command{Use: "coordinator", Short: "Run a coordinator", Long: coordinatorLong,
		Example: coordinatorExample, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := a.fromEnvironment(c.Flags()); err != nil {
				return err
			}
			return a.coordinate(c.Context(), f)
		}}
	s := c.Flags()
	s.SortFlags = false
	s.StringVar(&f.id, "id", "", "name of this node, unique in the group and the same at every start")
	s.StringVar(&f.data, "data", "", "`FOLDER` of this node: its log and snapshots")
	s.StringVar(&f.store, "store", "", "the crawl's store: s3://bucket/prefix, or a folder that all share")
	s.StringVar(&f.listen, "listen", "127.0.0.1:7700", "`HOST:PORT` of the API")
	s.StringVar(&f.advertiseAPI, "advertise", "", "`HOST:PORT` by which others reach the API (default: --listen)")
	s.StringVar(&f.raft, "raft", "127.0.0.1:7701", "`HOST:PORT` for the other coordinators")
	s.StringVar(&f.advertise, "advertise-raft", "",
		"`HOST:PORT` by which they reach it (default: as --bootstrap says, else --raft)")
	s.StringVar(&f.bootstrap, "bootstrap", "", "first members of a new group: `ID=HOST:PORT,...` of --raft")
	s.StringVar(&f.join, "join", "", "`URL` of a coordinator of the group to join; several with commas")
	s.BoolVar(&f.recover, "recover", false, "begin a new group from the store alone")
	s.StringVar(&f.tlsCert, "tls-cert", "", "PEM `FILE` of the API's certificate")
	s.StringVar(&f.tlsKey, "tls-key", "", "PEM `FILE` of its key")
	s.StringVar(&f.tokens, "tokens-file", "", "`FILE` of tokens; $SEINE_TOKENS holds the same lines")
	s.StringVar(&f.clientCA, "client-ca", "",
		"PEM `FILE`: client certificates that it signed prove the role that is their organizational unit")
	s.StringVar(&f.peerCA, "peer-ca", "", "PEM `FILE` of the group's own authority")
	s.StringVar(&f.peerCert, "peer-cert", "", "PEM `FILE` of this node's certificate for the group")
	s.StringVar(&f.peerKey, "peer-key", "", "PEM `FILE` of its key")
	addDialling(s, &f.joining, "for --join: ")
	s.BoolVar(&f.insecure, "insecure", false, "no TLS and no tokens, though others may reach the ports")
	return c
}

// check refuses what could not work, and what would be open to strangers.
func (f coordinatorFlags) check() error {
	ways := 0
	for _, said := range []bool{f.bootstrap != "", f.join != "", f.recover} {
		if said {
			ways++
		}
	}
	switch {
	case f.id == "" || f.data == "" || f.store == "":
		return usagef("a coordinator needs --id, --data and --store")
	case ways > 1:
		return usagef("--bootstrap, --join and --recover are three ways to begin: say one")
	case (f.tlsCert == "") != (f.tlsKey == ""):
		return usagef("--tls-cert and --tls-key go together")
	case (f.peerCA == "") != (f.peerCert == "") || (f.peerCA == "") != (f.peerKey == ""):
		return usagef("--peer-ca, --peer-cert and --peer-key go together")
	case f.clientCA != "" && f.tlsCert == "":
		return usagef("--client-ca needs --tls-cert and --tls-key")
	}
	return nil
}

// safe refuses ports that strangers reach. proved says that callers are asked
// who they are.
func (f coordinatorFlags) safe(proved bool) error {
	if f.insecure {
		return nil
	}
	if !node.Loopback(f.listen) && (f.tlsCert == "" || !proved) {
		return usagef("--listen %s can be reached by others: give --tls-cert, --tls-key and --tokens-file "+
			"(or --client-ca), or --insecure if the network itself is safe", f.listen)
	}
	if !node.Loopback(f.raft) && f.peerCA == "" {
		return usagef("--raft %s can be reached by others: give --peer-ca, --peer-cert and --peer-key, or "+
			"--insecure if the network itself is safe", f.raft)
	}
	return nil
}

// members reads --bootstrap.
func (f coordinatorFlags) members() (all []raftnode.Member, own string, err error) {
	if f.bootstrap == "" {
		return nil, "", nil
	}
	for entry := range strings.SplitSeq(f.bootstrap, ",") {
		id, address, ok := strings.Cut(strings.TrimSpace(entry), "=")
		if _, _, err := net.SplitHostPort(address); !ok || id == "" || err != nil {
			return nil, "", usagef("--bootstrap: %q is not ID=HOST:PORT", entry)
		}
		all = append(all, raftnode.Member{ID: id, Address: address})
		if id == f.id {
			own = address
		}
	}
	if own == "" {
		return nil, "", usagef("--bootstrap does not name this node, %s", f.id)
	}
	return all, own, nil
}

func (a *app) coordinate(ctx context.Context, f coordinatorFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	o, err := a.coordinateOptions(f)
	if err != nil {
		return err
	}
	store, err := node.OpenStore(ctx, f.store, !f.recover)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	crawl, err := node.OpenCrawl(ctx, store, !f.recover)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.data, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	o.Listener, err = net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w; --listen names another", f.listen, err)
	}
	reached := f.advertiseAPI
	if reached == "" {
		reached = o.Listener.Addr().String()
	}
	o.Address = "http://" + reached
	if o.Server.TLS != nil {
		o.Address = "https://" + reached
	}
	o.Log.Info("coordinator", "id", f.id, "store", f.store, "api", o.Address)
	return node.Coordinate(ctx, crawl, o)
}

func (a *app) coordinateOptions(f coordinatorFlags) (o node.CoordinateOptions, err error) {
	o = node.CoordinateOptions{ID: f.id, Data: f.data, Raft: f.raft, Advertise: f.advertise,
		Recover: f.recover, Log: slog.New(slog.NewTextHandler(a.err, nil))}
	var own string
	if o.Bootstrap, own, err = f.members(); err != nil {
		return o, err
	}
	if o.Advertise == "" {
		o.Advertise = own
	}
	if o.Server, err = a.serverOptions(f, o.Log); err != nil {
		return o, err
	}
	if err := f.safe(o.Server.Guard != nil); err != nil {
		return o, err
	}
	if f.peerCA != "" {
		if o.Identity, err = peer.LoadIdentity(o.Log, f.peerCA, f.peerCert, f.peerKey); err != nil {
			return o, err
		}
	}
	if f.join != "" {
		f.joining.Token, _ = a.env("SEINE_TOKEN")
		f.joining.Log = o.Log
		o.Join, err = f.joining.Client(f.join)
	}
	return o, err
}

// serverOptions are how the API is served: under TLS, to whom.
func (a *app) serverOptions(f coordinatorFlags, log *slog.Logger) (o server.Options, err error) {
	tokens, said := a.env("SEINE_TOKENS")
	switch {
	case f.tokens != "":
		o.Guard, err = server.TokensFile(log, f.tokens)
	case said || f.clientCA != "":
		o.Guard, err = server.ReadTokens(strings.NewReader(tokens))
	}
	if err != nil || f.tlsCert == "" {
		return o, err
	}
	o.TLS, err = f.serverTLS(log)
	return o, err
}

// serverTLS is the TLS of the API. The files are looked at again for every connection.
func (f coordinatorFlags) serverTLS(log *slog.Logger) (*tls.Config, error) {
	pair, err := peer.ReloadPair(log, f.tlsCert, f.tlsKey)
	if err != nil {
		return nil, err
	}
	callers := func() *x509.CertPool { return nil }
	if f.clientCA != "" {
		authority, err := peer.ReloadAuthority(log, f.clientCA)
		if err != nil {
			return nil, err
		}
		callers = authority.Get
	}
	config := func() *tls.Config {
		c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*pair.Get()},
			NextProtos: []string{"http/1.1"}, ClientCAs: callers()}
		if c.ClientCAs != nil {
			c.ClientAuth = tls.VerifyClientCertIfGiven
		}
		return c
	}
	all := config()
	all.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return config(), nil }
	return all, nil
}
