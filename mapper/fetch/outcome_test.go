package fetch

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"seine/formats/schema"
	"seine/formats/warc"
)

func exampleOutcome() *outcome {
	src := schema.Link{SrcDomain: "a.test", SrcHost: "www.a.test", SrcURL: "http://www.a.test/"}
	first, second := src, src
	first.DstURL, first.Kind, first.Verdict, first.Round = "http://b.test/", "a", "accepted", 3
	second.Href, second.Kind, second.Verdict, second.Anchor = "mailto:x", "a", "scheme", "naïve \x00"
	return &outcome{
		Fetch: schema.Fetch{URL: "http://www.a.test/", Kind: kindPage, Final: true, Reason: schema.OK,
			StartedAt: 12},
		Page: &schema.Page{URL: "http://www.a.test/", Text: "text", URLID: [16]byte{1, 2},
			Headers: map[string]string{"a": "b"}},
		Robots: &schema.Robots{Authority: "http://www.a.test", Sitemaps: []string{"x"}},
		Source: source{Depth: 2, Priority: 0.25, Seed: "s", First: true},
		Web: &exchange{Date: time.UnixMilli(5).UTC(), IP: "127.0.0.1", Digest: "sha1:X",
			Revisit: &warc.Original{URI: "u"}, request: []byte("GET"), header: []byte("HTTP"),
			body: []byte("\x00\xff")},
		text:  "text",
		links: []link{{Link: first, suspicion: 0.5, depth: 3}, {Link: second, depth: -1}},
	}
}

var outcomeCmp = cmp.Options{cmp.AllowUnexported(outcome{}, exchange{}, link{}),
	cmpopts.EquateEmpty(), cmpopts.EquateApprox(0, 1e-5)}

func TestOutcomesRoundTrip(t *testing.T) {
	for name, o := range map[string]*outcome{"whole": exampleOutcome(),
		"a refusal": {Fetch: schema.Fetch{URL: "http://a.test/", Reason: schema.RobotsDenied}}} {
		t.Run(name, func(t *testing.T) {
			parts, err := o.encode()
			if err != nil {
				t.Fatal(err)
			}
			got, err := decodeOutcome(bytes.Join(parts, nil))
			if err != nil {
				t.Fatal(err)
			}
			if o.Page != nil {
				o.Page.Text = o.text
			}
			if diff := cmp.Diff(o, got, outcomeCmp); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzDecodeOutcome: damaged records are errors, and what decodes, encodes and
// decodes to the same.
func FuzzDecodeOutcome(f *testing.F) {
	parts, err := exampleOutcome().encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(bytes.Join(parts, nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := decodeOutcome(b)
		if err != nil {
			return
		}
		parts, err := o.encode()
		if err != nil {
			return // times that JSON cannot write
		}
		again, err := decodeOutcome(bytes.Join(parts, nil))
		if err != nil {
			t.Fatal(err)
		}
		if len(again.links) != len(o.links) || again.Fetch != o.Fetch {
			t.Error("decoding is not stable")
		}
	})
}

// TestHostOf: the host that is cut out of a normal form is the one it was made of.
func TestHostOf(t *testing.T) {
	for _, raw := range []string{"http://a.test", "https://www.a.test:8443/x?u=http://b.test:1/",
		"http://[2001:db8::1]/", "http://[2001:db8::1]:81/]:7", "http://127.0.0.1:8080/a:b@c",
		"http://a.test./x"} {
		t.Run(raw, func(t *testing.T) {
			u, err := normal(raw)
			if err != nil {
				t.Fatal(err)
			}
			if got := hostOf(u.URL); got != u.Host {
				t.Errorf("the host of %s is %s, not %s", u.URL, u.Host, got)
			}
		})
	}
}
