package webhook

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWarnings(t *testing.T) {
	long := strings.Repeat("ü", 5000)
	for _, c := range []struct {
		name     string
		in, want []string
	}{
		{"none", nil, nil},
		{"empty", []string{""}, nil},
		{"each once", []string{"a", "b", "a"}, []string{"a", "b"}},
		{"control characters", []string{"a\nb\x7f\u0085"}, []string{"a b  "}},
		{"not UTF-8", []string{"a\xff"}, []string{"a\ufffd"}},
		{"as many as fit", []string{strings.Repeat("x", 4096)}, []string{strings.Repeat("x", 4096)}},
		{"one too long", []string{long}, []string{long[:512]}},
	} {
		if got := bounded(c.in); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("%d: %s", i, long[:100]))
	}
	got := bounded(many)
	length := 0
	for _, w := range got {
		length += utf8.RuneCountInString(w)
	}
	if length > maxWarnings {
		t.Errorf("%d code points", length)
	}
	if last, want := got[len(got)-1], fmt.Sprintf("%d more warnings were left out", 1000-len(got)+1); last != want {
		t.Errorf("%q, want %q", last, want)
	}
}
