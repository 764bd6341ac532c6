package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A where expression, for rows of any table:
//
//	or     = and { OR and }
//	and    = not { AND not }
//	not    = NOT not | test
//	test   = "(" or ")" | column ( op literal | [NOT] LIKE text | IS [NOT] NULL
//	                              | [NOT] IN "(" literal {"," literal} ")" )
//	         | column                        -- of a boolean column
//	op     = "=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">="
//	literal= number | 'text' | true | false
//
// Null is neither true nor false, as in SQL. Times are compared with texts such as
// '2026-03-01' or '2026-03-01T12:00:00Z'.

// class is what values of a column can be compared with.
type class int

const (
	classOther class = iota // lists, maps: only IS NULL
	classText
	classNumber
	classBool
	classTime
)

var classNames = [...]string{"a list or map", "text", "a number", "true or false", "a time"}

// cell is a value of a row, nil where it is null: string, int64, uint64, float64,
// bool or time.Time.
type cell any

// where is a compiled expression.
type where struct {
	columns []string // that it reads
	test    func(get func(column int) cell) truth
}

// truth is of a logic of three values.
type truth int

const (
	isFalse truth = iota
	isNull
	isTrue
)

func truthOf(b bool) truth {
	if b {
		return isTrue
	}
	return isFalse
}

// whereError points at the place in the expression.
type whereError struct {
	text string
	at   int // byte
	what string
}

func (e *whereError) Error() string {
	before := strings.ReplaceAll(e.text[:e.at], "\n", " ")
	return fmt.Sprintf("--where: %s\n  %s\n  %s^", e.what, strings.ReplaceAll(e.text, "\n", " "),
		strings.Repeat(" ", utf8.RuneCountInString(before)))
}

// parseWhere compiles an expression over columns whose classes classOf gives; false:
// there is no such column.
func parseWhere(text string, classOf func(name string) (class, bool)) (w *where, err error) {
	p := &whereParser{text: text, classOf: classOf, w: &where{}}
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*whereError)
			if !ok {
				panic(r)
			}
			w, err = nil, e
		}
	}()
	p.next()
	p.w.test = p.or()
	if p.kind != tokenEnd {
		p.fail(p.at, "expected AND, OR or the end, not %q", p.token)
	}
	return p.w, nil
}

type tokenKind int

const (
	tokenEnd tokenKind = iota
	tokenName
	tokenQuoted // "name"
	tokenText
	tokenNumber
	tokenOp
)

type whereParser struct {
	text    string
	classOf func(string) (class, bool)
	w       *where
	pos     int // after the token
	at      int // of the token
	kind    tokenKind
	token   string
	depth   int
}

type test = func(get func(int) cell) truth

func (p *whereParser) fail(at int, format string, args ...any) {
	panic(&whereError{p.text, min(at, len(p.text)), fmt.Sprintf(format, args...)})
}

// next reads a token.
func (p *whereParser) next() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
	p.at = p.pos
	if p.pos == len(p.text) {
		p.kind, p.token = tokenEnd, "the end"
		return
	}
	c := p.text[p.pos]
	switch {
	case c == '\'' || c == '"':
		p.quoted(c)
		return
	case c >= '0' && c <= '9' || c == '.' || c == '-' || c == '+':
		p.kind = tokenNumber
		p.take(func(c byte) bool {
			return c >= '0' && c <= '9' || strings.IndexByte(".-+eExXabcdefABCDF_", c) >= 0
		})
	case c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z':
		p.kind = tokenName
		p.take(func(c byte) bool {
			return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		})
	default:
		p.kind = tokenOp
		for _, op := range []string{"==", "!=", "<>", "<=", ">=", "=", "<", ">", "(", ")", ","} {
			if strings.HasPrefix(p.text[p.pos:], op) {
				p.token = op
				p.pos += len(op)
				return
			}
		}
		r, _ := utf8.DecodeRuneInString(p.text[p.pos:])
		p.fail(p.pos, "unexpected %q", r)
	}
}

func (p *whereParser) take(in func(byte) bool) {
	for p.pos < len(p.text) && in(p.text[p.pos]) {
		p.pos++
	}
	p.token = p.text[p.at:p.pos]
}

// quoted reads a text or a name; the quote within is written twice.
func (p *whereParser) quoted(quote byte) {
	p.kind = tokenText
	if quote == '"' {
		p.kind = tokenQuoted
	}
	var b strings.Builder
	for i := p.pos + 1; i < len(p.text); i++ {
		if p.text[i] != quote {
			b.WriteByte(p.text[i])
			continue
		}
		if i+1 < len(p.text) && p.text[i+1] == quote {
			b.WriteByte(quote)
			i++
			continue
		}
		p.token, p.pos = b.String(), i+1
		return
	}
	p.fail(p.at, "the quote is not closed")
}

func (p *whereParser) word(w string) bool {
	if p.kind == tokenName && strings.EqualFold(p.token, w) {
		p.next()
		return true
	}
	return false
}

