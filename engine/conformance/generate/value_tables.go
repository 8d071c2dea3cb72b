package generate

import (
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/tree"
)

// Numbers are literals that are difficult: the bounds of int32, int64 and of float64's exact integers, zeros,
// exponents, integers written as fractions, overflows.
var Numbers = []string{
	"0", "-0", "0.0", "-0.0", "1", "-1", "2", "3", "5", "7", "10", "100", "1.0", "1.5", "-1.5", "0.5", "2.5", "1e0", "1e3", "1E3", "1e+3", "10e-1", "1e-7", "1e21", "1e20", "123456789.5",
	"0.1", "0.2", "0.3", "0.30000000000000004", "5e-324", "1.7976931348623157e308", "1e308", "3.4028234663852886e38", "3.5e38", "-3.5e38", "1e-46",
	"9007199254740991", "9007199254740992", "9007199254740993", "-9007199254740993", "9007199254740993.0",
	"2147483647", "2147483648", "-2147483648", "-2147483649", "2147483647.0", "2147483648.0",
	"4294967295", "4294967296", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "9223372036854775807.0", "9.223372036854775807e18",
	"18446744073709551615", "18446744073709551616", "100000000000000000000000", "12345678901234567", "1234567890.1234567",
}

// rareNumbers are literals that stop decoding, or nearly.
var rareNumbers = []string{"1e400", "-1e400", "1e-400", "1e99999", "01", "1.", ".5", "+1", "0x10", "NaN", "Infinity", "-", "1e", "--1", "1_000"}

// Strings are difficult string literals, with quotes.
var Strings = []string{
	`""`, `"a"`, `"ab"`, `"abc"`, `"abcd"`, `"A"`, `" "`, `"a b"`, `"\u0000"`, `"a\u0000b"`, `"\u2028\u2029"`, `"\ud800"`, `"\udc00\ud800"`, `"a\ud83dz"`, `"\ud83d\ude00"`, "\"\U0001F600\"", `"<>&"`, `"\u003c\u003e\u0026"`,
	"\"\xff\"", "\"a\xc3(b\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\ufeffbom\"", "\"e\u0301\"", "\"\u00e9\"", `"\u00e9"`, "\"\u05d0\u05d1 rtl\"", "\"\u202e\"", `"\/"`, `"/"`, `"\\"`, `"\""`, `"\t\n\r\b\f"`, `"a\nb"`,
	`"äöü"`, `"ÄÖÜÄ"`, `"日本語"`, `"true"`, `"null"`, `"1"`, `"1.0"`, `"1e3"`, `"-"`, `"~"`, `"on"`, `"%s"`, `"%!d(x)"`, `"a.b"`, `"a/b"`, `"[0]"`, `"x-y"`, `"__dot__"`,
	`"` + strings.Repeat("a", 64) + `"`, `"` + strings.Repeat("é", 63) + `"`, `"` + strings.Repeat("x", 254) + `"`, `"10.0.0.1"`, `"2020-01-01T00:00:00Z"`, `"1h"`,
}

// rareStrings are literals that stop decoding.
var rareStrings = []string{`"\x41"`, `"\u12"`, `"unfinished`, "\"tab\there\"", "\"nl\nhere\"", `'a'`, `"\u00zz"`}

// Keys are difficult member names, decoded.
var Keys = []string{
	"a", "b", "c", "x", "", "a.b", "a/b", "a b", "[0]", "0", "-1", "a[0]", "$ref", "type", "items", "properties", "default", "apiVersion", "kind", "metadata", "spec", "status", "name",
	"__dot__", "a-b", "A", "namespace", "null", "true", "ключ", "é", "e\u0301", "\u2028", "<>&", `"`, `\`, "~1", "~0", "%s", "\x00", "\U0001F600",
}

// Patterns contains regular expressions with matching strings and others.
var Patterns = []struct {
	Re        string
	Good, Bad []string
}{
	{`^[a-z]+$`, []string{"a", "abc"}, []string{"", "A", "a1"}},
	{`b+`, []string{"abc", "b"}, []string{"ac", ""}},
	{`^(\d+|\*)(/\d+)?(\s+(\d+|\*)(/\d+)?){4}$`, []string{"* * * * *", "*/5 0 1 2 3"}, []string{"* * * *", ""}},
	{`^.{2,3}$`, []string{"äö", "abc"}, []string{"ä", "abcd", "a\nb"}},
	{`(?i)^abc`, []string{"ABC", "abcd"}, []string{"ab", ""}},
	{`^$`, []string{""}, []string{"a"}},
	{`\p{Greek}`, []string{"α"}, []string{"a"}},
	{`^a|b$`, []string{"ax", "xb"}, []string{"x"}},
	{`[^\x00-\x7F]`, []string{"é"}, []string{"e"}},
	{`^[\w.-]+@x\.y$`, []string{"a.b@x.y"}, []string{"@x.y"}},
}

// badPatterns are expressions that RE2 rejects.
var badPatterns = []string{`(?=a)`, `[`, `(`, `*`, `a{1001}`, `\Z`, `(?P<n`, `[z-a]`, `\8`}

// Any returns a random JSON value.
func Any(r Rand, depth int) *tree.Node {
	kinds := 7
	if depth <= 0 {
		kinds = 5
	}
	switch r.IntN(kinds) {
	case 0:
		return tree.Null()
	case 1:
		return tree.Bool(r.Chance(50))
	case 2:
		return tree.Raw(Pick(r, Numbers))
	case 3:
		return tree.Raw(Pick(r, Strings))
	case 4:
		return tree.Str(string(rune('a' + r.IntN(4))))
	case 5:
		n := tree.Arr()
		for range r.IntN(4) {
			n.Items = append(n.Items, Any(r, depth-1))
		}
		return n
	}
	n := tree.Obj()
	for range r.IntN(4) {
		n.Members = append(n.Members, tree.Member{Key: Pick(r, Keys), Value: Any(r, depth-1)})
	}
	return n
}
