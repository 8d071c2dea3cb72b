package admission

import (
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/violation"
)

func TestSent(t *testing.T) {
	long := func(start string, runes int) string { return start + strings.Repeat("é", runes-len(start)) }
	many := func(n, runes int) (list []string) {
		for i := range n {
			list = append(list, long(string(rune('a'+i)), runes))
		}
		return list
	}
	note := Notice + strings.Repeat("n", 5000)
	tests := []struct {
		name        string
		texts, want []string
	}{
		{name: "none"},
		{name: "short ones stay", texts: []string{"a", "b"}, want: []string{"a", "b"}},
		{name: "control characters and invalid UTF-8 are no headers", texts: []string{"a\x00", "b\u0085", "c\xff", "", "d\u2028", "e"}, want: []string{"d\u2028", "e"}},
		{name: "crdeval's own notes are no headers", texts: []string{note, "a\n", "b"}, want: []string{"b", note}},
		{name: "as much as goes", texts: many(2, 2048), want: many(2, 2048)},
		{name: "too much is cut, all of it", texts: append(many(2, 2048), "z"), want: append(many(2, 256), "z")},
		{name: "a single one", texts: many(1, 4097), want: many(1, 256)},
		{name: "what comes later is cut, too", texts: append(many(3, 2000), long("z", 300)), want: append(many(3, 256), long("z", 256))},
		{name: "and in the end left out", texts: append(many(20, 250), "y", "z"), want: many(17, 250)},
		{name: "sixteen whole ones, and the one that is too much", texts: append(many(16, 256), "y", "z"), want: append(many(16, 256), "y")},
		{name: "cutting can make a header of what was none", texts: append([]string{long("q", 300) + "\n"}, many(3, 2000)...), want: append([]string{long("q", 256)}, many(3, 256)...)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var given []violation.Warning
			for _, text := range tt.texts {
				w := violation.Warning{Type: violation.TypeWarning, Text: text}
				if strings.HasPrefix(text, Notice) {
					w.Type = violation.TypeNotice
				}
				given = append(given, w)
			}
			var got []string
			for _, w := range Sent(given) {
				got = append(got, w.Text)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("Sent:\n got %q\nwant %q", got, tt.want)
			}
			for i, text := range tt.texts {
				if given[i].Text != text {
					t.Errorf("warning %d was changed to %q", i, given[i].Text)
				}
			}
		})
	}
}
