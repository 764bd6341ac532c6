package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"seine/formats/settings"
)

// settingMeans says in a few words what each setting is, for the help.
var settingMeans = map[string]string{
	"contact": "how site owners reach you, a URL or mail address; without it no public " +
		"address is asked",
	"scope": "of the seeds: domain, host, prefix or any",
	"rules": "ordered +/-KIND:VALUE, KIND one of domain, host, prefix, regexp, file; " +
		"first match wins; repeat it",
	"sheets": "a CSV, YAML or Parquet file of what is set otherwise for a domain, host or prefix: " +
		"its delay, pages a day, boost and more",
	"embeds":              "follow what pages are built of: images, scripts, styles",
	"agent":               "product token, as robots.txt names us",
	"delay":               "between two requests to one domain",
	"both_schemes":        "ask at http and https for pages that a site has at both",
	"group_by_host":       "one delay for each host, not each domain",
	"dns":                 "DNS servers, address or address:port",
	"allow_network":       "networks that may be asked though they are not public",
	"source_addresses":    "that connections come from: of each family the first that a worker has; no rotation",
	"proxy":               "http://HOST:PORT through which connections are tunnelled (CONNECT)",
	"robots_ttl":          "how long robots.txt is used",
	"connect_timeout":     "for connecting, and again for TLS",
	"first_byte_timeout":  "for the first byte of an answer",
	"exchange_timeout":    "for a whole exchange",
	"min_rate":            "bytes a second below which an answer is given up",
	"max_header":          "bytes of an answer's header",
	"max_body":            "bytes of a decoded body; what is longer is kept cut short",
	"types":               "MIME types of bodies that are stored",
	"address_connections": "connections to one address at once",
	"address_rate":        "requests a second to one address",
	"connections":         "connections at once",
	"bandwidth":           "bytes a second that a worker takes in; 0 is no cap",
	"domain_bandwidth":    "bytes a second from one domain; 0 is no cap",
	"max_url_length":      "bytes of a URL",
	"max_segments":        "segments of a path",
	"max_params":          "parameters of a query",
	"max_repeats":         "times a run of segments may repeat",
	"max_depth":           "hops from a seed",
	"max_links":           "links of a page",
	"pages_round":         "pages of one domain that a round asks for; 0 is no bound but the delay",
	"pages_day":           "pages of one domain that a day (UTC) asks for; 0 is no bound but the delay",
	"max_outstanding":     "pending URLs of one domain that may wait; more are kept as domain_full",
	"interval_first":      "until a page is looked at again",
	"interval_seed":       "the same for seeds and home pages",
	"interval_min":        "shortest adaptive interval",
	"interval_max":        "longest adaptive interval",
	"weight_importance":   "of importance in a URL's priority",
	"weight_freshness":    "of freshness",
	"weight_signal":       "of what a person said of it",
	"round_duration":      "fetching time of a round",
	"top_n":               "URLs of a round",
	"retries":             "of what failed for a while",
	"on_failed":           "what a round does without a failed part: commit or block",
	"seal_bytes":          "size at which fetched pages are sealed",
	"seal_interval":       "time after which they are",
	"scratch_bytes":       "scratch disk that fetching may fill",
	"retention":           "how long old snapshots are kept",
	"keep_snapshots":      "how many are kept at least",
	"keep_versions":       "contents of a page that are kept, the newest ones",
	"keep_fetches":        "age at which lists, fetches and dead letters of a round go; 0: never",
	"keep_links":          "age at which the links of a round go; 0: never",
	"prune_every":         "how often the crawl prunes itself, after a commit; 1s: after each",
}

// settingFlags are the flags that are settings: one for each of settings.Keys.
type settingFlags struct {
	command *cobra.Command
	config  string
	values  map[string]*settingValue
}

// settingValue is a flag that is a setting: its text, or texts, as given.
type settingValue struct {
	kind  string
	texts []string
}

// String implements pflag.Value.
func (v *settingValue) String() string { return strings.Join(v.texts, ",") }

// Type implements pflag.Value: it stands in the help.
func (v *settingValue) Type() string { return v.kind }

