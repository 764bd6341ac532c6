package main

import (
	"embed"
	"fmt"
	"regexp"
	"strings"
)

// questionFiles are ready-made questions: a first comment line says what is
// asked; lines `-- set NAME: MEANING (default VALUE)` what it needs to know,
// which stands in the SQL as getvariable('NAME').
//
//go:embed questions/*.sql
var questionFiles embed.FS

var setLine = regexp.MustCompile(`(?m)^-- set (\w+): (.*?)(?: \(default (.*)\))?$`)

func questionNames() []string {
	entries, err := questionFiles.ReadDir("questions")
	if err != nil {
		return nil // it is part of the binary
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".sql")
	}
	return names
}

// question is the SQL of a question, and the statements that set before it what
// it needs to know.
func question(name string, set []string) (before []string, sql string, err error) {
	body, err := questionFiles.ReadFile("questions/" + name + ".sql")
	if err != nil {
		return nil, "", usagef("there is no question %q; --questions lists them", name)
	}
	values := map[string]string{}
	for _, s := range set {
		n, v, ok := strings.Cut(s, "=")
		if !ok {
			return nil, "", usagef("--set %s: write it as NAME=VALUE", s)
		}
		values[n] = v
	}
	for _, m := range setLine.FindAllStringSubmatch(string(body), -1) {
		v, ok := values[m[1]]
		if !ok && m[3] == "" {
			return nil, "", usagef("question %s needs --set %s=… (%s)", name, m[1], m[2])
		}
		if !ok {
			v = m[3]
		}
		delete(values, m[1])
		before = append(before, fmt.Sprintf("SET VARIABLE %s = '%s'", m[1], strings.ReplaceAll(v, "'", "''")))
	}
	for n := range values {
		return nil, "", usagef("question %s does not ask for %s; --questions says what each needs", name, n)
	}
	return before, string(body), nil
}

func (a *app) listQuestions() error {
	for _, name := range questionNames() {
		body, err := questionFiles.ReadFile("questions/" + name + ".sql")
		if err != nil {
			return err
		}
		first, _, _ := strings.Cut(string(body), "\n")
		fmt.Fprintf(a.out, "%-20s %s\n", name, strings.TrimPrefix(first, "-- "))
		for _, m := range setLine.FindAllStringSubmatch(string(body), -1) {
			line := fmt.Sprintf("--set %s=… : %s", m[1], m[2])
			if m[3] != "" {
				line += ", default " + m[3]
			}
			if _, err := fmt.Fprintf(a.out, "%-20s   %s\n", "", line); err != nil {
				return err
			}
		}
	}
	return nil
}
