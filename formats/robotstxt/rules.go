package robotstxt

import (
	"strconv"
	"strings"
)

// Outcome is what an authority's robots.txt comes down to.
type Outcome uint8

const (
	// Unknown: not asked yet. Nothing may be fetched.
	Unknown Outcome = iota
	// Parsed: a file was read; its rules decide.
	Parsed
	// AllowAll: there is no such file (4xx, or too many redirects).
	AllowAll
	// Unreachable: it could not be had (429, 5xx, time-out, connection, DNS). Nothing may be
	// fetched.
	Unreachable
)

// String returns the outcome as tables and people read it.
func (o Outcome) String() string {
	switch o {
	case Parsed:
		return "parsed"
	case AllowAll:
		return "allow_all"
	case Unreachable:
		return "unreachable"
	}
	return "unknown"
}

// OutcomeOf is the outcome that a table's text names; Unknown if it names none.
func OutcomeOf(text string) Outcome {
	for _, o := range [...]Outcome{Parsed, AllowAll, Unreachable} {
		if o.String() == text {
			return o
		}
	}
	return Unknown
}

// Rules are ready to decide for one agent.
type Rules struct {
	Outcome Outcome
	Group   Group // means something only when Parsed
}

// RulesOf makes the rules of an outcome for a product token; the text is read only when Parsed.
func RulesOf(o Outcome, text []byte, token string) Rules {
	if o != Parsed {
		return Rules{Outcome: o}
	}
	return Rules{o, Parse(text).Agent(token)}
}

// Decide answers as Group.Decide, and refuses everything while the outcome is Unknown or
// Unreachable. /robots.txt may always be asked for.
func (r Rules) Decide(pathAndQuery string) Decision {
	switch r.Outcome {
	case Parsed:
		return r.Group.Decide(pathAndQuery)
	case AllowAll:
		return Decision{Allowed: true}
	}
	return Decision{Allowed: pathAndQuery == "/robots.txt"}
}

// maxCite bounds what is quoted of a rule's line, in bytes.
const maxCite = 500

// Cite names the line that decided, as the column rule of fetches has it: the file of an authority
// ("https://a.test"), the line's number, the line. Empty when no line decided.
func (d Decision) Cite(authority string) string {
	if d.Rule == "" {
		return ""
	}
	s := authority + "/robots.txt:" + strconv.Itoa(d.Line) + ": " + d.Rule
	return strings.ToValidUTF8(s[:min(len(s), maxCite)], "?")
}
