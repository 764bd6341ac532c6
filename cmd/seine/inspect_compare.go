package main

import (
	"cmp"
	"math/big"
	"strings"
	"time"
	"unicode/utf8"
)

// compareTest compares a column with a literal of its class.
func compareTest(column int, op string, literal cell) test {
	want := map[string][3]bool{ // of less, equal, greater
		"=": {false, true, false}, "==": {false, true, false}, "!=": {true, false, true}, "<>": {true, false, true},
		"<": {true, false, false}, "<=": {true, true, false}, ">": {false, false, true}, ">=": {false, true, true},
	}[op]
	return func(get func(int) cell) truth {
		order, ok := compareCells(get(column), literal)
		if !ok {
			return isNull
		}
		return truthOf(want[order+1])
	}
}

// compareCells orders two values of one class; false where one is null, or not a
// number.
func compareCells(a, b cell) (int, bool) {
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		return strings.Compare(x, y), ok
	case bool:
		y, ok := b.(bool)
		return order(x) - order(y), ok
	case time.Time:
		y, ok := b.(time.Time)
		return x.Compare(y), ok
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y), true
		}
	case uint64:
		if y, ok := b.(uint64); ok {
			return cmp.Compare(x, y), true
		}
	case float64:
		if y, ok := b.(float64); ok {
			return cmp.Compare(x, y), x == x && y == y
		}
	}
	x, y := exact(a), exact(b)
	if x == nil || y == nil {
		return 0, false
	}
	return x.Cmp(y), true
}

func order(b bool) int {
	if b {
		return 1
	}
	return 0
}

// exact is a number without rounding, nil where it is none.
func exact(v cell) *big.Float {
	f := new(big.Float).SetPrec(128)
	switch v := v.(type) {
	case int64:
		return f.SetInt64(v)
	case uint64:
		return f.SetUint64(v)
	case float64:
		if v == v {
			return f.SetFloat64(v)
		}
	}
	return nil
}

// likes matches as SQL does: % is any text, _ one character, the rest itself.
func likes(s, pattern string) bool {
	// back is where to go on when a match fails: after the last %, one further on.
	i, j, back, from := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case j < len(pattern) && pattern[j] == '%':
			back, from = j+1, i
			j++
			continue
		case j < len(pattern) && pattern[j] == '_':
			_, n := utf8.DecodeRuneInString(s[i:])
			i, j = i+n, j+1
			continue
		case j < len(pattern) && pattern[j] == s[i]:
			i, j = i+1, j+1
			continue
		case back < 0:
			return false
		}
		_, n := utf8.DecodeRuneInString(s[from:])
		from += n
		i, j = from, back
	}
	return strings.Trim(pattern[j:], "%") == ""
}
