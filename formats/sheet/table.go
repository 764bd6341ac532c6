package sheet

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"seine/formats/scope"
	"seine/formats/settings"
	"seine/formats/weburl"
)

// Table is sheets ready to be looked up.
type Table struct {
	sets     []Values
	domains  map[string]entry
	hosts    map[string]entry
	prefixes []prefix // by text
	// spans are the prefixes of an authority, by it: [from, to) of prefixes.
	spans map[string]span
	room  int64 // the least max_outstanding that one sets; 0: none does
}

// entry is a sheet: the number of what it sets, and its line.
type entry struct{ set, line int32 }

type span struct{ from, to int32 }

// prefix is a sheet for what starts with a text. parent is the longest other one
// that the text starts with, or -1: all prefixes of a key are its greatest entry not
// above it, or stand above that in the chain of parents.
type prefix struct {
	text   string
	entry  entry
	parent int
}

// errDamaged: not what Encode gives.
var errDamaged = errors.New("kept sheets are damaged: name the file again in the settings")

// Open reads what Encode gave; it keeps parts of text.
func Open(text []byte) (*Table, error) {
	head, rest, _ := bytes.Cut(text, []byte("\n"))
	if string(head) != heading {
		return nil, fmt.Errorf("%w (it begins %.40q)", errDamaged, head)
	}
	all := string(rest)
	t := &Table{domains: make(map[string]entry, bytes.Count(rest, []byte("\tdomain:"))),
		hosts: make(map[string]entry, bytes.Count(rest, []byte("\thost:")))}
	for all != "" {
		row, after, ended := strings.Cut(all, "\n")
		all = after
		if !ended {
			return nil, errDamaged
		}
		var err error
		if set, ok := strings.CutPrefix(row, "=\t"); ok {
			err = t.addSet(set)
		} else {
			err = t.addSheet(row)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errDamaged, err)
		}
	}
	t.link()
	return t, nil
}

func (t *Table) addSet(text string) error {
	var v Values
	for part := range strings.SplitSeq(text, "\t") {
		name, value, _ := strings.Cut(part, "=")
		f := slices.Index(column[:], name)
		if f < 0 {
			return fmt.Errorf("unknown field %q", name)
		}
		if err := v.setField(Field(f), value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	t.sets = append(t.sets, v)
	if v.Has(Outstanding) && (t.room == 0 || v.Outstanding < t.room) {
		t.room = v.Outstanding
	}
	return nil
}

func (t *Table) addSheet(row string) error {
	number, rest, _ := strings.Cut(row, "\t")
	at, what, _ := strings.Cut(rest, "\t")
	set, err := strconv.Atoi(number)
	if err != nil || set < 0 || set >= len(t.sets) {
		return fmt.Errorf("no settings %q", number)
	}
	line, err := strconv.ParseInt(at, 10, 32)
	if err != nil {
		return fmt.Errorf("no line %q", at)
	}
	e := entry{int32(set), int32(line)}
	switch kind, name, _ := strings.Cut(what, ":"); kind {
	case scope.KindDomain:
		t.domains[name] = e
	case scope.KindHost:
		t.hosts[name] = e
	case scope.KindPrefix:
		t.prefixes = append(t.prefixes, prefix{text: name, entry: e})
	default:
		return fmt.Errorf("unknown kind %q", kind)
	}
	return nil
}

// link sorts the prefixes and finds their parents.
func (t *Table) link() {
	t.spans = map[string]span{}
	slices.SortFunc(t.prefixes, func(a, b prefix) int { return cmp.Compare(a.text, b.text) })
	for i := range t.prefixes {
		p := &t.prefixes[i]
		p.parent = i - 1
		for p.parent >= 0 && !strings.HasPrefix(p.text, t.prefixes[p.parent].text) {
			p.parent = t.prefixes[p.parent].parent
		}
		authority := authorityOf(p.text)
		s, ok := t.spans[authority]
		if !ok {
			s.from = int32(i)
		}
		s.to = int32(i) + 1
		t.spans[authority] = s
	}
}

// authorityOf is the host and port of a prefix or key; every prefix has a path.
func authorityOf(text string) string {
	authority, _, _ := strings.Cut(text, "/")
	return authority
}

// LeastRoom is the least that any politeness group has for outstanding URLs, by a
// sheet or by the settings.
func (t *Table) LeastRoom(s settings.Settings) int64 {
	least := int64(s.MaxOutstanding)
	if t != nil && t.room > 0 {
		least = min(least, t.room)
	}
	return least
}

// Count is how many sheets there are.
func (t *Table) Count() int {
	if t == nil {
		return 0
	}
	return len(t.domains) + len(t.hosts) + len(t.prefixes)
}

// For joins the sheets that a URL in normal form falls under.
func (t *Table) For(u weburl.Normal) (v Values) {
	if t == nil {
		return v
	}
	t.walk(u.Host, scope.Key(u), func(_, _ string, e entry) { v.take(&t.sets[e.set]) })
	return v
}

// Group joins the sheets for a politeness group: a domain, or a host by itself.
func (t *Table) Group(name string) (v Values) {
	t.walk(name, "", func(_, _ string, e entry) { v.take(&t.sets[e.set]) })
	return v
}

// Of is Group of the politeness group of a host in a domain: each host is one, or each
// domain.
func (t *Table) Of(byHost bool, domain, host string) (v Values) {
	if t == nil {
		return v
	}
	if byHost {
		return t.Group(host)
	}
	return t.Group(domain)
}

// Decision says which sheet decides over fields of a URL.
type Decision struct {
	What   string // "domain:example.org"
	Line   int    // of the person's file
	Values        // what of the sheet holds: a more specific one has not set it
}

// Decisions are the sheets that a URL in normal form falls under and that decide over
// something, the most specific first.
func (t *Table) Decisions(u weburl.Normal) (all []Decision) {
	var seen Values
	t.walk(u.Host, scope.Key(u), func(kind, name string, e entry) {
		d := Decision{What: kind + ":" + name, Line: int(e.line)}
		for f := range fields {
			if w := &t.sets[e.set]; w.Has(f) && !seen.Has(f) {
				d.copy(f, w)
			}
		}
		if seen.take(&t.sets[e.set]); !d.Empty() {
			all = append(all, d)
		}
	})
	return all
}

// walk visits the sheets that a host and key fall under, the most specific first.
func (t *Table) walk(host, key string, visit func(kind, name string, e entry)) {
	if t == nil {
		return
	}
	if s, ok := t.spans[authorityOf(key)]; ok {
		in := t.prefixes[s.from:s.to]
		at, found := slices.BinarySearchFunc(in, key, func(p prefix, key string) int {
			return strings.Compare(p.text, key)
		})
		if !found {
			at--
		}
		for i := int(s.from) + at; at >= 0 && i >= 0; i = t.prefixes[i].parent {
			if p := &t.prefixes[i]; strings.HasPrefix(key, p.text) {
				visit(scope.KindPrefix, p.text, p.entry)
			}
		}
	}
	if e, ok := t.hosts[host]; ok {
		visit(scope.KindHost, host, e)
	}
	for name := host; len(t.domains) > 0; {
		if e, ok := t.domains[name]; ok {
			visit(scope.KindDomain, name, e)
		}
		dot := strings.IndexByte(name, '.')
		if dot < 0 {
			return
		}
		name = name[dot+1:]
	}
}
