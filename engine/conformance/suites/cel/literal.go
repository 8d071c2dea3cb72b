package cel

import (
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"

	"github.com/crdeval/crdeval/engine/conformance/generate"
)

var (
	intLiterals = []string{"0", "1", "2", "3", "-1", "-2", "5", "10", "100", "9223372036854775807", "-9223372036854775808", "9007199254740993", "2147483647", "2147483648", "-2147483649", "0x10",
		"253402300799", "253402300800", "-62135596801"}
	uintLiterals   = []string{"0u", "1u", "2u", "7u", "18446744073709551615u", "9223372036854775808u", "0x1Fu"}
	doubleLiterals = []string{"0.0", "-0.0", "1.0", "1.5", "-1.5", "0.1", "1e3", "1e21", "1e-7", "1.7976931348623157e308", "5e-324", "9.223372036854775807e18", "18446744073709551616.0", "2.0", "100.0"}
	stringLiterals = []string{`''`, `'a'`, `'b'`, `'bc'`, `'abc'`, `'aXbXc'`, `'X'`, `' a '`, `'é'`, `'é😀'`, `'日本語'`, `'true'`, `'1'`, `'-1'`, `'1.5'`, `'1e3'`, `'0x1'`, `'k'`, `'%s'`, `'a.b'`, `'\n'`, `"\""`, `r'\d'`, `'\u0000'`,
		`'0123456789012345678901234567890123456789'`, `"""a'b"""`, `'hello world'`, `'A-b_c'`, `'a,b,c'`}
	bytesLiterals   = []string{`b''`, `b'a'`, `b'abc'`, `b'\xff'`, `b'\303\251'`, `b'0123456789012345'`}
	durationTexts   = []string{"1h", "0s", "1m", "1s", "1ms", "-1h", "1h30m", "1.5h", "2562047h47m16.854775807s", "1us", "2562048h", "1d", "x", "", "P1D", "1"}
	timestampTexts  = []string{"2020-01-01T00:00:00Z", "2011-01-02T03:04:05.678Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "2020-02-29T12:00:00+05:30", "1969-12-31T23:59:59Z", "2020-01-01", "x", "", "2020-13-01T00:00:00Z"}
	quantityTexts   = []string{"1", "1Ki", "1.5", "100m", "1e3", "-1", "0", "9223372036854775807", "9223372036854775808", "1Ei", "1k", "200M", "0.2G", "1n", "x", "", "1Kii", "1e20"}
	ipTexts         = []string{"1.2.3.4", "127.0.0.1", "::1", "::ffff:1.2.3.4", "2001:db8::1", "2001:DB8::1", "0.0.0.0", "fe80::1", "ff02::1", "224.0.0.1", "169.254.1.1", "::", "1.2.3", "01.2.3.4", "fe80::1%eth0", "", "x"}
	cidrTexts       = []string{"10.0.0.0/8", "192.168.1.0/24", "192.168.1.1/24", "::/0", "2001:db8::/32", "0.0.0.0/0", "1.2.3.4/32", "::ffff:1.2.3.0/120", "10.0.0.0", "10.0.0.0/33", "", "x/1", "fe80::1%a/64"}
	urlTexts        = []string{"https://example.com:80/path?a=1&b=2&a=3", "http://a", "http://[::1]:80/", "/abs/path", "https://u:p@h/%20x", "relative", "://", "http://a b/", "", "https://e.com/?k%20=v%20v&x", "mailto:a@b", "http://h:x/", "/a%2Fb"}
	semverTexts     = []string{"1.2.3", "0.0.0", "1.2.3-alpha.1+build", "v1.2.3", "1.2", "01.2.3", "1", "1.2.3.4", "x", "", "v1", "1.10.0", "1.2.3-rc.1", "1.2-rc"}
	patternTexts    = []string{"^a", "[a-z]+", "^[0-9]*$", "b|c", "", "é", ".", `\d+`, "(a)(b)", "^.{2,3}$", "(?i)A", "[", "(", "*", "X"}
	zoneTexts       = []string{"UTC", "America/New_York", "+05:30", "-02:00", "02:00", "Europe/Berlin", "x", "", "Local"}
	formatNames     = []string{"dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "labelValue", "uri", "uuid", "byte", "date", "datetime", "dns1123LabelPrefix", "dns1123SubdomainPrefix", "dns1035LabelPrefix", "x", ""}
	formattedTexts  = []string{"a", "A", "a-b", "-a", "a.b", "a/b", "2020-01-01", "2020-01-01T00:00:00Z", "http://a", "550e8400-e29b-41d4-a716-446655440000", "aGk=", "aGk", "", strings.Repeat("a", 64), "1a", "a-"}
	conversionTexts = []string{"1", "-1", "1.5", "true", "false", "T", "x", "", "9223372036854775808", "18446744073709551615", "1e3", "NaN", "inf", " 1", "0x10", "TRUE", "t", "1u", "+1"}
	separatorTexts  = []string{"", ",", "X", "a", "é", " "}
	formatTexts     = []string{"%s", "%s %s", "%d", "%x", "%X", "%o", "%b", "%e", "%.2f", "%f", "%.3e", "%%", "a", "%s%d", "%z", "%", "%5s", "%.s", "%s-%s"}
	keyLiterals     = []string{"'a'", "'b'", "'c'", "'x'", "''", "'k'", "'a.b'", "'zz'", "'name'"}
	indexLiterals   = []string{"0", "0", "1", "0", "2", "-1", "9", "9223372036854775807"}
	typeLiterals    = []string{"int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type", "type", "google.protobuf.Duration", "google.protobuf.Timestamp", "optional_type"}
	messageLiterals = []string{"google.protobuf.Int64Value{value: 1}", "google.protobuf.StringValue{value: 'a'}", "google.protobuf.BoolValue{}", "google.protobuf.Value{}", "google.protobuf.Struct{fields: {'a': null}}"}
)

// hints are the strings for a function's arguments, by overload and the number of the argument. The target has number
// 0.
var hints = map[string][]string{
	"string_to_duration/0": durationTexts, "string_to_timestamp/0": timestampTexts, "string_to_quantity/0": quantityTexts, "is_quantity_string/0": quantityTexts,
	"string_to_ip/0": ipTexts, "is_ip/0": ipTexts, "ip_is_canonical/0": ipTexts, "cidr_contains_ip_string/1": ipTexts, "string_to_cidr/0": cidrTexts, "is_cidr/0": cidrTexts,
	"cidr_contains_cidr_string/1": cidrTexts, "string_to_url/0": urlTexts, "is_url_string/0": urlTexts, "string_to_semver/0": semverTexts, "string_bool_to_semver/0": semverTexts,
	"is_semver_string/0": semverTexts, "is_semver_string_bool/0": semverTexts, "matches/1": patternTexts, "matches_string/1": patternTexts, "string_find_string/1": patternTexts,
	"string_find_all_string/1": patternTexts, "string_find_all_string_int/1": patternTexts, "format-named/0": formatNames, "format-validate/1": formattedTexts,
	"string_to_int64/0": conversionTexts, "string_to_uint64/0": conversionTexts, "string_to_double/0": conversionTexts, "string_to_bool/0": conversionTexts,
	"string_split_string/1": separatorTexts, "string_split_string_int/1": separatorTexts, "list_join_string/1": separatorTexts, "string_format/0": formatTexts,
}

// quote returns a string literal.
func quote(s string) string { return strconv.Quote(s) }

// literal returns a constant of a type, or something similar.
func (g *generator) literal(t *types.Type, depth int) *expression {
	pick := func(from []string) *expression { return text(generate.Pick(g.r, from)) }
	of := func(function string, from []string) *expression {
		return call(function, text(quote(g.mostlyEarly(from))))
	}
	switch t.Kind() {
	case types.BoolKind:
		return text(strconv.FormatBool(g.r.Chance(50)))
	case types.IntKind:
		if g.r.Chance(85) {
			return text(strconv.Itoa(g.r.Between(0, 4)))
		}
		return pick(intLiterals)
	case types.UintKind:
		return pick(uintLiterals)
	case types.DoubleKind:
		return pick(doubleLiterals)
	case types.StringKind:
		return pick(stringLiterals)
	case types.BytesKind:
		return pick(bytesLiterals)
	case types.DurationKind:
		return of("duration", durationTexts)
	case types.TimestampKind:
		return of("timestamp", timestampTexts)
	case types.NullTypeKind:
		return text("null")
	case types.TypeKind:
		return pick(typeLiterals)
	case types.DynKind:
		if g.r.Chance(8) {
			return call("dyn", pick(messageLiterals))
		}
		return call("dyn", g.literal(generate.Pick(g.r, simple[:len(simple)-1]), depth-1))
	case types.ListKind:
		return g.list(t.Parameters()[0], depth, (*generator).literal)
	case types.MapKind:
		return g.mapping(t.Parameters()[0], t.Parameters()[1], depth, (*generator).literal)
	}
	switch t.TypeName() {
	case "kubernetes.Quantity":
		return of("quantity", quantityTexts)
	case "kubernetes.URL":
		return of("url", urlTexts)
	case "net.IP":
		return of("ip", ipTexts)
	case "net.CIDR":
		return of("cidr", cidrTexts)
	case "kubernetes.Semver":
		return of("semver", semverTexts)
	case "kubernetes.NamedFormat":
		return call("format." + generate.Pick(g.r, formatNames[:10]))
	}
	if isOptional(t) {
		switch g.r.IntN(8) {
		case 0:
			return call("optional.none")
		case 1:
			return call("optional.ofNonZeroValue", g.literal(t.Parameters()[0], depth-1))
		}
		return call("optional.of", g.literal(t.Parameters()[0], depth-1))
	}
	if t.Kind() == types.StructKind {
		return text("null")
	}
	return call("dyn", pick(intLiterals))
}

// mostlyEarly selects from a table whose second half contains invalid arguments.
func (g *generator) mostlyEarly(from []string) string {
	if g.r.Chance(94) {
		return generate.Pick(g.r, from[:(len(from)+1)/2])
	}
	return generate.Pick(g.r, from)
}

// index returns an index of a list, mostly within it. key returns a key of a map.
func (g *generator) index() *expression {
	if g.r.Chance(90) {
		return text("0")
	}
	return text(generate.Pick(g.r, indexLiterals))
}

func (g *generator) key() *expression {
	if g.r.Chance(88) {
		return text("'a'")
	}
	return text(generate.Pick(g.r, keyLiterals))
}

// list returns a list literal, rarely with optional elements.
func (g *generator) list(t *types.Type, depth int, element func(*generator, *types.Type, int) *expression) *expression {
	n := g.r.Between(1, 3)
	if g.r.Chance(12) {
		n = 0
	}
	e := &expression{pieces: around("[", n, "]"), closed: true}
	for i := range n {
		if depth > 1 && g.r.Chance(4) {
			e.pieces[i] += "?"
			e.operands = append(e.operands, element(g, types.NewOptionalType(t), depth-1))
			continue
		}
		e.operands = append(e.operands, element(g, t, depth-1))
	}
	return e
}

// mapping returns a map literal.
func (g *generator) mapping(key, value *types.Type, depth int, element func(*generator, *types.Type, int) *expression) *expression {
	n := g.r.IntN(3)
	if g.r.Chance(10) {
		n = 3
	}
	e := &expression{pieces: []string{"{"}, closed: true}
	for i := range n {
		if i > 0 {
			e.pieces[len(e.pieces)-1] += ", "
		}
		v := value
		if depth > 1 && g.r.Chance(4) {
			e.pieces[len(e.pieces)-1] += "?"
			v = types.NewOptionalType(value)
		}
		e.operands = append(e.operands, g.literal(key, depth-1), element(g, v, depth-1))
		e.pieces = append(e.pieces, ": ", "")
	}
	e.pieces[len(e.pieces)-1] += "}"
	return e
}
