package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// verb is how a verb is called right, and with words that are wrong.
type verb struct {
	right string // after its name
	wrong string // after its name; "-": any words are right
	free  bool   // it needs no store of its own
}

// every are the verbs that act; a test holds that none is missing.
var every = map[string]verb{
	"block":            {right: "a.test --reason x", wrong: "a..b/ --reason x"},
	"unblock":          {right: "a.test", wrong: "domain:a..b!"},
	"blocks":           {wrong: "word"},
	"catalog":          {wrong: "word"},
	"check":            {wrong: "word"},
	"copy":             {right: "STORE OTHER", wrong: "one"},
	"crawl":            {wrong: "no-url"},
	"demo":             {wrong: "word", free: true},
	"df":               {wrong: "word"},
	"domain":           {right: "a.test", wrong: "a.test b.test"},
	"explain":          {right: "http://a.test/", wrong: "http://a.test/ more"},
	"host":             {right: "a.test", wrong: "a.test b.test"},
	"inject":           {right: "http://a.test/", wrong: "mailto:a@b.test"},
	"inspect":          {right: "urls", wrong: "urls --format pdf"},
	"member add":       {right: "n1 a.test:1", wrong: "n1", free: true},
	"member list":      {wrong: "word", free: true},
	"member remove":    {right: "n1", wrong: "n1 n2", free: true},
	"member transfer":  {right: "n1", wrong: "n1 n2", free: true},
	"migrate":          {wrong: "word"},
	"normalize":        {right: "http://a.test/", wrong: "no-url", free: true},
	"page":             {right: "http://a.test/", wrong: "no-url"},
	"parse":            {right: "FILE", wrong: "one two", free: true},
	"pause":            {wrong: "round-seven"},
	"resume":           {wrong: "word"},
	"prune":            {wrong: "--keep-snapshots many"},
	"query":            {right: "SELECT", wrong: "--format pdf SELECT"},
	"requeue":          {right: "http://a.test/", wrong: "no-url"},
	"robots":           {right: "FILE /x", wrong: "", free: true},
	"round cancel":     {right: "7", wrong: "seven"},
	"round commit":     {right: "7", wrong: "seven"},
	"round list":       {wrong: "word"},
	"round rerun":      {right: "7 --failed", wrong: "seven --failed"},
	"round show":       {right: "7", wrong: "seven"},
	"round submit":     {wrong: "--top-n many"},
	"round watch":      {wrong: "seven"},
	"seeds list":       {wrong: "word"},
	"seeds remove":     {right: "http://a.test/", wrong: "no-url"},
	"settings diff":    {right: "1", wrong: "one"},
	"settings history": {wrong: "word"},
	"settings set":     {right: "delay=2s", wrong: "speed=2"},
	"settings show":    {wrong: "word"},
	"settings unset":   {right: "delay", wrong: "speed"},
	"snapshot diff":    {right: "1", wrong: "one"},
	"snapshot list":    {wrong: "word"},
	"snapshot restore": {right: "1", wrong: "one"},
	"status":           {wrong: "word"},
	"takeover":         {wrong: "word"},
	"url":              {right: "http://a.test/", wrong: "no-url"},
}

func TestEveryVerbIsTried(t *testing.T) {
	have := map[string]bool{}
	for _, c := range commands(newRoot(&app{in: &bytes.Buffer{}, out: &bytes.Buffer{}, err: &bytes.Buffer{}})) {
		name := strings.TrimPrefix(c.CommandPath(), "seine ")
		if c.Runnable() && !c.HasSubCommands() && c.Name() != "help" && c.Parent().Name() != "completion" {
			have[name] = true
			if _, ok := every[name]; !ok {
				t.Errorf("%s is tried with no bad input: add it to every", name)
			}
		}
	}
	for name := range every {
		if !have[name] {
			t.Errorf("there is no verb %s", name)
		}
	}
}

// TestEveryVerbWithBadInput: an unknown flag, wrong words, a store that is not there,
// one that is no crawl, one of somebody else's: each verb ends with the code that the
// help tells, says what to do next, and leaves things as they were.
func TestEveryVerbWithBadInput(t *testing.T) {
	_, crawled := aCrawl(t)
	for name, v := range every {
		t.Run(name, func(t *testing.T) {
			absent := filepath.Join(t.TempDir(), "absent")
			call := func(words, store string) run {
				page := file(t, "page.html", "<p>x")
				args := strings.Fields(name + " " + words)
				for i, a := range args {
					switch a {
					case "STORE":
						args[i] = store
					case "OTHER":
						args[i] = filepath.Join(t.TempDir(), "other")
					case "FILE":
						args[i] = page
					}
				}
				return line{}.run(t, append(args, "--store", store)...)
			}
			told := func(what string, r run, code int, says ...string) {
				if r.code != code {
					t.Errorf("%s: exit code %d, want %d: %s", what, r.code, code, r.err)
				}
				for _, want := range says {
					if !strings.Contains(r.err, want) {
						t.Errorf("%s: it does not say %q: %s", what, want, r.err)
					}
				}
				if strings.Contains(r.err, "goroutine") || !strings.Contains("\n"+r.err, "\nseine: ") {
					t.Errorf("%s: %s", what, r.err)
				}
			}
			told("an unknown flag", call(v.right+" --no-such-flag", crawled), exitUsage, "--no-such-flag", "--help")
			told("wrong words", call(v.wrong, crawled), exitUsage)
			if v.free {
				return
			}
			told("no store", call(v.right, absent), exitNoCrawl, absent)
			if _, err := os.Stat(absent); err == nil {
				t.Error("a store was made")
			}
			folder := filepath.Dir(file(t, "thesis.txt", "years of work"))
			told("no crawl", call(v.right, folder), exitNoCrawl, folder)
			if files, err := os.ReadDir(folder); err != nil || len(files) != 1 {
				t.Errorf("there are %d files in the folder now: %v", len(files), err)
			}
			plain := file(t, "plain", "no folder")
			if r := call(v.right, plain); r.code == exitOK || !strings.Contains(r.err, plain) {
				t.Errorf("a file: exit code %d: %s", r.code, r.err)
			}
		})
	}
}
