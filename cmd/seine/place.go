package main

import (
	"context"
	"fmt"
	"strings"

	"seine/cmd/internal/node"
	"seine/formats/lsm"
	"seine/formats/schema"
	"seine/formats/settings"
	"seine/formats/weburl"
	"seine/reducer/task"
)

// looking is a crawl opened to look at: its newest snapshot.
type looking struct {
	*node.Crawl
	head *lsm.Manifest
	done func()
}

func (a *app) look(ctx context.Context) (*looking, error) {
	c, done, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	head, err := c.Snapshot(ctx, a.snapshot)
	if err != nil {
		done()
		return nil, err
	}
	return &looking{c, head, done}, nil
}

// normalURL reads a URL as the crawl keys it.
func normalURL(raw string) (weburl.Normal, error) {
	u, err := weburl.Normalize(raw, weburl.Options{})
	if err != nil {
		return u, usagef("%q: %w; write a URL such as %s", weburl.Redact(raw), err, suggestion(raw))
	}
	return u, nil
}

// keyOf is a URL's key in urls.
func (l *looking) keyOf(u weburl.Normal) lsm.Key {
	domain := l.Suffixes.Domain(u.Host)
	return lsm.Key{Partition: weburl.Partition(domain), Domain: domain, Host: u.Host, URL: u.URL}
}

func (l *looking) url(ctx context.Context, u weburl.Normal) (schema.URL, bool, error) {
	return node.LookupOne(ctx, l.Crawl, l.head, lsm.URLs(), l.keyOf(u))
}

// group finds the politeness group that a host belongs to.
func (l *looking) group(ctx context.Context, domain, host string, byHost bool) (schema.Domain, bool, error) {
	key := lsm.Key{Partition: weburl.Partition(domain), Domain: domain}
	if byHost {
		key.Host = host
	}
	return node.LookupOne(ctx, l.Crawl, l.head, lsm.Domains(), key)
}

func (l *looking) host(ctx context.Context, domain, host string) (schema.Host, bool, error) {
	return node.LookupOne(ctx, l.Crawl, l.head, lsm.Hosts(),
		lsm.Key{Partition: weburl.Partition(domain), Domain: domain, Host: host})
}

func (l *looking) robots(ctx context.Context, u weburl.Normal) (schema.Robots, bool, error) {
	domain := l.Suffixes.Domain(u.Host)
	return node.LookupOne(ctx, l.Crawl, l.head, lsm.RobotsTable(),
		lsm.Key{Partition: weburl.Partition(domain), Domain: domain, URL: u.Scheme + "://" + u.Authority})
}

// fetches are the newest exchanges for a URL, newest first, at most n; kind ""
// takes all kinds.
func (l *looking) fetches(ctx context.Context, u weburl.Normal, kind string, n int) (rows []schema.Fetch,
	err error) {
	key := l.keyOf(u)
	err = node.Find(ctx, l.Crawl, l.head, schema.Fetches, node.OfRow,
		node.Place{Domain: key.Domain, Host: key.Host, URL: key.URL}, func(row *schema.Fetch) (bool, error) {
			if kind == "" || row.Kind == kind {
				rows = append(rows, task.Own(*row))
			}
			return len(rows) < n, nil
		})
	return rows, err
}

// pages are the stored versions of a URL, newest first, until more says no.
func (l *looking) pages(ctx context.Context, u weburl.Normal, more func(*schema.Page) bool) error {
	key := l.keyOf(u)
	return node.Find(ctx, l.Crawl, l.head, schema.Pages, node.OfRow,
		node.Place{Domain: key.Domain, Host: key.Host, URL: key.URL}, func(row *schema.Page) (bool, error) {
			return more(row), nil
		})
}

// hostName reads a host as a person writes it: a name, or a URL of it.
func hostName(arg string) (string, error) {
	if !strings.Contains(arg, "://") {
		arg = "http://" + arg + "/"
	}
	u, err := weburl.Normalize(arg, weburl.Options{})
	if err != nil {
		return "", usagef("%q is no host: %w; write a name such as www.example.org", weburl.Redact(arg), err)
	}
	return u.Host, nil
}

func (l *looking) unknown(what string) error {
	return absentf("%s is not known in snapshot %d of %s; `seine explain URL` says what would become of it",
		what, l.head.N, l.Store.URL)
}

func fetchLine(f schema.Fetch) string {
	line := fmt.Sprintf("round %d  %s", f.Round, f.Reason)
	if f.HTTPStatus != 0 {
		line += fmt.Sprintf("  HTTP %d", f.HTTPStatus)
	}
	if f.Change != "" {
		line += "  " + f.Change
	}
	if f.Bytes > 0 {
		line += fmt.Sprintf("  %d bytes in %d ms", f.Bytes, f.Duration)
	}
	for _, extra := range []string{f.RedirectTo, f.Rule, f.Detail} {
		if extra != "" {
			line += "  " + oneLine(extra)
		}
	}
	return line
}

// newest reads the newest settings, filled.
func (l *looking) newest(ctx context.Context) (settings.Settings, error) {
	version, err := l.NewestSettings(ctx)
	if err != nil {
		return settings.Settings{}, err
	}
	return l.Settings(ctx, version)
}