// Set implements pflag.Value. A list may be given in many flags.
func (v *settingValue) Set(text string) error {
	if v.kind != "list" {
		v.texts = nil
	}
	v.texts = append(v.texts, text)
	return nil
}

func flagName(setting string) string { return strings.ReplaceAll(setting, "_", "-") }

// addSettings gives a command a flag for every setting.
func addSettings(c *cobra.Command) *settingFlags {
	f := &settingFlags{command: c, values: map[string]*settingValue{}}
	flags := c.Flags()
	flags.StringVar(&f.config, "config", "", "YAML `FILE` of settings (default: ./seine.yaml if it is there)")
	defaults := defaultTexts()
	for _, k := range settings.Keys() {
		text := settingMeans[k.Name]
		if d := defaults[k.Name]; d != "" {
			text += " (default " + d + ")"
		}
		f.values[k.Name] = &settingValue{kind: k.Kind}
		flags.Var(f.values[k.Name], flagName(k.Name), text)
		if k.Kind == "yes/no" {
			flags.Lookup(flagName(k.Name)).NoOptDefVal = "true"
		}
	}
	return f
}

// defaultTexts prints the default of each setting.
func defaultTexts() map[string]string {
	texts := map[string]string{}
	b, err := settings.Settings{}.Fill().Encode()
	var values map[string]any
	if err != nil || json.Unmarshal(b, &values) != nil {
		return texts
	}
	for name, v := range values {
		switch v := v.(type) {
		case []any:
			var parts []string
			for _, x := range v {
				parts = append(parts, fmt.Sprint(x))
			}
			texts[name] = strings.Join(parts, ", ")
		case float64:
			texts[name] = strconv.FormatFloat(v, 'f', -1, 64)
		case string:
			texts[name] = v
		}
	}
	return texts
}

// over applies what is said beside the crawl to its newest stored settings: a
// flag before a variable before the file before what is stored. from says what
// brought each value that differs.
func (f *settingFlags) over(a *app, stored settings.Settings) (s settings.Settings, from map[string]string,
	err error) {
	from = map[string]string{}
	if s, err = f.fromFile(stored); err != nil {
		return s, nil, usage(err)
	}
	for _, name := range settings.Differing(stored, s) {
		from[name] = f.file()
	}
	before := s
	if err := s.FromEnviron(a.environ); err != nil {
		return s, nil, usage(err)
	}
	for _, name := range settings.Differing(before, s) {
		from[name] = "SEINE_" + strings.ToUpper(name)
	}
	for _, k := range settings.Keys() {
		name := flagName(k.Name)
		if !f.command.Flags().Changed(name) {
			continue
		}
		if err := f.set(&s, k); err != nil {
			return s, nil, usagef("--%s: %w", name, err)
		}
		from[k.Name] = "--" + name
	}
	if err := s.Fill().Validate(); err != nil {
		return s, nil, usagef("%w; `seine settings --help` lists them, with their defaults", err)
	}
	return s, from, nil
}

// file is the YAML file of settings.
func (f *settingFlags) file() string {
	if f.config != "" {
		return f.config
	}
	return "seine.yaml"
}

// set takes a flag over. A rule may hold commas, so rules are not split.
func (f *settingFlags) set(s *settings.Settings, k settings.Key) error {
	if k.Name == "rules" {
		s.SetRules(f.values[k.Name].texts)
		return nil
	}
	return s.Set(k.Name, f.values[k.Name].String())
}

func (f *settingFlags) fromFile(base settings.Settings) (settings.Settings, error) {
	path := f.file()
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && f.config == "" {
		return base, nil
	}
	if err != nil {
		return base, fmt.Errorf("settings: %w; --config names a readable YAML file", err)
	}
	s, err := settings.Parse(withoutStore(text), base)
	if err != nil {
		return base, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// withoutStore blanks the line `store:`, which is no setting of the crawl, and
// keeps the numbers of the others.
func withoutStore(text []byte) []byte {
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "store:") {
			lines[i] = ""
		}
	}
	return []byte(strings.Join(lines, "\n"))
}
