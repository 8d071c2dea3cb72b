package generate

import (
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
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

// Formats contains valid, almost valid and invalid strings for each format of Kubernetes 1.37. Upstream determines
// which are valid.
var Formats = map[string][]string{
	"bsonobjectid": {"507f1f77bcf86cd799439011", "507F1F77BCF86CD799439011", "507f1f77bcf86cd79943901", "507f1f77bcf86cd7994390111", "zzzf1f77bcf86cd799439011", ""},
	"uri": {"http://x", "https://a.b/c?d#e", "/path", "path", "urn:a:b", "mailto:a@b.c", "http://[::1]", "http://[::1", "http://a b", ":", "://", "http://%zz", "ftp://x:99999/", "//host/p", "http:", "x:y", "#frag", "?q", "",
		"http://x\x7f", "HTTP://X", "http://ex ample", "1http://x", "/a b", "*"},
	"email": {"a@b.c", "A <a@b.c>", "a@b", "@b.c", "a@", "a b@c.d", "\"a b\"@c.d", "a@[1.2.3.4]", "a@b.c, d@e.f", "é@b.c", "a@é.c", "<a@b.c>", "a@b.c ", "a@b..c", ".a@b.c", "a.@b.c", "a+b@c.d", "(c)a@b.c", ""},
	"hostname": {"a", "a.b", "a-b.c", "-a", "a-", "a_b", "A.B", "a..b", ".a", "a.", "1.2.3.4", "xn--bcher-kva.de", "bücher.de", "a.b-", "a.-b", "1a", "a1", "*.a",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.b", "a b", "", "localhost", "example.c0m", "a.123",
		"a.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.b",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
	"ipv4": {"1.2.3.4", "010.0.0.1", "256.1.1.1", "1.2.3", "1.2.3.4.5", "::ffff:1.2.3.4", "::1", "0.0.0.0", "1.2.3.4 ", "1.2.3.04", "0x1.2.3.4", "1..3.4", "-1.2.3.4", "1.2.3.4/8", "00000001.2.3.4", "1.2.3.4%eth0", "::1.2.3", ""},
	"ipv6": {"::", "::1", "1.2.3.4", "::ffff:1.2.3.4", "2001:db8::1", "2001:DB8::1", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "fe80::1%eth0", "12345::", ":::", "::1::", "[::1]", "::g", "::010.0.0.1", ""},
	"cidr": {"10.0.0.0/8", "10.0.0.1/8", "010.0.0.0/8", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0", "::/0", "::1/128", "::1/129", "10.0.0.0/-1", "10.0.0.0/a", "/8", "10.0.0.0/8/8", "::ffff:1.2.3.4/96", "10.0.0.0/ 8", "10.0.0.0/008", ""},
	"mac":  {"01:23:45:67:89:ab", "01-23-45-67-89-ab", "0123.4567.89ab", "01:23:45:67:89", "01:23:45:67:89:ab:cd:ef", "0", "gg:23:45:67:89:ab", "01:23:45:67:89:AB", "01:23-45:67:89:ab", "00:00:00:00:fe:80:00:00:00:00:00:00:02:00:5e:10:00:00:00:01", "0123.4567.89ab.cdef", "01:23:45:67:89:ab ", ""},
	"uuid": {"01234567-89ab-cdef-0123-456789abcdef", "0123456789abcdef0123456789abcdef", "01234567-89AB-CDEF-0123-456789ABCDEF", "01234567-89ab-cdef-0123-456789abcde", "0123456-789ab-cdef-0123-456789abcdef", "{01234567-89ab-cdef-0123-456789abcdef}",
		"01234567-89ab-cdef-0123456789abcdef", "g1234567-89ab-cdef-0123-456789abcdef", "00000000-0000-0000-0000-000000000000", "01234567-89ab-cdef-0123-456789abcdef\n", ""},
	"uuid3":      {"bcd02e22-68f0-3046-a512-327cca9def8f", "bcd02e2268f03046a512327cca9def8f", "bcd02e22-68f0-4046-a512-327cca9def8f", "BCD02E22-68F0-3046-A512-327CCA9DEF8F", "bcd02e22-68f0-3046-0512-327cca9def8f", ""},
	"uuid4":      {"025b0d74-00a2-4048-bf57-227c5111bb34", "025b0d7400a24048bf57227c5111bb34", "025b0d74-00a2-3048-bf57-227c5111bb34", "025b0d74-00a2-4048-cf57-227c5111bb34", "025B0D74-00A2-4048-BF57-227C5111BB34", "025b0d74-00a2-4048-8f57-227c5111bb34", ""},
	"uuid5":      {"886313e1-3b8a-5372-9b90-0c9aee199e5d", "886313e13b8a53729b900c9aee199e5d", "886313e1-3b8a-4372-9b90-0c9aee199e5d", "886313e1-3b8a-5372-cb90-0c9aee199e5d", "886313E1-3B8A-5372-AB90-0C9AEE199E5D", ""},
	"isbn":       {"0306406152", "0-306-40615-2", "9780306406157", "978-0-306-40615-7", "0306406153", "9780306406158", "030640615X", "080442957X", "080442957x", "978 0 306 40615 7", "123", "0 306 40615 2", ""},
	"isbn10":     {"0306406152", "0-306-40615-2", "9780306406157", "080442957X", "080442957x", "0306406153", "0 306 40615 2", "030640615", "03064061520", "X306406152", ""},
	"isbn13":     {"9780306406157", "978-0-306-40615-7", "0306406152", "9780306406158", "978 0306406157", "978030640615", "97803064061577", "979-10-90636-07-1", "9771234567003", ""},
	"creditcard": {"4111111111111111", "4111-1111-1111-1111", "4111 1111 1111 1111", "4111111111111112", "378282246310005", "5555555555554444", "6011111111111117", "3530111333300000", "a4111111111111111", "411111111111111", "30569309025904", "6759649826438453", "2223003122003222", "1234567890123456", "0000000000000000", "4111.1111.1111.1111", ""},
	"ssn":        {"111-11-1111", "111 11 1111", "111111111", "000-11-1111", "11-11-1111", "111-1-1111", "111-11-111", "123-45-6789 ", "a11-11-1111", "999-99-9999", ""},
	"hexcolor":   {"#fff", "fff", "#FFFFFF", "ffffff", "#ggg", "#ffff", "#fffff", "#fffffff", "##fff", "", "#abcdef ", "#12345678"},
	"rgbcolor":   {"rgb(0,0,0)", "rgb(255, 255, 255)", "rgb( 1 , 2 , 3 )", "rgb(256,0,0)", "rgb(0,0)", "rgb(0,0,0,0)", "rgba(0,0,0,1)", "RGB(0,0,0)", "rgb(-1,0,0)", "rgb(00,0,0)", "rgb(1.5,0,0)", "", "rgb(0%, 0%, 0%)"},
	"byte":       {"aGk=", "aGk", "+/+/", "-_-_", "", "a", "====", "aGk=\n", "aG k=", "YQ==", "YQ=", "YWI=", "YWJj", "!!!!", "YQ==YQ==", "Zh==", "aGk=="},
	"password":   {"", "x", "\x00", "pässword"},
	"date":       {"2020-01-01", "2020-02-30", "2020-02-29", "2021-02-29", "2020-13-01", "2020-1-1", "0000-01-01", "9999-12-31", "10000-01-01", "2020-01-01T00:00:00Z", "20200101", "2020-01-01 ", "-2020-01-01", "2020-00-01", "2020-01-00", ""},
	"duration":   {"1h", "2 days", "1 w", "-1h", "1", "0", "", "1.5h", "1h30m", "1ns", "5us", "5µs", "5μs", "junk 5 days !!", "1h garbage 2m", "1 week", "1 hour 2 minutes", "d", "1d", "1.5 d", "1 nanosecond", "9223372036854775807ns", "9999999999h", "1e3s", "+1h", ".5s", "1.s", "1 year", "2 weeks 3 days", "3 milliseconds", "4 MINUTES", "1hh", "--1h", "1 dayss", "99999999999999999999 days", "5 seconds ago", "1h-2m", "0h", "10 hrs"},
	"datetime": {"2020-01-01T00:00:00Z", "2020-01-01t00:00:00z", "2020-01-01T00:00:00", "2020-01-01 00:00:00Z", "2020-01-01T00:00:00+01:00", "2020-01-01T00:00:00+99:99", "2020-01-01T00:00:00,123Z", "2020-01-01T00:00:00.123456789Z", "2020-01-01T24:00:00Z", "2020-01-01T23:59:60Z", "2020-01-01T00:00:00Tjunk", "2020-01-01T00:00:00ZTjunk",
		"2020-02-30T00:00:00Z", "2020-01-01T0:00:00Z", "2020-01-01T00:60:00Z", "2020-13-01T00:00:00Z", "2020-01-01T00:00Z", "2020-01-01T00:00:00.Z", "2020-01-01T00:00:00-0100", "2020-01-01", "T", "", "2020-01-01T00:00:00+0:00", "9999-12-31T23:59:59Z", "0000-01-01T00:00:00Z", "2020-01-01T00:00:00z00:00", "2020-01-01T00:00:00.1.1Z", "2020-01-01TT00:00:00Z"},
	"k8s-short-name": {"a", "A", "a-b", "-a", "a-", "a.b", "1", "", "a_b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "é", "a b", "a\n"},
	"k8s-long-name":  {"a", "a.b", "a..b", ".a", "a.", "A.b", "a-b.c-d", "a-.b", "1.2.3", "", "a_b.c", "a b", "a.b\n", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.b"},
}

// FormatNames are spellings of formats: with and without dashes, in other cases, names of other generators, and unknown
// names.
var FormatNames = append(formatNames(), "date-time", "bson-object-id", "hex-color", "k8sshortname", "k8slongname", "k8s-shortname", "Email", "DATE", "uuid-4", "credit-card",
	"int32", "int64", "float", "double", "int-or-string", "no-such-format", "ip", "uint32", "binary", "regex", "-", "quantity", "date-time-")

func formatNames() []string {
	return []string{"bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4", "uuid5", "isbn", "isbn10", "isbn13", "creditcard", "ssn",
		"hexcolor", "rgbcolor", "byte", "password", "date", "duration", "datetime", "k8s-short-name", "k8s-long-name"}
}

// Any returns a random JSON value.
func Any(r Rand, depth int) *jsontree.Node {
	kinds := 7
	if depth <= 0 {
		kinds = 5
	}
	switch r.IntN(kinds) {
	case 0:
		return jsontree.Null()
	case 1:
		return jsontree.Bool(r.Chance(50))
	case 2:
		return jsontree.Raw(Pick(r, Numbers))
	case 3:
		return jsontree.Raw(Pick(r, Strings))
	case 4:
		return jsontree.Str(string(rune('a' + r.IntN(4))))
	case 5:
		n := jsontree.Arr()
		for range r.IntN(4) {
			n.Items = append(n.Items, Any(r, depth-1))
		}
		return n
	}
	n := jsontree.Obj()
	for range r.IntN(4) {
		n.Members = append(n.Members, jsontree.Member{Key: Pick(r, Keys), Value: Any(r, depth-1)})
	}
	return n
}
