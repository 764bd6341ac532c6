package fetch

import (
	"errors"
	"slices"
	"strings"

	"seine/formats/schema"
	"seine/formats/scope"
	"seine/formats/sheet"
	"seine/formats/weburl"
	"seine/mapper/extract"
)

// linksOf gives each link of a page its verdict, behind those that the outcome has.
// A sheet that forbids to follow is as good as the page's own word.
func (f *fetcher) linksOf(o *outcome, p *extract.Page, v *sheet.Values) []link {
	embeds, kept := f.embeds(v), v.Has(sheet.Follow) && !v.Follow
	links := slices.Grow(o.links, len(p.Links))
	for _, found := range p.Links {
		noFollow := kept || p.NoFollow || found.HasRel("nofollow")
		if found.Kind == extract.KindCanonical {
			noFollow = false // it says what the page itself is
		}
		var l link
		switch {
		case found.Refused != "":
			l = f.bare(o, found.Kind)
			l.Verdict = refusal(found.Refused)
		case !extract.Followed(found.Kind, embeds):
			l = f.bare(o, found.Kind)
			l.Verdict, l.DstURL = schema.LinkEmbed, bounded(found.URL, f.set.MaxURLLength)
		default:
			l = f.link(o, found.URL, found.Kind, o.Source.Depth+1, noFollow)
			if kept && l.Verdict == schema.LinkNoFollow {
				l.Rule = "sheet " + sheet.Follow.String() + "=false"
			}
		}
		l.Anchor, l.Rel = found.Anchor, bounded(found.Rel, 256)
		if found.Href != l.DstURL {
			l.Href = bounded(found.Href, f.set.MaxURLLength)
		}
		links = append(links, l)
	}
	return links
}

// refusal is the verdict of a reference that does not resolve.
func refusal(why string) string {
	switch why {
	case extract.RefusedScheme:
		return schema.LinkScheme
	case extract.RefusedTooLong:
		return schema.LinkTooLong
	}
	return schema.LinkInvalid
}

func (f *fetcher) bare(o *outcome, kind string) link {
	return link{Link: schema.Link{SrcDomain: o.Fetch.Domain, SrcHost: o.Fetch.Host,
		SrcURL: o.Fetch.URL, Kind: kind, Round: int64(f.task.Spec.Job)}}
}

// link decides on one target.
func (f *fetcher) link(o *outcome, target, kind string, depth int32, noFollow bool) link {
	l := f.bare(o, kind)
	l.depth = depth
	u, err := weburl.Normalize(target, weburl.Options{MaxLength: f.set.MaxURLLength})
	if err != nil {
		l.Verdict = schema.LinkInvalid
		switch {
		case errors.Is(err, weburl.ErrScheme):
			l.Verdict = schema.LinkScheme
		case errors.Is(err, weburl.ErrTooLong):
			l.Verdict = schema.LinkTooLong
		}
		return l
	}
	l.DstURL, l.DstDomain = u.URL, f.env.Suffixes.Domain(u.Host)
	if b := f.handles.Load().blocks.Find(u); b != nil {
		l.Verdict, l.Rule = schema.LinkBlocked, b.What
		return l
	}
	v := f.scope.Of(o.Source.Seed).Decide(u, l.DstDomain, int(depth))
	l.Verdict, l.Rule, l.suspicion = v.Code, v.Rule, float32(v.Suspicion)
	if v.Accepted {
		l.Verdict, l.Rule = schema.Accepted, ""
		if noFollow {
			l.Verdict = schema.LinkNoFollow
		}
		if r := f.task.Spec.Round; r != nil && r.MaxDepth > 0 && int(depth) > r.MaxDepth {
			l.Verdict, l.Rule = scope.TrapDepth, "the round's depth"
		}
	}
	return l
}

// discoveries are what the accepted links of an outcome say to reduce; their
// partition is left to merge.
func (f *fetcher) discoveries(o *outcome, emit func(schema.Discovery)) {
	for i := range o.links {
		l := &o.links[i]
		if l.Verdict != schema.Accepted || l.DstURL == l.SrcURL {
			continue
		}
		emit(schema.Discovery{Domain: l.DstDomain, Host: hostOf(l.DstURL), URL: l.DstURL,
			SrcDomain: l.SrcDomain, Kind: l.Kind, Depth: l.depth, Priority: o.Source.Priority,
			Suspicion: l.suspicion, Seed: o.Source.Seed, First: o.Source.First})
	}
}

// hostOf is the host of a URL in normal form, as weburl.Normal has it.
func hostOf(url string) string {
	name, _ := weburl.CutAuthority(url)
	name = name[strings.Index(name, "://")+len("://"):]
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, ']') {
		name = name[:colon]
	}
	return name
}
