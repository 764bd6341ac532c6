package settings

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDefaultsAreValid(t *testing.T) {
	filled := Settings{}.Fill()
	if err := filled.Validate(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(filled, filled.Fill()); diff != "" {
		t.Errorf("filling twice changes: %s", diff)
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", ""},
		{"comment only", "# nothing\n", ""},
		{"unknown key names its line", "delay: 2s\ndeley: 3s\n", "line 2: field deley is no setting"},
		{"wrong kind names its line", "top_n: many\n", "line 1"},
		{"no duration", "delay: soon\n", `"soon" is no duration`},
		{"not YAML", "a: [", "line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse([]byte(c.text), Settings{})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	base := Settings{Rules: []string{"+domain:a.test"}, Contact: "https://me.test"}
	got, err := Parse([]byte("delay: 1m30s\ninterval_max: 60d\nrules: ['-host:b.test']\n"), base)
	want := Settings{Rules: []string{"-host:b.test"}, Contact: "https://me.test",
		Delay: Duration(90 * time.Second), IntervalMax: Duration(60 * day)}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if base.Rules[0] != "+domain:a.test" {
		t.Error("parsing changed its base")
	}
}

func TestStoredVersionsRoundTrip(t *testing.T) {
	s := Settings{Version: 7, Contact: "c", Delay: Duration(time.Second)}.Fill()
	b, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(b)
	if diff := cmp.Diff(s, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if _, err := Decode([]byte(`{"version":1,"politeness_v9":true}`)); err == nil {
		t.Error("a setting of a newer build was ignored")
	}
}

func TestValidateReportsEveryFault(t *testing.T) {
	s := Settings{Scope: "world", Retries: 9, IntervalMin: Duration(90 * day), Agent: "se ine",
		Contact: "a\r\nb", AllowNetwork: []string{"lo"}, DNS: []string{"dns.test"}}.Fill()
	err := s.Validate()
	if err == nil {
		t.Fatal("no fault found")
	}
	for _, want := range []string{"scope", "retries", "interval_min", "agent", "contact",
		"allow_network", "dns"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not reported: %v", want, err)
		}
	}
}

func TestSet(t *testing.T) {
	var s Settings
	for name, value := range map[string]string{"max-body": "5MiB", "delay": "2s", "embeds": "true",
		"dns": "127.0.0.1:53, ::1", "weight_signal": "0.25", "contact": "me"} {
		if err := s.Set(name, value); err != nil {
			t.Error(err)
		}
	}
	want := Settings{MaxBody: 5 << 20, Delay: Duration(2 * time.Second), Embeds: true,
		DNS: []string{"127.0.0.1:53", "::1"}, WeightSignal: 0.25, Contact: "me"}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
	for _, bad := range [][2]string{{"nosuch", "1"}, {"top_n", "x"}, {"top_n", "99999999999GiB"},
		{"embeds", "perhaps"}, {"delay", "-"}, {"version", "3"}} {
		if err := s.Set(bad[0], bad[1]); err == nil {
			t.Errorf("Set(%q, %q) has no error", bad[0], bad[1])
		}
	}
	if err := s.FromEnviron([]string{"SEINE_STORE=/x", "HOME=/", "SEINE_TOP_N=12"}); err != nil ||
		s.TopN != 12 {
		t.Errorf("top_n = %d, %v", s.TopN, err)
	}
	if err := s.FromEnviron([]string{"SEINE_TOP_N=12x"}); err == nil {
		t.Error("a wrong value in the environment has no error")
	}
}

// TestZero: what was given 0 and would have its default is an error that says so; 0 as
// a value, and a default that was given back, are none.
func TestZero(t *testing.T) {
	for _, c := range []struct{ yaml, set, unset, says string }{
		{yaml: "retries: 0", says: "retries: 0 stands for the default, 3"},
		{set: "retention", says: "retention: 0 stands for the default, 720h0m0s"},
		{set: "keep_snapshots", says: "keep_snapshots: 0 stands for"},
		{yaml: "weight_freshness: 0", says: "weight_freshness: 0 stands for the default, 0.3"},
		{yaml: "weight_freshness: 0\nweight_signal: 1"},
		{yaml: "keep_links: 0\nembeds: false\nrules: []"},
		{set: "pages_day"},
		{set: "retries", unset: "retries"},
		{yaml: "delay: 0s", unset: "delay"},
	} {
		s, err := Parse([]byte(c.yaml), Settings{})
		if err != nil {
			t.Fatal(err)
		}
		if c.set != "" {
			err = s.Set(c.set, "0")
		}
		if c.unset != "" {
			err = errors.Join(err, s.Unset(c.unset))
		}
		if err != nil {
			t.Fatal(err)
		}
		err = s.Fill().Validate()
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestEverySettingCanBeSet(t *testing.T) {
	examples := map[string]string{"text": "x", "list": "a,b", "yes/no": "true", "duration": "1s",
		"integer": "1", "number": "0.5"}
	for _, k := range Keys() {
		var s Settings
		if err := s.Set(k.Name, examples[k.Kind]); err != nil {
			t.Errorf("%s (%s): %v", k.Name, k.Kind, err)
		}
	}
}

// TestValidateAfter: what was wrong before is not the fault of a change, all else is.
func TestValidateAfter(t *testing.T) {
	old := Settings{Retention: Duration(time.Hour)}.Fill()
	blocked := old
	blocked.Blocks = []Block{{What: "domain:a.test", By: "me", At: 1}}
	if err := blocked.ValidateAfter(old); err != nil {
		t.Errorf("a block: %v", err)
	}
	blocked.Blocks[0].What = "site:a.test"
	if err := blocked.ValidateAfter(old); err == nil || strings.Contains(err.Error(), "retention") {
		t.Errorf("a block of nothing: %v", err)
	}
	worse := old
	worse.Retention /= 2
	if err := worse.ValidateAfter(old); err == nil {
		t.Error("another retention below the least passes")
	}
}
