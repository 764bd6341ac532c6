package node

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"seine/formats/layout"
	"seine/formats/scope"
	"seine/formats/settings"
	"seine/jobs"
	"seine/mapper/fetch"
	"seine/mapper/http1"
	"seine/mapper/polite"
	"seine/mapper/resolve"
)

// reach is how the fetch tasks of one worker reach the web: they share a
// resolver, the limits of an address and the places for exchanges, for as long
// as the settings that these are made of stay the same from round to round.
type reach struct {
	crawl       *Crawl
	connections int // 0: by the settings
	web         Web
	base        fetch.Env

	mu     sync.Mutex
	made   settings.Settings // what shared was made of
	shared fetch.Env
}

func newReach(c *Crawl, scratch string, web Web, l Limits) *reach {
	env := c.Env(scratch)
	r := &reach{crawl: c, connections: l.Connections, web: web}
	r.base = fetch.Env{Store: c.Store, Open: c.Store.Open, Scratch: scratch, Codec: c.Codec,
		Staging: env.Staging, Snapshot: env.Snapshot, Settings: c.Settings, Sheets: env.Sheets,
		Suffixes: c.Suffixes, Dial: web.Dial, TLS: web.TLS,
		Software: Software, Sealing: make(chan struct{}, 1), Bandwidth: &polite.Bandwidth{}}
	r.base.Scope = func(ctx context.Context, spec jobs.Spec) (*scope.Scope, error) {
		base, err := env.Snapshot(ctx, spec.Base)
		if err != nil {
			return nil, err
		}
		set, err := c.Settings(ctx, spec.Settings)
		if err != nil {
			return nil, err
		}
		return env.Scope(ctx, base, set, layout.All, 0)
	}
	if l.Memory == 0 {
		l.Memory = DefaultMemory
	}
	r.base.SealBytes = l.Memory / 8 // building a chunk takes twice its bytes
	if c.Store.Root != "" {         // small chunks cost a directory nothing, and save work at a kill
		r.base.SealBytes, r.base.SealEvery = 64<<20, 5*time.Second
	}
	return r
}

// dialerOf is how connections leave by the settings.
func dialerOf(set settings.Settings) (http1.Dialer, error) {
	sources, err := set.Sources()
	if err != nil {
		return nil, err
	}
	proxy, err := set.ProxyAddress()
	if err != nil {
		return nil, err
	}
	dial, err := http1.Way{Sources: sources, Proxy: proxy}.Dialer()
	if err != nil {
		return nil, fmt.Errorf("settings %d: %w; give a worker one of them, or `seine settings set "+
			"source_addresses=...`", set.Version, err)
	}
	return dial, nil
}

// env is the world of a task of a round with these settings.
func (r *reach) env(ctx context.Context, version uint64) (fetch.Env, error) {
	set, err := r.crawl.Settings(ctx, version)
	if err != nil {
		return fetch.Env{}, err
	}
	r.base.Bandwidth.SetRates(set.Bandwidth, set.DomainBandwidth) // a newer version may change them
	of := settings.Settings{DNS: set.DNS, AllowNetwork: set.AllowNetwork, Connections: set.Connections,
		SourceAddrs: set.SourceAddrs, Proxy: set.Proxy,
		AddressConnections: set.AddressConnections, AddressRate: set.AddressRate}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shared.Resolver != nil && reflect.DeepEqual(of, r.made) {
		return r.shared, nil
	}
	env := r.base
	env.Addresses = polite.NewAddresses(set.AddressConnections, int(set.AddressRate))
	if env.Dial == nil {
		if env.Dial, err = dialerOf(set); err != nil {
			return env, err
		}
	}
	places := r.connections
	if places <= 0 {
		places = set.Connections
	}
	env.Exchanges = make(chan struct{}, places)
	if env.Resolver = r.web.Resolver; env.Resolver == nil {
		networks, err := set.Networks()
		if err != nil {
			return env, err
		}
		env.Resolver, err = resolve.New(resolve.Settings{Servers: set.DNS, AllowNetworks: networks})
		if err != nil {
			return env, err
		}
	}
	r.made, r.shared = of, env
	return env, nil
}
