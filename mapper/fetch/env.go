package fetch

import (
	"context"
	"crypto/tls"
	"net/netip"
	"time"

	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/rowfile"
	"seine/formats/scope"
	"seine/formats/settings"
	"seine/formats/sheet"
	"seine/formats/weburl"
	"seine/jobs"
	"seine/mapper/http1"
	"seine/mapper/polite"
	"seine/mapper/resolve"
)

// Resolver finds addresses; *resolve.Resolver is one.
type Resolver interface {
	Lookup(ctx context.Context, host string) (resolve.Answer, error)
	Prefetch(ctx context.Context, hosts []string)
}

// Env is the world of the fetch tasks on one worker.
type Env struct {
	Store objstore.Store
	Open  lsm.Opener
	// Scratch is a directory that outlives the process: spools lie there.
	Scratch string
	// Staging is how objects are read that are gone through from end to end.
	Staging objstore.Staging
	// Codec is that of the chunks, which reduce writes again: 0 is ZstdFast.
	Codec rowfile.Codec
	// Snapshot reads the manifest of a commit, Settings a version of the
	// settings with defaults filled in, Scope what a job may crawl.
	Snapshot func(ctx context.Context, n uint64) (*lsm.Manifest, error)
	Settings func(ctx context.Context, version uint64) (settings.Settings, error)
	Scope    func(ctx context.Context, spec jobs.Spec) (*scope.Scope, error)
	// Sheets reads the sheets that settings name; nil: none are used.
	Sheets   func(ctx context.Context, s settings.Settings) (*sheet.Table, error)
	Suffixes *weburl.Suffixes

	Resolver Resolver
	Dial     http1.Dialer // nil: the network
	TLS      *tls.Config  // base of every connection's; nil: the system's roots
	// Addresses bounds what this worker does to one address, over its tasks.
	Addresses *polite.Addresses
	// Bandwidth bounds what this worker takes in, over its tasks; nil: nothing does.
	Bandwidth *polite.Bandwidth
	// Exchanges bounds the exchanges under way on this worker, over its tasks, by
	// its capacity; nil: 256 in each task.
	Exchanges chan struct{}
	// Sealing bounds the chunks that are built at once on this worker, over its tasks, by its
	// capacity: each takes about twice its bytes of memory while it is. nil: one in each task.
	Sealing chan struct{}
	// Parsers bounds the bodies in memory at once; 0: 4.
	Parsers int
	// Software is the product and version in the user agent: "seine/1.0".
	Software string
	// SealBytes and SealEvery replace the settings' where they are smaller: a
	// directory store takes small chunks cheaply.
	SealBytes int64
	SealEvery time.Duration
	// Grace is how long requests in flight may go on after a stop; 0: 10 s.
	Grace time.Duration
}

func (e Env) filled() Env {
	if e.Codec == rowfile.Zstd {
		e.Codec = rowfile.ZstdFast
	}
	if e.Sealing == nil {
		e.Sealing = make(chan struct{}, 1)
	}
	if e.Exchanges == nil {
		e.Exchanges = make(chan struct{}, 256)
	}
	if e.Parsers <= 0 {
		e.Parsers = 4
	}
	if e.Software == "" {
		e.Software = "seine/0"
	}
	if e.Grace <= 0 {
		e.Grace = 10 * time.Second
	}
	if e.Addresses == nil {
		e.Addresses = polite.NewAddresses(0, 0)
	}
	return e
}

// publicFloor is the least delay towards public addresses, whatever the
// settings say: five requests a second are more than a stranger's server owes.
const publicFloor = 200 * time.Millisecond

// client makes the HTTP client of a task.
func (e Env) client(s settings.Settings) *http1.Client {
	return http1.New(http1.Settings{
		Agent:            agent(e.Software, s.Agent, s.Contact),
		MaxHeader:        int(s.MaxHeader),
		MaxBody:          s.MaxBody,
		MinRate:          s.MinRate,
		ConnectTimeout:   s.ConnectTimeout.D(),
		FirstByteTimeout: s.FirstByteTimeout.D(),
		ExchangeTimeout:  s.ExchangeTimeout.D(),
		TLS:              e.TLS,
		SpillDir:         e.Scratch,
	}, e.Dial)
}

// maxDials bounds the addresses of a host that are tried for one request.
const maxDials = 3

// endpoint is an address that may be dialled.
type endpoint struct {
	addr   netip.Addr
	public bool
}

// endpoints are the addresses that may be dialled, in the order of the answer.
func endpoints(addrs []netip.Addr, allow []netip.Prefix) []endpoint {
	var usable []endpoint
	for _, a := range addrs {
		public := resolve.Public(a, nil)
		if len(usable) < maxDials && (public || resolve.Public(a, allow)) {
			usable = append(usable, endpoint{a, public})
		}
	}
	return usable
}
