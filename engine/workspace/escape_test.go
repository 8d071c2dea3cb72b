package workspace

import "testing"

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"a b é 世界 \U0001F600 '\"\\": "a b é 世界 \U0001F600 '\"\\", "a\nb\tc\r": `a\nb\tc\r`, "\x1b[31m": `\x1b[31m`, "\u009b1m": `\u009b1m`,
		"\u202eabc\u2066\u061c\u200f": `\u202eabc\u2066\u061c\u200f`, "a\u2028b\u2029": `a\u2028b\u2029`, "a\xffb": `a\xffb`, "\ufffd": "\ufffd",
		"\x7f\x00": `\x7f\x00`,
	} {
		if got := OneLine(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := Printable("a\n\tb\x1b"); got != "a\n\tb\\x1b" {
		t.Errorf("%q", got)
	}
}
