package sheet

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"strconv"
	"strings"
	"time"

	"seine/formats/settings"
)

const day = 24 * time.Hour

// setField reads a field from its text.
func (v *Values) setField(f Field, text string) (err error) {
	span := func(to *time.Duration, least, most time.Duration) {
		var d settings.Duration
		if err = d.UnmarshalText([]byte(text)); err == nil && (d.D() < least || d.D() > most) {
			err = fmt.Errorf("%v is outside %v to %v", d.D(), least, most)
		}
		*to = d.D()
	}
	whole := func(least, most int64) (n int64) {
		if n, err = settings.ParseSize(text); err == nil && (n < least || n > most) {
			err = fmt.Errorf("%d is outside %d to %d", n, least, most)
		}
		return n
	}
	switch f {
	case Delay:
		span(&v.Delay, 0, day)
	case CrawlDelayCap:
		span(&v.CrawlDelayCap, 0, day)
	case PagesRound:
		v.PagesRound = whole(1, 1e15)
	case PagesDay:
		v.PagesDay = whole(1, 1e15)
	case Outstanding:
		v.Outstanding = whole(1, 1e15)
	case Depth:
		v.Depth = int(whole(0, 1_000_000))
	case IntervalFirst:
		span(&v.IntervalFirst, time.Minute, 3650*day)
	case IntervalMin:
		span(&v.IntervalMin, time.Minute, 3650*day)
	case IntervalMax:
		span(&v.IntervalMax, time.Minute, 3650*day)
	case Boost:
		v.Boost, err = boost(text)
	case Types:
		v.Types, err = types(text)
	case Follow:
		v.Follow, err = yesNo(text)
	case Embeds:
		v.Embeds, err = yesNo(text)
	case MaxBody:
		v.MaxBody = whole(1<<10, 1<<30)
	case Agent:
		v.Agent, err = text, settings.CheckAgent(text)
	case Headers:
		v.Headers, err = headers(text)
	}
	v.set |= 1 << f
	return err
}

// check finds what contradicts itself.
func (v *Values) check() error {
	switch {
	case v.set == 0:
		return errors.New("it sets nothing")
	case v.Has(IntervalMin) && v.Has(IntervalMax) && v.IntervalMin > v.IntervalMax:
		return fmt.Errorf("interval_min %v is above interval_max %v", v.IntervalMin, v.IntervalMax)
	case v.Has(Delay) && v.Has(CrawlDelayCap) && v.CrawlDelayCap < v.Delay:
		return fmt.Errorf("crawl_delay_cap %v is below delay %v", v.CrawlDelayCap, v.Delay)
	case v.Has(PagesRound) && v.Has(PagesDay) && v.PagesRound > v.PagesDay:
		return fmt.Errorf("pages_round %d is above pages_day %d", v.PagesRound, v.PagesDay)
	case v.Has(Follow) && !v.Follow && v.Has(Embeds) && v.Embeds:
		return errors.New("embeds are followed and follow is off")
	}
	return nil
}

func boost(text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no number", text)
	}
	if !(n >= -1 && n <= 1) {
		return 0, fmt.Errorf("%v is outside -1 to 1", n)
	}
	return n, nil
}

func yesNo(text string) (bool, error) {
	b, err := strconv.ParseBool(strings.ToLower(text))
	if err != nil {
		return false, fmt.Errorf("%q is neither true nor false", text)
	}
	return b, nil
}

