package main

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// whereRow is a row for tests: a column's class is that of its value.
var whereRow = map[string]cell{
	"name": "a%b'c", "empty": "", "n": int64(3), "big": uint64(1<<64 - 1), "f": 0.5, "yes": true, "no": false,
	"at": time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), "nothing": nil, "nan": nan(), "Odd Name": "x",
}

func nan() float64 { z := 0.0; return z / z }

func whereClass(name string) (class, bool) {
	if name == "list" {
		return classOther, true
	}
	v, ok := whereRow[name]
	switch v.(type) {
	case string, nil:
		return classText, ok
	case bool:
		return classBool, ok
	case time.Time:
		return classTime, ok
	}
	return classNumber, ok
}

func evaluate(w *where) truth {
	return w.test(func(c int) cell {
		if w.columns[c] == "list" {
			return true
		}
		return whereRow[w.columns[c]]
	})
}

func TestWhere(t *testing.T) {
	tests := []struct {
		text string
		want truth
	}{
		{"n = 3", isTrue}, {"n == 3", isTrue}, {"n <> 3", isFalse}, {"n != 4", isTrue}, {"n < 3.5", isTrue},
		{"n <= 2", isFalse}, {"n > -1", isTrue}, {"n >= 0x3", isTrue}, {"n = 3e0", isTrue},
		{"big = 18446744073709551615", isTrue}, {"big > 9223372036854775807", isTrue}, {"big < 1e19", isFalse},
		{"f = .5", isTrue}, {"nan = 1", isNull}, {"nan IS NULL", isFalse},
		{"name = 'a%b''c'", isTrue}, {"name LIKE 'a%'", isTrue}, {"name like '%''_'", isTrue},
		{"name NOT LIKE '%z%'", isTrue}, {"name LIKE 'a_b'", isFalse}, {"empty LIKE '%'", isTrue},
		{"empty = ''", isTrue}, {`"Odd Name" = 'x'`, isTrue},
		{"yes", isTrue}, {"no", isFalse}, {"not no", isTrue}, {"yes = true AND no = FALSE", isTrue},
		{"at > '2026-03-01'", isTrue}, {"at = '2026-03-01T12:00:00Z'", isTrue}, {"at < '2026-03-01 12:00'", isFalse},
		{"nothing = 'x'", isNull}, {"not nothing = 'x'", isNull}, {"nothing IS NULL", isTrue},
		{"n is not null", isTrue}, {"list is not null", isTrue},
		{"nothing = 'x' OR n = 3", isTrue}, {"nothing = 'x' AND n = 4", isFalse}, {"nothing = 'x' AND n = 3", isNull},
		{"n IN (1, 2, 3)", isTrue}, {"n NOT IN (1, 2)", isTrue}, {"nothing IN ('x')", isNull},
		{"n = 1 or n = 3 and no", isFalse}, {"(n = 1 or n = 3) and yes", isTrue}, {"NOT (n = 1 OR n = 2)", isTrue},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			w, err := parseWhere(tt.text, whereClass)
			if err != nil {
				t.Fatal(err)
			}
			if got := evaluate(w); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// TestWhereErrors: each error says what is wrong, and points at it.
func TestWhereErrors(t *testing.T) {
	tests := []struct {
		text string
		at   int
		says string
	}{
		{"", 0, "expected a column"}, {"n", 1, "expected a comparison"}, {"n =", 3, "not"}, {"n = 'x'", 4, "a number"},
		{"nom = 3", 0, "no column"}, {"name = x", 7, "texts are written"}, {"name = 3", 7, "text"},
		{"n = 3 n = 4", 6, "expected AND"}, {"(n = 3", 6, "expected )"}, {"n = 3)", 5, "expected AND"},
		{"name = 'x", 7, "not closed"}, {"n LIKE 'x'", 2, "LIKE is for text"}, {"n IS 3", 5, "NULL"},
		{"at > 'soon'", 5, "no time"}, {"list = 3", 5, "only IS NULL"}, {"n ~ 3", 2, "unexpected"},
		{"n IN 3", 5, "expected ("}, {"n IN (3 4)", 8, "expected , or )"}, {"n NOT 3", 6, "LIKE or IN"},
		{"n = 1.2.3", 4, "no number"}, {strings.Repeat("(", 300) + "n", 200, "deeper"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			_, err := parseWhere(tt.text, whereClass)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("error %v, want one that says %q", err, tt.says)
			}
			if e := err.(*whereError); e.at != tt.at {
				t.Errorf("it points at %d, want %d:\n%v", e.at, tt.at, err)
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != 3 || !strings.HasSuffix(lines[2], "^") {
				t.Errorf("no line that points:\n%v", err)
			}
		})
	}
}

// FuzzWhere: no expression makes the parser panic, errors point into the text,
// and NOT of what parses is its opposite.
func FuzzWhere(f *testing.F) {
	for _, s := range []string{"n = 3 and not (name like 'a%' or at > '2026-01-01')", "n in (1,2", `"x" is null`, "'",
		"n = 1e999", "not not yes", "(((", "name = '\xff'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w, err := parseWhere(text, whereClass)
		if err != nil {
			if e, ok := err.(*whereError); !ok || e.at < 0 || e.at > len(text) || err.Error() == "" {
				t.Fatalf("error %v", err)
			}
			return
		}
		opposite, err := parseWhere("not ("+text+")", whereClass)
		if err != nil {
			if strings.Contains(err.Error(), "deeper") {
				return
			}
			t.Fatalf("NOT of %q: %v", text, err)
		}
		if a, b := evaluate(w), evaluate(opposite); a+b != isTrue {
			t.Fatalf("%q is %v, its opposite %v", text, a, b)
		}
	})
}

// FuzzLike: % and _ match as a slow matcher says.
func FuzzLike(f *testing.F) {
	f.Add("abcabc", "%b_a%")
	f.Add("", "%%")
	f.Add("äöü", "_ö_")
	f.Fuzz(func(t *testing.T, s, pattern string) {
		if len(s) > 12 || len(pattern) > 12 || !utf8.ValidString(s) || !utf8.ValidString(pattern) {
			return // the slow one is of characters, and knows no broken ones
		}
		if got, want := likes(s, pattern), slowLikes([]rune(s), []rune(pattern)); got != want {
			t.Errorf("%q LIKE %q: %v, want %v", s, pattern, got, want)
		}
	})
}

func slowLikes(s, p []rune) bool {
	if len(p) == 0 {
		return len(s) == 0
	}
	if p[0] == '%' {
		return slowLikes(s, p[1:]) || len(s) > 0 && slowLikes(s[1:], p)
	}
	return len(s) > 0 && (p[0] == '_' || p[0] == s[0]) && slowLikes(s[1:], p[1:])
}
