package schema

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write ../README.md")

// printed are the structs of ../README.md, with the tables that hold them.
var printed = []struct {
	tables, name string
}{
	{"urls", "URL"}, {"domains", "Domain"}, {"hosts", "Host"}, {"robots", "Robots"},
	{"waiting, ready (frontier)", "FrontierRow"}, {"lists", "List"}, {"fetches", "Fetch"},
	{"pages", "Page"}, {"links", "Link"}, {"dead_letters", "DeadLetter"}, {"seeds", "Seed"},
	{"rounds", "RoundRow"}, {"discoveries, events (inside a round)", "Discovery"},
	{"superseded (beside a run)", "SupersededRow"},
}

// TestReadme holds ../README.md equal to the structs and to layout's drawing.
func TestReadme(t *testing.T) {
	want := readme(t)
	if *update {
		if err := os.WriteFile("../README.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("../README.md is old; go test ./formats/schema -run Readme -update writes it:\n%s", diff)
	}
}

func readme(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# The store, object by object\n\nMade from the Go sources by `go test ./formats/schema " +
		"-run Readme -update`; a test holds it equal.\n\n## The bucket\n\n")
	b.WriteString(drawing(t))
	b.WriteString("\n## The tables\n\nTimes are UTC; a column that may be null says so. Volatile columns " +
		"may differ between two\nruns over the same web.\n")
	structs := parsed(t)
	for _, p := range printed {
		s, ok := structs[p.name]
		if !ok {
			t.Fatalf("no struct %s", p.name)
		}
		table, _, _ := strings.Cut(p.tables, ",")
		writeTable(t, &b, p.tables, s, Volatile[table])
	}
	b.WriteString("\n## The reasons\n\n| reason | crawl_status after | blames the URL | next due | means |\n" +
		"|---|---|---|---|---|\n")
	for _, p := range Policies {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", p.Reason, orDash(p.Status), yes(p.Blame), p.Due, p.Means)
	}
	return b.String()
}

// drawing is the indented picture in layout's package comment.
func drawing(t *testing.T) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../layout/doc.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(file.Doc.Text()) {
		if strings.HasPrefix(line, "\t") {
			b.WriteString("    " + strings.TrimPrefix(line, "\t"))
		}
	}
	if b.Len() == 0 {
		t.Fatal("layout draws nothing")
	}
	return b.String()
}

type parsedStruct struct {
	doc    string
	fields []*ast.Field
}

func parsed(t *testing.T) map[string]parsedStruct {
	t.Helper()
	structs := map[string]parsedStruct{}
	for _, name := range []string{"urls.go", "domains.go", "rounds.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			spec := g.Specs[0].(*ast.TypeSpec)
			if s, ok := spec.Type.(*ast.StructType); ok {
				structs[spec.Name.Name] = parsedStruct{g.Doc.Text(), s.Fields.List}
			}
		}
	}
	return structs
}

func writeTable(t *testing.T, b *strings.Builder, tables string, s parsedStruct, volatile []string) {
	t.Helper()
	fmt.Fprintf(b, "\n### %s\n\n%s\n| column | type | notes |\n|---|---|---|\n", tables, s.doc)
	for _, f := range s.fields {
		tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("parquet")
		name, options, _ := strings.Cut(tag, ",")
		var notes []string
		if strings.Contains(options, "optional") {
			notes = append(notes, "null")
		}
		if slices.Contains(volatile, name) {
			notes = append(notes, "volatile")
		}
		if text := strings.TrimSpace(f.Comment.Text()); text != "" {
			notes = append(notes, text)
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, columnType(t, f.Type, options), strings.Join(notes, "; "))
	}
}

func columnType(t *testing.T, e ast.Expr, options string) string {
	t.Helper()
	switch {
	case strings.Contains(options, "timestamp"):
		return "timestamp, ms"
	case strings.Contains(options, "uuid"):
		return "uuid"
	}
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.ArrayType:
		return "list of " + columnType(t, e.Elt, "")
	case *ast.MapType:
		return "map of " + columnType(t, e.Key, "") + " to " + columnType(t, e.Value, "")
	}
	t.Fatalf("no name for the type %T", e)
	return ""
}

func orDash(s string) string {
	if s == "" {
		return "as before"
	}
	return s
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}
