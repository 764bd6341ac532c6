// Package shape holds the tests of the code's own shape: who may import whom,
// which package is the only door to a dependency, package comments, sizes. It
// reads the sources itself, because a test that shells out to the go command
// is served stale from the test cache.
package shape

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../../.."

type source struct {
	path  string // relative to the root, with slashes
	text  []byte
	file  *ast.File
	fset  *token.FileSet
	test  bool
	paths []string // imported
}

func (s source) folder() string { return filepath.ToSlash(filepath.Dir(s.path)) }

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		s, err := parse(path)
		all = append(all, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("only %d sources found: is this the tree's root?", len(all))
	}
	return all
}

func parse(path string) (source, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return source{}, err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, text, parser.ParseComments)
	if err != nil {
		return source{}, err
	}
	rel, err := filepath.Rel(root, path)
	s := source{path: filepath.ToSlash(rel), text: text, file: file, fset: fset,
		test: strings.HasSuffix(path, "_test.go")}
	for _, spec := range file.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		s.paths = append(s.paths, p)
	}
	return s, err
}

// under says whether a folder or import path is p or lies below it.
func under(path, p string) bool { return path == p || strings.HasPrefix(path, p+"/") }

func TestTopLevelIsTheCustomers(t *testing.T) {
	allowed := []string{"coordinator", "mapper", "reducer", "formats", "cmd", "jobs", "deploy",
		"go.mod", "go.sum", "README.md", ".ci", ".gitignore", "LICENSE", ".git"}
	ignored, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(allowed, e.Name()) && !bytes.Contains(ignored, []byte("/"+e.Name()+"/")) {
			t.Errorf("%s stands at the top level", e.Name())
		}
	}
}

// TestLayers holds DESIGN's table of who may import whom.
func TestLayers(t *testing.T) {
	never := map[string][]string{
		"formats":     {"jobs", "coordinator", "mapper", "reducer", "cmd"},
		"jobs":        {"coordinator", "mapper", "reducer", "cmd", "formats/objstore", "formats/rowfile", "formats/lsm"},
		"coordinator": {"mapper", "reducer", "cmd", "formats/objstore", "formats/rowfile", "formats/lsm", "formats/bloom"},
		"mapper":      {"reducer", "coordinator", "cmd"},
		"reducer":     {"mapper", "coordinator", "cmd"},
	}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		top, _, _ := strings.Cut(s.path, "/")
		for _, p := range s.paths {
			ours, ok := strings.CutPrefix(p, "seine/")
			if !ok {
				continue
			}
			for _, forbidden := range never[top] {
				if under(ours, forbidden) {
					t.Errorf("%s imports %s", s.path, p)
				}
			}
			if under(s.folder(), "formats/objstore") != under(ours, "formats/objstore") && top == "formats" &&
				(under(s.folder(), "formats/objstore") || under(ours, "formats/objstore")) {
				t.Errorf("%s imports %s: objstore and the other formats do not know each other", s.path, p)
			}
		}
	}
}

// TestDoors: one dependency, one package that uses it. Benchmarks stand beside:
// what they compare with is often the bare library.
func TestDoors(t *testing.T) {
	doors := map[string][]string{
		"github.com/hashicorp/raft":        {"coordinator/raftnode"},
		"github.com/minio/minio-go":        {"formats/objstore/s3"},
		"github.com/parquet-go/parquet-go": {"formats/rowfile"},
		"github.com/bits-and-blooms/bloom": {"formats/bloom"},
		"golang.org/x/net/html":            {"mapper/extract"},
		"golang.org/x/net/http2":           {"mapper/http1"},
		"golang.org/x/crypto/x509roots":    {"mapper/http1"},
		"github.com/duckdb/duckdb-go":      {"cmd/seine"},
		"github.com/miekg/dns":             {"mapper/resolve"},
		"github.com/temoto/robotstxt":      {"formats/robotstxt"},
		"github.com/spf13/cobra":           {"cmd/seine", "cmd/seined"},
		"go.yaml.in/yaml/v3":               {"formats/settings", "formats/sheet"},
		"github.com/apache/arrow-go":       {"cmd/seine", "formats/rowfile"},
	}
	used := map[string]bool{}
	for _, s := range sources(t) {
		for _, p := range s.paths {
			for dep, doors := range doors {
				if !under(p, dep) {
					continue
				}
				used[dep] = true
				bench := under(s.folder(), "deploy/bench")
				if !s.test && !bench && !slices.ContainsFunc(doors, func(d string) bool { return under(s.folder(), d) }) {
					t.Errorf("%s imports %s; its door is %v", s.path, p, doors)
				}
			}
		}
	}
	for dep := range doors {
		if !used[dep] {
			t.Errorf("%s is used nowhere", dep)
		}
	}
}

func TestEveryPackageHasAComment(t *testing.T) {
	has := map[string]bool{}
	folders := map[string]bool{}
	for _, s := range sources(t) {
		if s.test && !under(s.folder(), "cmd/internal/shape") {
			continue
		}
		folders[s.folder()] = true
		has[s.folder()] = has[s.folder()] || s.file.Doc != nil && len(s.file.Doc.Text()) > 80
		if n := strings.Count(s.folder(), "/"); n > 2 {
			t.Errorf("%s lies %d folders deep", s.path, n+1)
		}
	}
	for f := range folders {
		if !has[f] {
			t.Errorf("package %s has no comment that stands alone", f)
		}
	}
}

// TestSizes: functions to 80 lines, files to 600.
func TestSizes(t *testing.T) {
	long, functions := 0, 0
	for _, s := range sources(t) {
		if n := bytes.Count(s.text, []byte("\n")); n > 600 {
			t.Errorf("%s has %d lines", s.path, n)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || s.test {
				continue
			}
			functions++
			n := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1
			if n > 40 {
				long++
			}
			if n > 80 {
				t.Errorf("%s: %s has %d lines", s.path, f.Name.Name, n)
			}
		}
	}
	if long*10 > functions {
		t.Errorf("%d of %d functions have over 40 lines", long, functions)
	}
}

// TestNoHiddenState: no init functions, no TODO in place of a feature.
func TestNoHiddenState(t *testing.T) {
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "init" && f.Recv == nil {
				t.Errorf("%s has an init function", s.path)
			}
		}
		for _, c := range s.file.Comments {
			if strings.Contains(c.Text(), "TODO") && !under(s.folder(), "cmd/internal/shape") {
				t.Errorf("%s has a TODO", s.path)
			}
		}
	}
}
