package fetch

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"seine/formats/settings"
	"seine/formats/sheet"
	"seine/formats/weburl"
	"seine/mapper/http1"
)

// pace is what a version of the settings says of delays.
type pace struct {
	delay  time.Duration
	sheets *sheet.Table
}

// readSheets reads the sheets that settings name.
func (e Env) readSheets(ctx context.Context, s settings.Settings) (*sheet.Table, error) {
	switch {
	case s.Sheets == "":
		return nil, nil
	case e.Sheets == nil:
		return nil, errors.New("this worker cannot read sheets")
	}
	return e.Sheets(ctx, s)
}

// delay is what the settings and sheets that held since the task began ask for
// between two requests to a group: the longest.
func (f *fetcher) delay(group string) (d time.Duration) {
	for _, p := range f.handles.Load().paces {
		v := p.sheets.Group(group)
		d = max(d, v.Pace(p.delay))
	}
	return d
}

// heeded is what of a Crawl-delay is heeded towards a group.
func (f *fetcher) heeded(group string, crawlDelay time.Duration) time.Duration {
	v := f.sheets.Group(group)
	return v.Heeded(crawlDelay)
}

// token is by what the robots.txt of a group names us.
func (f *fetcher) token(group string) string {
	v := f.sheets.Group(group)
	return v.Named(f.set.Agent)
}

// dress gives a request what the sheets of its URL say: who asks, with which fields,
// and, for a page, up to which size.
func (f *fetcher) dress(req *http1.Request, u weburl.Normal, kind string) {
	v := f.sheets.For(u)
	if v.Empty() {
		return
	}
	if v.Has(sheet.Agent) {
		req.Agent = agent(f.env.Software, v.Agent, f.set.Contact)
	}
	if v.Has(sheet.MaxBody) && kind == kindPage {
		req.MaxBody = v.MaxBody
	}
	if len(v.Headers) > 0 { // the caller's are shared: they are not appended to
		req.Header = append(req.Header[:len(req.Header):len(req.Header)], v.Headers...)
	}
}

// follows says whether links are followed that are found at a URL.
func (f *fetcher) follows(u weburl.Normal) bool {
	v := f.sheets.For(u)
	return !v.Has(sheet.Follow) || v.Follow
}

// types are the MIME types that are stored of what sheets are for.
func (f *fetcher) types(v *sheet.Values) []string {
	if v.Has(sheet.Types) {
		return v.Types
	}
	return f.set.Types
}

// embeds says whether what pages are built of is followed.
func (f *fetcher) embeds(v *sheet.Values) bool {
	if v.Has(sheet.Embeds) {
		return v.Embeds
	}
	return f.set.Embeds
}

// agent is the User-Agent: honest, with the contact. It begins with the token that
// robots.txt is read by: the software's own product, or another one's in its version.
func agent(software, token, contact string) string {
	product, version, _ := strings.Cut(software, "/")
	if token != "" && !strings.EqualFold(token, product) {
		software = token + "/" + cmp.Or(version, "0")
	}
	if contact == "" {
		return software
	}
	return software + " (+" + contact + ")"
}
