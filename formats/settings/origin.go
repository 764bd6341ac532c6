package settings

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Origin says which version brought a value, and what brought it there: a flag
// ("--delay"), a variable ("SEINE_DELAY"), a file ("seine.yaml"), a verb.
type Origin struct {
	Version uint64 `json:"version"`
	From    string `json:"from"`
}

// Differing are the names of the settings in which a and b differ.
func Differing(a, b Settings) (names []string) {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		name := yamlName(x.Type().Field(i))
		if name != "" && !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			names = append(names, name)
		}
	}
	return names
}

// Unset gives a setting its default again.
func (s *Settings) Unset(name string) error {
	name = strings.ReplaceAll(name, "-", "_")
	f := s.field(name)
	if !f.IsValid() {
		return fmt.Errorf("%s is no setting; `seine settings --help` lists them", name)
	}
	f.SetZero()
	s.Zeroed = slices.DeleteFunc(slices.Clone(s.Zeroed), func(n string) bool { return n == name })
	return nil
}

// succeed makes s the version after old: it notes who put it, and where each
// value comes from. from names what brought the values that differ, by setting.
func (s Settings) succeed(old Settings, from map[string]string) Settings {
	s.Origins = map[string]Origin{}
	for name, o := range old.Origins {
		s.Origins[name] = o
	}
	for _, name := range Differing(old, s) {
		s.Origins[name] = Origin{Version: s.Version, From: from[name]}
	}
	var zero Settings
	set := map[string]bool{}
	for _, name := range Differing(zero, s) {
		set[name] = true
	}
	for name := range s.Origins {
		if !set[name] {
			delete(s.Origins, name)
		}
	}
	if len(s.Origins) == 0 {
		s.Origins = nil
	}
	return s
}

// Change is a new version in the making.
type Change struct {
	Settings
	From map[string]string // what brought the values, by setting
	By   string            // who makes it
	At   int64             // ms
}

// After is the version that follows old by a change; false if it says nothing
// new.
func (c Change) After(old Settings, version uint64) (Settings, bool) {
	s := c.Settings
	s.Version, s.Origins, s.By, s.At, s.Zeroed = old.Version, old.Origins, old.By, old.At, old.Zeroed
	if reflect.DeepEqual(old, s) {
		return old, false
	}
	s.Version, s.By, s.At = version, c.By, c.At
	return s.succeed(old, c.From), true
}
