package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// commands are the command lines of seined in a YAML value: lists of strings that begin
// with a verb of it.
func commands(v any) (all [][]string) {
	switch v := v.(type) {
	case map[string]any:
		for _, x := range v {
			all = append(all, commands(x)...)
		}
	case []any:
		var line []string
		for _, x := range v {
			if s, ok := x.(string); ok {
				line = append(line, s)
			} else {
				all = append(all, commands(x)...)
			}
		}
		if len(line) > 0 && (line[0] == "coordinator" || line[0] == "worker") {
			all = append(all, line)
		}
	}
	return all
}

// unit is the command line of a systemd unit, with the arguments of its example.
func unit(t *testing.T, part string) []string {
	t.Helper()
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join("../../deploy/systemd", name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(b), "\\\n", "")
	}
	after := func(text, mark string) string {
		_, rest, found := strings.Cut(text, mark)
		if !found {
			t.Fatalf("no %s in the files of %s", mark, part)
		}
		line, _, _ := strings.Cut(rest, "\n")
		return line
	}
	line := after(read("seined-"+part+".service"), "ExecStart=/usr/local/bin/seined ")
	args := after(read(part+".env.example"), "SEINED_ARGS=")
	return strings.Fields(strings.Replace(line, "$SEINED_ARGS", args, 1))
}

// TestDeployedCommands: what deploy/ starts are command lines of this program, whole and
// safe.
func TestDeployedCommands(t *testing.T) {
	all := map[string][][]string{"systemd": {unit(t, "coordinator"), unit(t, "worker")}}
	for _, file := range []string{"compose.yaml", "kubernetes/coordinator.yaml", "kubernetes/worker.yaml"} {
		f, err := os.Open(filepath.Join("../../deploy", file))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		documents := yaml.NewDecoder(f)
		for {
			var v map[string]any
			if documents.Decode(&v) != nil {
				break
			}
			all[file] = append(all[file], commands(v)...)
		}
	}
	for file, lines := range all {
		seen := map[string]int{}
		for _, line := range lines {
			seen[line[0]]++
			if err := accepted(line); err != nil {
				t.Errorf("%s: %q: %v", file, line, err)
			}
		}
		if seen["coordinator"]+seen["worker"] == 0 {
			t.Errorf("%s starts nothing", file)
		}
	}
}

// accepted parses a command line as the program does.
func accepted(line []string) error {
	var err error
	switch a := (&app{err: os.Stderr}); line[0] {
	case "worker":
		err = newWorker(a).ParseFlags(line[1:])
	default:
		c := newCoordinator(a)
		if err = c.ParseFlags(line[1:]); err != nil {
			return err
		}
		value := func(name string) string { return c.Flags().Lookup(name).Value.String() }
		f := coordinatorFlags{id: value("id"), data: value("data"), store: value("store"),
			listen: value("listen"), raft: value("raft"), bootstrap: value("bootstrap"),
			insecure: value("insecure") == "true", tlsCert: value("tls-cert"), tlsKey: value("tls-key"),
			tokens: value("tokens-file"), peerCA: value("peer-ca"), peerCert: value("peer-cert"),
			peerKey: value("peer-key")}
		if err = f.check(); err == nil {
			err = f.safe(f.tokens != "")
		}
	}
	return err
}