// list reads a JSON array of strings, or parts with a separator between them.
func list(text, separator string) (parts []string, err error) {
	if strings.HasPrefix(text, "[") {
		if err := json.Unmarshal([]byte(text), &parts); err != nil {
			return nil, fmt.Errorf("%q is no array of strings", text)
		}
		return parts, nil
	}
	for part := range strings.SplitSeq(text, separator) {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts, nil
}

func types(text string) ([]string, error) {
	all, err := list(text, ",")
	if err != nil {
		return nil, err
	}
	for i, t := range all {
		kind, parameters, err := mime.ParseMediaType(t)
		if err != nil || len(parameters) > 0 || strings.Count(kind, "/") != 1 {
			return nil, fmt.Errorf("%q is no MIME type such as text/html", t)
		}
		all[i] = kind
	}
	if len(all) == 0 {
		return nil, errors.New("it names no type")
	}
	return all, nil
}

// headersMost bounds the headers of a sheet.
const headersMost = 16

// headers reads "Name: value" lines, or an array of such.
func headers(text string) ([][2]string, error) {
	lines, err := list(text, "\n")
	if err != nil {
		return nil, err
	}
	var all [][2]string
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || strings.Trim(strings.ToLower(name), tokenBytes) != "" {
			return nil, fmt.Errorf("%q is no header: write Name: value", line)
		}
		if err := refused(name); err != nil {
			return nil, err
		}
		if value == "" || len(value) > 1024 || strings.ContainsFunc(value, func(r rune) bool {
			return r < ' ' || r > '~'
		}) {
			return nil, fmt.Errorf("header %s: its value must be 1 to 1,024 printable ASCII characters",
				name)
		}
		all = append(all, [2]string{name, value})
	}
	if len(all) == 0 || len(all) > headersMost {
		return nil, fmt.Errorf("%d headers; say 1 to %d", len(all), headersMost)
	}
	return all, nil
}

// tokenBytes are those of a header's name, in lower case (RFC 9110, 5.6.2).
const tokenBytes = "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~"

// refused says why a header cannot be set: it carries credentials, which a crawl of
// public pages has none of, or the crawl itself needs it.
func refused(name string) error {
	switch lower := strings.ToLower(name); lower {
	case "cookie", "cookie2", "set-cookie", "authorization", "proxy-authorization", "www-authenticate":
		return fmt.Errorf("header %s carries credentials: only public pages are crawled", name)
	case "host", "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding",
		"upgrade", "content-length", "content-type", "content-encoding", "expect", "accept-encoding",
		"accept", "referer", "range", "forwarded":
		return fmt.Errorf("header %s is the crawl's own to set", name)
	case "user-agent":
		return errors.New("header User-Agent: set agent instead, which robots.txt is read by as well")
	default:
		if strings.HasPrefix(lower, "if-") || strings.HasPrefix(lower, "x-forwarded-") ||
			strings.HasPrefix(lower, "proxy-") || strings.HasPrefix(lower, "sec-") {
			return fmt.Errorf("header %s is the crawl's own to set", name)
		}
	}
	return nil
}

// text is the form of a field that setField reads; no tab or line's end is in it.
func (v *Values) text(f Field) string {
	array := func(all []string) string {
		b, _ := json.Marshal(all) // strings always encode
		return string(b)
	}
	switch f {
	case Delay:
		return v.Delay.String()
	case CrawlDelayCap:
		return v.CrawlDelayCap.String()
	case PagesRound:
		return strconv.FormatInt(v.PagesRound, 10)
	case PagesDay:
		return strconv.FormatInt(v.PagesDay, 10)
	case Outstanding:
		return strconv.FormatInt(v.Outstanding, 10)
	case Depth:
		return strconv.Itoa(v.Depth)
	case IntervalFirst:
		return v.IntervalFirst.String()
	case IntervalMin:
		return v.IntervalMin.String()
	case IntervalMax:
		return v.IntervalMax.String()
	case Boost:
		return strconv.FormatFloat(v.Boost, 'g', -1, 64)
	case Types:
		return strings.Join(v.Types, ",")
	case Follow:
		return strconv.FormatBool(v.Follow)
	case Embeds:
		return strconv.FormatBool(v.Embeds)
	case MaxBody:
		return strconv.FormatInt(v.MaxBody, 10)
	case Agent:
		return v.Agent
	case Headers:
		var lines []string
		for _, h := range v.Headers {
			lines = append(lines, h[0]+": "+h[1])
		}
		return array(lines)
	}
	return ""
}

// encode is all that is set, a field after the other, by tabs.
func (v *Values) encode() string {
	var parts []string
	for f := range fields {
		if v.Has(f) {
			parts = append(parts, f.String()+"="+v.text(f))
		}
	}
	return strings.Join(parts, "\t")
}

// Describe is what is set, for people: "delay=2s boost=0.2".
func (v *Values) Describe() string { return strings.ReplaceAll(v.encode(), "\t", " ") }
