package schema

import "testing"

func TestEveryReasonHasOnePolicy(t *testing.T) {
	seen := map[Reason]bool{}
	for _, p := range Policies {
		if seen[p.Reason] {
			t.Errorf("%s has two policies", p.Reason)
		}
		seen[p.Reason] = true
		if p.Means == "" || p.Due == "" {
			t.Errorf("%s: incomplete policy %+v", p.Reason, p)
		}
		if p.Blame && p.Due == DueAgain {
			t.Errorf("%s blames the URL and lets it wait as before", p.Reason)
		}
		if !p.Final && p.Status != "" {
			t.Errorf("%s is not final and sets status %s", p.Reason, p.Status)
		}
		if got, ok := PolicyOf(p.Reason); !ok || got != p {
			t.Errorf("PolicyOf(%s) = %+v, %v", p.Reason, got, ok)
		}
	}
	if _, ok := PolicyOf("no such reason"); ok {
		t.Error("an unknown reason has a policy")
	}
}
