package format

import (
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"github.com/crdeval/crdeval/engine/testenv"
)

// FuzzValid holds every answer against strfmt's own registry, all formats on each text.
func FuzzValid(f *testing.F) {
	for _, c := range texts {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for id := None + 1; int(id) < len(names); id++ {
			if got, want := id.Valid(s), strfmt.Default.Validates(id.String(), s); got != want {
				t.Errorf("%s.Valid(%q) = %v, strfmt says %v", id, s, got, want)
			}
		}
	})
}

// TestMutants does the same on all single-byte changes of the sample texts, more than the fuzzer reaches in seconds.
func TestMutants(t *testing.T) {
	const alphabet = "0019aAbfFgGzZtT -+:.,/=#%@[]()_\x00\n\u00e9µ\u212aſ٣"
	check := func(s string) {
		for id := None + 1; id <= ShortName; id++ { // the other formats are left to strfmt
			if got, want := id.Valid(s), strfmt.Default.Validates(id.String(), s); got != want {
				t.Errorf("%s.Valid(%q) = %v, strfmt says %v", id, s, got, want)
			}
		}
	}
	longest := 24
	if testing.Short() {
		longest = 12
	} else if testenv.Volume(1) > 1 {
		longest = 60
	}
	for _, s := range texts {
		if len(s) > longest {
			check(s)
			continue
		}
		for i := 0; i <= len(s); i++ {
			for _, r := range alphabet {
				check(s[:i] + string(r) + s[i:])
				if i < len(s) {
					check(s[:i] + string(r) + s[i+1:])
				}
			}
			if i < len(s) {
				check(s[:i] + s[i+1:])
				check(s[:i])
			}
		}
		if t.Failed() {
			return
		}
	}
}

var texts = []string{
	"", "a", "0", "-", " ", "ab", "a-b", "a.b", "a..b", "a-.b", "A.B", "a_b",
	strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 253), strings.Repeat("a", 254),
	strings.Repeat("a.", 127) + "bc", strings.Repeat("ab.", 84) + "com", strings.Repeat("x", 63) + ".com", strings.Repeat("x", 64) + ".com",
	"QQ==", "QUI=", "QUJD", "+/+/", "-_-_", "QQ=", "Q===", "====", "QR==", "QUJDRA==",
	"2014-02-28", "2014-02-29", "2016-02-29", "2014-13-01", "2014-00-10", "2014-01-31", "2014-1-1", "0000-01-01",
	"2014-12-15T19:30:20Z", "2014-12-15T9:30:20Z", "2014-12-15T19:30:20.000Z", "2014-12-15t19:30:20z", "2014-12-15T19:30:20,123Z", "2014-12-15T19:30:20+99:99",
	"2014-12-15T19:30:20ZTjunk", "2014-12-15T19:30:60Z", "2014-12-15T24:30:20Z", "2014-12-15T19:30:20", "2014-12-31T19:30:20Z",
	"1h", "-1h", "1 w", "2 days", "junk 5 days !!", "1h garbage 2m", "1", "1.5h", "22 ns", "1µs", "99999999999999999999 s", "٣h",
	"12 3s", "1 2 3", "5 MINUTELY", "3\tWeeks!", "7 xs 9 hrs", "1s 99999999999999999999 x", "1s 99999999999999999999", "8µ", "8µſ", "4 \v s", "1 μs", "12ſ", "3K", "1d2w",
	"507f1f77bcf86cd799439011", "507F1F77BCF86CD799439011", "507f1f77bcf86cd79943901",
	"a8098c1a-f86e-11da-bd1a-00112444be1e", "a8098c1af86e31dabd1a00112444be1e", "A8098C1A-F86E-41DA-9D1A-00112444BE1E", "a8098c1a-f86e-51da-cd1a-00112444be1e",
	"bcd02e22-68f0-3046-a512-327cca9def8f", "025b0d74-00a2-4048-bf57-227c5111bb34", "886313e1-3b8a-5372-9b90-0c9aee199e5d",
	"http://example.com", "http://example.com/a/b", "/a/b", "a/b", "http://example.com/a%zz", "http://[::1]:80/", "mailto:a@b.c", "//x/y", "http://a b/", "/", "x://-", "http://", "://a", "1a://b",
	"http://example.com:8080/", "*", "http://a.b.c.d./x", "a1+2://b",
	"a@b.c", "A <a@b.c>", "@", "a@", "somebody@somewhere.example",
	"example.com", "www.example.co.uk", "localhost", "a.b-c.de", "example.c", "example.1com", "ex--ample.com", "-a.com", "a-.com", "é.com", "a.é", "a.com.",
	"10.0.0.1", "010.0.0.1", "256.0.0.1", "1.2.3", "::ffff:1.2.3.4", "::1", "fe80::1%eth0", "1::2::3", "0000:0000:0000:0000:0000:ffff:1.2.3.4", "1.2.3.4%eth0",
	"10.0.0.0/8", "010.0.0.0/8", "10.0.0.0/08", "10.0.0.0/33", "::/0", "fe80::/10", "::ffff:1.2.3.4/96", "10.0.0.0/+8", "fe80::%a/10", "10.0.0.0/8/8",
	"01:23:45:67:89:ab", "01-23-45-67-89-ab", "0123.4567.89ab", "01:23:45:67:89:ab:cd:ef", "01:23:45:67:89:AB", "01:23-45:67:89:ab",
	"3836221195", "3 423 21412 0", "3 401 01319 X", "978-4-87311-368-5", "9784873113685", "9784873113686",
	"4220855426222389", "4220-8554-2622-2389", "card 4220 8554 2622 2389 visa", "4220855426213389", "30190239451016",
	"111-11-1111", "111 11 1111", "111111111", "111-11-111", "000-00-0000",
	"#FFF", "fff", "#ffffff", "#FFFF", "##fff", "#ggg", "FFFFFF", "rgb(0,31,255)", "rgb(0,  31, 255)", "rgb(256,0,0)", "rgb(01,0,0)",
	"\u00a0", "\xff\xfe", "\ufeffa", "\u2028",
}
