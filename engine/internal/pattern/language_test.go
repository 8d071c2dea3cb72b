package pattern

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestExcept: the shortest string of one language that is not in another.
func TestExcept(t *testing.T) {
	any := Language{Most: -1}
	of := func(patterns ...string) Language { return Language{Patterns: patterns, Most: -1} }
	for _, tc := range []struct {
		l, other Language
		text     string
		found    bool
	}{
		{of(`^(A|B)$`), of(Literals([]string{"A", "B", "C"})), "", false},
		{of(Literals([]string{"A", "B"})), of(`^(A|B)$`), "", false},
		{of(Literals([]string{"A", "B", "C"})), of(`^(A|B)$`), "C", true},
		{of(`^[a-z]+$`), of(`^([a-z])([a-z])*$`), "", false},
		{of(`^[a-z]+$`), of(`^[a-m]+$`), "n", true},
		{of(`^[a-z]{3}$`), Language{Least: 3, Most: 3}, "", false},
		{of(`^[a-z]{3}$`), Language{Most: 2}, "aaa", true},
		{of(`[a-z]{3}`), Language{Most: 3}, "", true},
		{of(`^[a-z]{3}`), Language{Least: 4, Most: -1}, "aaa", true},
		{Language{Patterns: []string{`^[a-z]*$`}, Most: 5}, of(`^[a-z]{0,5}$`), "", false},
		{Language{Patterns: []string{`^[a-z]*$`}, Most: 6}, of(`^[a-z]{0,5}$`), "aaaaaa", true},
		{of(`^a`), of(`a`), "", false},
		{of(`a`), of(`^a`), "", true},
		{of(`^a\b`), of(`^a($|[^a-z0-9A-Z_])`), "", false},
		{of(`(?i)^k$`), of(`^[kK\x{212a}]$`), "", false},
		{of(`(?m)^a$`), of(`^a$`), "", true},
		{of(`^a$`), of(`(?m)^a$`), "", false},
		{of(`^.$`), of(`^(?s).$`), "", false},
		{of(`^\S$`), of(`^\w$`), "", true},
		{any, of(``), "", false},
		{any, of(`^a`), "", true},
		{of(`^a$`, `^b$`), of(`^c$`), "", false}, // the empty set
		{of(`^\pL{2}$`), Language{Least: 2, Most: 2}, "", false},
	} {
		text, found, decided := tc.l.Except(tc.other, new(1<<18))
		if !decided || found != tc.found || tc.text != "" && text != tc.text {
			t.Errorf("%+v except %+v: %q, %t, %t", tc.l, tc.other, text, found, decided)
		}
		if found && (!contains(tc.l, text) || contains(tc.other, text)) {
			t.Errorf("%+v except %+v: %q", tc.l, tc.other, text)
		}
	}
	for _, source := range []string{`(`, `^(a|b)*a(a|b){20}$`} {
		if _, _, decided := of(`^[ab]*$`).Except(of(source), new(1<<18)); source == `(` && decided {
			t.Errorf("%s is decided", source)
		}
	}
}

func contains(l Language, text string) bool {
	for _, p := range l.Patterns {
		if !regexp.MustCompile(p).MatchString(text) {
			return false
		}
	}
	n := int64(utf8.RuneCountInString(text))
	return n >= l.Least && (l.Most < 0 || n <= l.Most)
}

// TestExceptAgrees compares the result with random strings.
func TestExceptAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "b", "[ab]", ".", "a*", "(ab)?", "b+", `\b`, "^", "$", "a{2}", "(a|bb)", "\\n", "(?i:A)", "[^a]"}
	source := func() string {
		s := ""
		for range 1 + r.IntN(4) {
			s += parts[r.IntN(len(parts))]
		}
		return s
	}
	found, none := 0, 0
	for range 3000 {
		l := Language{Patterns: []string{source()}, Most: -1}
		other := Language{Patterns: []string{source()}, Most: -1}
		if r.IntN(3) == 0 {
			l.Most = int64(r.IntN(4))
		}
		if r.IntN(3) == 0 {
			other.Least = int64(r.IntN(3))
		}
		text, is, decided := l.Except(other, new(1<<18))
		if !decided {
			t.Fatalf("%+v except %+v is not decided", l, other)
		}
		if is {
			if found++; !contains(l, text) || contains(other, text) {
				t.Fatalf("%+v except %+v: %q", l, other, text)
			}
			continue
		}
		none++
		for range 40 {
			var b strings.Builder
			for range r.IntN(6) {
				b.WriteByte("aabbAB \n"[r.IntN(8)])
			}
			if s := b.String(); contains(l, s) && !contains(other, s) {
				t.Fatalf("%+v except %+v: none, but %q", l, other, s)
			}
		}
	}
	if found < 500 || none < 200 {
		t.Errorf("%d found, %d not: the generator is off", found, none)
	}
}

// TestAny: Any matches what one of its patterns matches, and ignores invalid ones.
func TestAny(t *testing.T) {
	p := regexp.MustCompile(Any([]string{`^a|b$`, `(?i)x`, `)|(`}))
	for text, want := range map[string]bool{"ac": true, "cb": true, "cXc": true, "cac": false, "": false} {
		if p.MatchString(text) != want {
			t.Errorf("%s matches %q: %t", p, text, !want)
		}
	}
}
