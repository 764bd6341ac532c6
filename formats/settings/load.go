package settings

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Parse reads settings from YAML over base: keys that the text does not name
// keep base's values. An unknown key or a value of the wrong kind is an error
// that names its line.
func Parse(text []byte, base Settings) (Settings, error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	s := base
	// A list replaces the one below it; the decoder would append to a shared one.
	s.Rules, s.Sheets, s.DNS = nil, "", slices.Clip(s.DNS)
	if err := dec.Decode(&s); err != nil && !errors.Is(err, io.EOF) {
		return base, fmt.Errorf("settings: %s; `seine settings --help` lists the keys", plain(err))
	}
	if s.Rules == nil { // the text does not speak of them
		s.Rules = base.Rules
	} else {
		s.SetRules(s.Rules)
	}
	if s.Sheets == "" {
		s.Sheets = base.Sheets
	} else {
		s.SetSheets(s.Sheets)
	}
	named := map[string]any{}
	if err := yaml.Unmarshal(text, &named); err != nil {
		return base, fmt.Errorf("settings: %s", plain(err))
	}
	for name := range named {
		s.noteZero(name)
	}
	return s, nil
}

// noteZero notes whether a setting that was just given a value was given 0.
func (s *Settings) noteZero(name string) {
	s.Zeroed = slices.DeleteFunc(slices.Clone(s.Zeroed), func(n string) bool { return n == name })
	if f := s.field(name); f.IsValid() && f.IsZero() && f.CanConvert(reflect.TypeFor[float64]()) {
		s.Zeroed = append(s.Zeroed, name)
	}
}

// field is the field of a setting; invalid: there is no such setting.
func (s *Settings) field(name string) reflect.Value {
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		if name != "" && yamlName(v.Type().Field(i)) == name {
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

// zeroFaults are the settings that were given 0 and have their defaults: s is filled.
func (s *Settings) zeroFaults() (faults []error) {
	for _, name := range s.Zeroed {
		f := s.field(name)
		if f.IsZero() {
			continue
		}
		value := f.Interface()
		if d, ok := value.(Duration); ok {
			value = d.D()
		}
		faults = append(faults, fmt.Errorf("%s: 0 stands for the default, %v; give it another value, or "+
			"leave it out", name, value))
	}
	return faults
}

// plain takes the library's wording out of a decoding error.
func plain(err error) string {
	var wrong *yaml.TypeError
	if !errors.As(err, &wrong) {
		return strings.TrimPrefix(err.Error(), "yaml: ")
	}
	for i, e := range wrong.Errors {
		wrong.Errors[i] = strings.ReplaceAll(e, "not found in type settings.Settings",
			"is no setting")
	}
	return strings.Join(wrong.Errors, "; ")
}

// Encode writes a version as it is stored.
func (s Settings) Encode() ([]byte, error) { return json.MarshalIndent(s, "", " ") }

// Decode reads a stored version; fields that this build does not know are an
// error, because ignoring a rule would crawl what it forbids.
func Decode(b []byte) (Settings, error) {
	var s Settings
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return s, fmt.Errorf("settings object: %w: use a newer seine, or restore the object", err)
	}
	return s, nil
}

// Key is one setting as a person names it.
type Key struct {
	Name string // as in YAML; a flag writes - for _
	Kind string // text, list, yes/no, duration, integer, number
}

// Keys lists all settings in the order of the struct.
func Keys() []Key {
	var keys []Key
	t := reflect.TypeFor[Settings]()
	for i := range t.NumField() {
		if name := yamlName(t.Field(i)); name != "" {
			keys = append(keys, Key{name, kindOf(t.Field(i).Type)})
		}
	}
	return keys
}

func yamlName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	if name == "-" {
		return ""
	}
	return name
}

func kindOf(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[Duration]():
		return "duration"
	case t.Kind() == reflect.Slice:
		return "list"
	case t.Kind() == reflect.Bool:
		return "yes/no"
	case t.Kind() == reflect.Float64:
		return "number"
	case t.Kind() == reflect.String:
		return "text"
	}
	return "integer"
}

// Set gives one setting a value written as text; a list is separated by commas.
func (s *Settings) Set(name, value string) error {
	name = strings.ReplaceAll(name, "-", "_")
	f := s.field(name)
	if !f.IsValid() {
		return fmt.Errorf("%s is no setting; `seine settings --help` lists them", name)
	}
	if err := setField(f, value); err != nil {
		return fmt.Errorf("setting %s: %w", name, err)
	}
	switch name {
	case "rules":
		s.SetRules(s.Rules)
	case "sheets":
		s.SetSheets(s.Sheets)
	}
	s.noteZero(name)
	return nil
}

func setField(f reflect.Value, value string) error {
	if t, ok := f.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return t.UnmarshalText([]byte(value))
	}
	switch f.Kind() {
	case reflect.String:
		f.SetString(value)
	case reflect.Bool:
		b, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", value)
		}
		f.SetBool(b)
	case reflect.Float64:
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return fmt.Errorf("%q is no number", value)
		}
		f.SetFloat(n)
	case reflect.Slice:
		f.Set(reflect.ValueOf(splitList(value)))
	default:
		n, err := ParseSize(value)
		if err != nil {
			return err
		}
		f.SetInt(n)
	}
	return nil
}

func splitList(value string) (list []string) {
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// ParseSize reads integers with an optional binary unit: 64KiB, 5MiB, 1GiB.
func ParseSize(value string) (int64, error) {
	number, shift := value, 0
	for i, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if rest, ok := strings.CutSuffix(value, unit); ok {
			number, shift = strings.TrimSpace(rest), 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n > (1<<62)>>shift || n < -(1<<62)>>shift {
		return 0, fmt.Errorf("%q is no integer; write 500, 64KiB, 5MiB", value)
	}
	return n << shift, nil
}

// FromEnviron applies SEINE_NAME=value pairs whose name is a setting; others
// (SEINE_STORE, …) are left alone.
func (s *Settings) FromEnviron(environ []string) error {
	var faults []error
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		name, ok := strings.CutPrefix(name, "SEINE_")
		if !ok {
			continue
		}
		name = strings.ToLower(name)
		if slices.ContainsFunc(Keys(), func(k Key) bool { return k.Name == name }) {
			if err := s.Set(name, value); err != nil {
				faults = append(faults, fmt.Errorf("SEINE_%s: %w", strings.ToUpper(name), err))
			}
		}
	}
	return errors.Join(faults...)
}
