package crawl

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const list = "com\nco.uk\n*.ck\n!www.ck\n"

func TestRoundTrip(t *testing.T) {
	c := New([]byte(list), 1_700_000_000_000)
	b, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, got); diff != "" {
		t.Errorf("decoded differs (-want +got):\n%s", diff)
	}
	s, err := got.Suffixes()
	if err != nil {
		t.Fatal(err)
	}
	if d := s.Domain("a.b.co.uk"); d != "b.co.uk" {
		t.Errorf("domain by the pinned list = %q", d)
	}
}

func TestDecodeRefuses(t *testing.T) {
	good, err := New([]byte(list), 1).Encode()
	if err != nil {
		t.Fatal(err)
	}
	edit := func(old, new string) string { return strings.Replace(string(good), old, new, 1) }
	tests := []struct {
		name, text, says string
		newer            bool
	}{
		{"no JSON", "PAR1", "damaged", false},
		{"empty object", "{}", "format 0", false},
		{"newer format", edit(`"format": 1`, `"format": 2`), "format 2", true},
		{"newer normaliser", edit(`"normalizer": 1`, `"normalizer": 9`), "rules 9", true},
		{"older normaliser", edit(`"normalizer": 1`, `"normalizer": 0`), "made it", false},
		{"another list", edit("co.uk", "co.us"), "suffix list", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Decode([]byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("error %v, want one that says %q", err, tt.says)
			}
			if errors.Is(err, ErrNewer) != tt.newer {
				t.Errorf("is ErrNewer: %v", !tt.newer)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	good, err := New([]byte(list), 1).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"format":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Decode(b)
		if err != nil {
			return
		}
		again, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Decode(again); err != nil || got != c {
			t.Fatalf("decode of encode: %v, %v; want %v", got, err, c)
		}
	})
}