func (p *whereParser) op(op string) bool {
	if p.kind == tokenOp && p.token == op {
		p.next()
		return true
	}
	return false
}

func (p *whereParser) or() test {
	left := p.and()
	for p.word("or") {
		l, r := left, p.and()
		left = func(get func(int) cell) truth { return max(l(get), r(get)) }
	}
	return left
}

func (p *whereParser) and() test {
	left := p.not()
	for p.word("and") {
		l, r := left, p.not()
		left = func(get func(int) cell) truth { return min(l(get), r(get)) }
	}
	return left
}

// maxDepth bounds how deep an expression nests.
const maxDepth = 200

func (p *whereParser) not() test {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.at, "it nests deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	if p.word("not") {
		inner := p.not()
		return func(get func(int) cell) truth { return isTrue - inner(get) }
	}
	if p.op("(") {
		inner := p.or()
		if !p.op(")") {
			p.fail(p.at, "expected ), not %q", p.token)
		}
		return inner
	}
	return p.comparison()
}

func (p *whereParser) comparison() test {
	at := p.at
	if p.kind != tokenName && p.kind != tokenQuoted {
		p.fail(at, "expected a column, not %q", p.token)
	}
	name := p.token
	c, ok := p.classOf(name)
	if !ok {
		p.fail(at, "there is no column %q; --schema lists them", name)
	}
	p.next()
	column := p.column(name)
	if p.word("is") {
		negate := p.word("not")
		if !p.word("null") {
			p.fail(p.at, "expected NULL, not %q", p.token)
		}
		return func(get func(int) cell) truth { return truthOf((get(column) == nil) != negate) }
	}
	opAt := p.at
	negate := p.word("not")
	switch {
	case p.word("like"):
		return p.like(column, c, opAt, negate)
	case p.word("in"):
		return p.in(column, c, negate)
	case negate:
		p.fail(p.at, "expected LIKE or IN, not %q", p.token)
	case p.kind == tokenOp && strings.Contains("= == != <> < <= > >=", p.token):
		if c == classOther {
			p.fail(opAt, "%s is %s: only IS NULL can be asked of it", name, classNames[c])
		}
		op := p.token
		p.next()
		return compareTest(column, op, p.literal(c))
	case c != classBool:
		p.fail(opAt, "expected a comparison of %s, not %q", name, p.token)
	}
	return func(get func(int) cell) truth {
		b, ok := get(column).(bool)
		if !ok {
			return isNull
		}
		return truthOf(b)
	}
}

func (p *whereParser) column(name string) int {
	for i, c := range p.w.columns {
		if c == name {
			return i
		}
	}
	p.w.columns = append(p.w.columns, name)
	return len(p.w.columns) - 1
}

func (p *whereParser) like(column int, c class, at int, negate bool) test {
	if c != classText {
		p.fail(at, "LIKE is for text; the column is %s", classNames[c])
	}
	pattern, ok := p.literal(c).(string)
	if !ok {
		p.fail(at, "LIKE wants a text")
	}
	return func(get func(int) cell) truth {
		s, ok := get(column).(string)
		if !ok {
			return isNull
		}
		return truthOf(likes(s, pattern) != negate)
	}
}

func (p *whereParser) in(column int, c class, negate bool) test {
	if !p.op("(") {
		p.fail(p.at, "expected ( after IN, not %q", p.token)
	}
	var tests []test
	for {
		tests = append(tests, compareTest(column, "=", p.literal(c)))
		if p.op(")") {
			break
		}
		if !p.op(",") {
			p.fail(p.at, "expected , or ), not %q", p.token)
		}
	}
	return func(get func(int) cell) truth {
		t := isFalse
		for _, one := range tests {
			t = max(t, one(get))
		}
		if negate {
			return isTrue - t
		}
		return t
	}
}

// literal reads a literal that a column of the class can be compared with.
func (p *whereParser) literal(c class) cell {
	at, token, kind := p.at, p.token, p.kind
	p.next()
	switch {
	case c == classText && kind == tokenText:
		return token
	case c == classNumber && kind == tokenNumber:
		if v, ok := parseNumber(token); ok {
			return v
		}
		p.fail(at, "%q is no number", token)
	case c == classBool && kind == tokenName && strings.EqualFold(token, "true"):
		return true
	case c == classBool && kind == tokenName && strings.EqualFold(token, "false"):
		return false
	case c == classTime && kind == tokenText:
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00",
			"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
			if t, err := time.Parse(layout, token); err == nil {
				return t
			}
		}
		p.fail(at, "%q is no time; write 2006-01-02 or 2006-01-02T15:04:05Z", token)
	}
	hint := ""
	if kind == tokenName || kind == tokenQuoted {
		hint = "; texts are written '…'"
	}
	p.fail(at, "the column is %s; %q is not%s", classNames[c], token, hint)
	return nil
}

func parseNumber(s string) (cell, bool) {
	if v, err := strconv.ParseInt(s, 0, 64); err == nil {
		return v, true
	}
	if v, err := strconv.ParseUint(s, 0, 64); err == nil {
		return v, true
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && v == v
}
