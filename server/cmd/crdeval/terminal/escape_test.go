package terminal

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
)

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"a b é 世界 \U0001F600 '\"\\": "a b é 世界 \U0001F600 '\"\\", "a\nb\tc\r": `a\nb\tc\r`, "\x1b[31m": `\x1b[31m`, "\u009b1m": `\u009b1m`,
		"\u202eabc\u2066\u061c\u200f": `\u202eabc\u2066\u061c\u200f`, "a\u2028b\u2029": `a\u2028b\u2029`, "a\xffb": `a\xffb`, "\ufffd": "\ufffd",
		"\x7f\x00": `\x7f\x00`, "a ##[b] ##vso[c ### [": `a #\x23[b] #\x23vso[c ### [`, "###[a": `##\x23[a`, "::a ::1": "::a ::1",
	} {
		if got := OneLine(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := Printable("a\n\tb\x1b"); got != "a\n\tb\\x1b" {
		t.Errorf("%q", got)
	}
	if got := PrintableLines("::a\n \t::b\n\u00a0::c\nd ::1\n"); got != "\\x3a:a\n \t\\x3a:b\n\u00a0\\x3a:c\nd ::1\n" {
		t.Errorf("%q", got)
	}
}

func TestPrintableJSON(t *testing.T) {
	text := "{\n\t\"a\": \"\u202eb\u009bc\x7f##[d]\", \"é\": 1}\r\n"
	got := PrintableJSON(text)
	if want := "{\n\t\"a\": \"\\u202eb\\u009bc\\u007f#\\u0023[d]\", \"é\": 1}\r\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var before, after any
	if err := errors.Join(json.Unmarshal([]byte(text), &before), json.Unmarshal([]byte(got), &after)); err != nil ||
		!reflect.DeepEqual(before, after) {
		t.Errorf("%v: %v, not %v", err, after, before)
	}
}
