// Command testweb serves the synthetic web of mapper/webtest on loopback, for
// crawls in other processes: each host on an address of its own below 127/8,
// over TCP, with --tls every second domain over TLS under a certificate
// authority made at the start, and with a name server on UDP that answers for
// the hosts. What it saw is written as an access log in the form that
// politeness.awk reads. Hosts that refuse have no listener, so they refuse as
// real ones do.
//
// URLs have no port, so it needs the right to listen on ports 80 and 443.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"seine/mapper/webtest"
)

// options are the command line.
type options struct {
	web            webtest.Spec
	dns            string
	log, ca, seeds string
	count          int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testweb:", err)
		os.Exit(1)
	}
}

func parse(args []string, errs io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("testweb", flag.ContinueOnError)
	f.SetOutput(errs)
	f.Uint64Var(&o.web.Seed, "seed", 1, "the web grows from it")
	f.IntVar(&o.web.Domains, "domains", 30, "registered domains")
	f.Float64Var(&o.web.Pages, "pages", 20, "median pages a host")
	f.IntVar(&o.web.MaxHost, "max-host", 2000, "pages of the largest host")
	f.IntVar(&o.web.Huge, "huge", 0, "domains of 500 hosts each")
	f.IntVar(&o.web.PageBytes, "page-bytes", 2000, "size of an HTML page, about")
	f.BoolVar(&o.web.Plain, "plain", false, "only healthy hosts and plain pages")
	f.BoolVar(&o.web.TLS, "tls", false, "every second domain over https")
	f.IntVar(&o.web.Net, "net", 0, "hosts have the addresses 127.(1+`N`).0.0 and on")
	f.DurationVar(&o.web.Latency, "latency", 0, "before each answer")
	f.StringVar(&o.dns, "dns", "127.0.0.1:5300", "address of the name server")
	f.StringVar(&o.log, "log", "", "access log, appended to (default: none)")
	f.StringVar(&o.ca, "ca", "testweb-ca.pem", "where --tls writes the authority's certificate")
	f.StringVar(&o.seeds, "seeds", "", "file that the seeds are written to (default: printed)")
	f.IntVar(&o.count, "count", 8, "how many seeds")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q; testweb -help lists the flags", f.Arg(0))
	}
	return o, nil
}

// run serves until ctx ends.
func run(ctx context.Context, args []string, out, errs io.Writer) error {
	o, err := parse(args, errs)
	if err != nil {
		return err
	}
	web := webtest.New(o.web)
	listeners, err := listen(web)
	if err != nil {
		return err
	}
	if o.web.TLS {
		authority, err := newAuthority()
		if err == nil {
			err = os.WriteFile(o.ca, authority.pem, 0o644)
		}
		if err != nil {
			return errors.Join(err, closeAll(listeners))
		}
		authority.wrap(listeners)
	}
	names, err := net.ListenPacket("udp", o.dns)
	if err != nil {
		return errors.Join(fmt.Errorf("name server: %w; --dns names another address", err), closeAll(listeners))
	}
	journal, err := openJournal(o.log, web.Log)
	if err != nil {
		return errors.Join(err, names.Close(), closeAll(listeners))
	}
	if err := o.announce(out, web); err != nil {
		return errors.Join(err, journal.close(), names.Close(), closeAll(listeners))
	}
	return serve(ctx, web, listeners, names, journal)
}

// listen opens a listener for each host that does not refuse.
func listen(web *webtest.Web) ([]net.Listener, error) {
	var all []net.Listener
	for _, h := range web.Hosts() {
		if h.Health == webtest.Refused || h.Health == webtest.NoName {
			continue
		}
		port := uint16(80)
		if h.Scheme == "https" {
			port = 443
		}
		l, err := net.Listen("tcp", netip.AddrPortFrom(h.Addr, port).String())
		if err != nil {
			return nil, errors.Join(fmt.Errorf("serve %s: %w; it needs the right to ports 80 and 443, and "+
				"nobody else on them", h.Name, err), closeAll(all))
		}
		all = append(all, l)
	}
	return all, nil
}

func closeAll(all []net.Listener) error {
	var errs []error
	for _, l := range all {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// announce prints what a crawl needs to know.
func (o options) announce(out io.Writer, web *webtest.Web) error {
	seeds := strings.Join(web.Seeds(o.count), "\n") + "\n"
	if o.seeds != "" {
		if err := os.WriteFile(o.seeds, []byte(seeds), 0o644); err != nil {
			return fmt.Errorf("write the seeds: %w", err)
		}
		seeds = "seeds " + o.seeds + "\n"
	}
	ca := ""
	if o.web.TLS {
		ca = "ca " + o.ca + " (SSL_CERT_FILE names it to seine)\n"
	}
	_, err := fmt.Fprintf(out, "%d hosts\ndns %s\n%s%sready\n", len(web.Hosts()), o.dns, ca, seeds)
	return err
}

func serve(ctx context.Context, web *webtest.Web, listeners []net.Listener, names net.PacketConn,
	journal *journal) error {
	var all sync.WaitGroup
	failed := make(chan error, len(listeners)+1)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for _, l := range listeners {
		all.Go(func() { failed <- web.Serve(ctx, l) })
	}
	all.Go(func() { failed <- answer(ctx, names, web.Lookup) })
	tick := time.NewTicker(journalEvery)
	defer tick.Stop()
	var err error
	for err == nil && ctx.Err() == nil {
		select {
		case err = <-failed:
		case <-tick.C:
			err = journal.write()
		case <-ctx.Done():
		}
	}
	stop()
	all.Wait()
	return errors.Join(err, journal.close())
}
