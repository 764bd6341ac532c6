package lsm

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the traces anew")

// TestPickTraces plays histories of runs through Pick: each line of a trace is a
// round's run, and what is merged after it. The file's first line is the script:
// megabytes of the runs in order, `N*M` repeats; `garbage=P` makes P percent of
// each run supersede older rows.
func TestPickTraces(t *testing.T) {
	files, err := filepath.Glob("testdata/pick/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no traces", err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			script, _, _ := strings.Cut(string(b), "\n")
			got := script + "\n" + trace(t, script)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff(string(b), got); d != "" && !*update {
				t.Errorf("trace (-want +got):\n%s", d)
			}
		})
	}
}

func trace(t *testing.T, script string) string {
	t.Helper()
	var out strings.Builder
	m := &Manifest{Tables: map[string][]Run{}}
	written, merged, garbage := int64(0), int64(0), int64(0)
	for word := range strings.FieldsSeq(script) {
		size, times := int64(0), 1
		if n, _ := fmt.Sscanf(word, "garbage=%d", &garbage); n == 1 {
			continue
		}
		if n, _ := fmt.Sscanf(word, "%d*%d", &size, &times); n < 1 {
			t.Fatalf("script word %q", word)
		}
		for range times {
			m.N++
			written += size
			m.Tables["urls"] = append(m.Tables["urls"], runOf(fmt.Sprintf("r%d", m.N), size, garbage))
			fmt.Fprintf(&out, "%-12s", sizes(m.Tables["urls"]))
			for picked := Pick(m)["urls"]; picked != nil; picked = Pick(m)["urls"] {
				bytes := apply(t, m, picked)
				merged += bytes
				fmt.Fprintf(&out, " merge %d → %s", len(picked), sizes(m.Tables["urls"]))
			}
			out.WriteByte('\n')
		}
	}
	fmt.Fprintf(&out, "written %d MB, merged %d MB\n", written, merged)
	return out.String()
}

func runOf(id string, mb, garbage int64) Run {
	rows := mb * 30_000
	return Run{ID: id, Objects: []Object{{Key: id, Bytes: mb << 20, Rows: rows, SupersededRows: rows * garbage / 100}}}
}

func sizes(runs []Run) string {
	var out []string
	for _, r := range runs {
		out = append(out, fmt.Sprint(r.Bytes()>>20))
	}
	return strings.Join(out, " ")
}

// apply merges the picked runs of the trace's table, which must be adjacent.
func apply(t *testing.T, m *Manifest, picked []string) (mb int64) {
	t.Helper()
	runs := m.Tables["urls"]
	from := 0
	for runs[from].ID != picked[0] {
		from++
	}
	dead := int64(0)
	for i, id := range picked {
		if runs[from+i].ID != id {
			t.Fatalf("picked %v are not adjacent in %s", picked, sizes(runs))
		}
		mb += runs[from+i].Bytes() >> 20
		dead += runs[from+i].Objects[0].SupersededRows / 30_000
	}
	one := runOf("c"+picked[0], max(mb-dead, 1), 0)
	m.Tables["urls"] = append(append(append([]Run{}, runs[:from]...), one), runs[from+len(picked):]...)
	return mb
}

func TestPickLeavesTheManifestAlone(t *testing.T) {
	m := &Manifest{Tables: map[string][]Run{"urls": {runOf("a", 1, 0), runOf("b", 1, 0), runOf("c", 1, 0), runOf("d", 1, 0)},
		"hosts": {runOf("a", 50, 0), runOf("b", 1, 0)}}}
	for range 3 {
		if d := cmp.Diff(map[string][]string{"urls": {"a", "b", "c", "d"}}, Pick(m)); d != "" {
			t.Error(d)
		}
	}
	if got := Pick(&Manifest{}); got != nil {
		t.Errorf("an empty manifest: %v", got)
	}
}
