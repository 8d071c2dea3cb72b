// Package format validates the string formats of custom resource schemas. It knows which formats exist, and which of
// them a schema of a given type keeps in a given Kubernetes version.
//
// k8s.io/kube-openapi/pkg/validation/strfmt defines the formats and validates the strings that the checks of Valid do
// not decide. These checks exist because strfmt is slow for common or for long strings. fuzz_test.go compares them with
// strfmt's registry.
//
// Numeric formats (int32, int64, float, double) are ranges: Supported lists them, and package plan enforces them.
//
// A new format also needs entries in rule/celcheck/types.go if CEL gives it another type, in compare/types.go, in the
// columns of package definition if tables print it, and in conformance/generate/value_tables.go.
package format

import (
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/quirk"
)

// ID identifies a string format. The zero ID, None, stands for no format or an unknown one.
type ID uint8

// The formats with code of their own in Valid or Supported.
const (
	None ID = iota
	Byte
	CIDR
	Date
	DateTime
	Duration
	Hostname
	IPv4
	IPv6
	LongName
	Password
	ShortName
)

// names lists the formats of strfmt's registry without dashes, by ID.
var names = [...]string{
	None: "", Byte: "byte", CIDR: "cidr", Date: "date", DateTime: "datetime", Duration: "duration", Hostname: "hostname",
	IPv4: "ipv4", IPv6: "ipv6", LongName: "k8slongname", Password: "password", ShortName: "k8sshortname", "bsonobjectid",
	"creditcard", "email", "hexcolor", "isbn", "isbn10", "isbn13", "mac", "rgbcolor", "ssn", "uri", "uuid", "uuid3",
	"uuid4", "uuid5",
}

// String returns the name of the format without dashes, or "" for None.
func (id ID) String() string { return names[id] }

// Lookup returns the format with the name, or None. It ignores dashes, as the registry does: date-time is datetime. It
// does not depend on the Kubernetes version, since defaults are checked against every format.
func Lookup(name string) ID {
	switch {
	case !quirk.On(quirk.DatetimeWithoutDash) && name == "datetime":
		return None
	case quirk.On(quirk.UnknownFormatsIgnored), name == "date-time", name == "k8s-short-name", name == "k8s-long-name":
		name = strings.ReplaceAll(name, "-", "")
	}
	return ID(max(0, slices.Index(names[:], name)))
}

// The range of supported Kubernetes 1.x versions. LatestMinor is the version that crdeval reproduces.
const (
	OldestMinor = 25
	LatestMinor = 37
	namesMinor  = 34 // introduced ShortName and LongName; the other formats are older than the range
)

// Minor returns the minor of a supported version: 34 for "1.34". It returns 0 for another text.
func Minor(version string) int {
	text, ok := strings.CutPrefix(version, "1.")
	minor, err := strconv.Atoi(text)
	if !ok || err != nil || strconv.Itoa(minor) != text || minor < OldestMinor || minor > LatestMinor {
		return 0
	}
	return minor
}

// Version is the inverse of Minor: it returns "1.34" for 34, and "" for 0.
func Version(minor int) string {
	if minor == 0 {
		return ""
	}
	return "1." + strconv.Itoa(minor)
}

// Supported reports whether a schema with these types (two for int-or-string, none for an untyped schema) keeps the
// format in Kubernetes 1.minor. Formats that are not kept are ignored for objects, and cause a warning at registration.
// The empty name is not a format.
//
// Since 1.36, integer keeps int32 and int64, number keeps float and double, string and schemas without exactly one type
// keep the string formats, and other types keep none. Upstream applies this rule to every version it emulates, and so
// does Supported. (k8s.io/apiextensions-apiserver/pkg/apiserver/validation/formats.go)
func Supported(name string, types []string, minor int) bool {
	if name == "" {
		return false
	}
	single := ""
	if len(types) == 1 {
		single = types[0]
	}
	switch single {
	case "", "string":
		id := Lookup(name)
		return id != None && (id != ShortName && id != LongName || minor >= namesMinor)
	case "integer":
		return name == "int32" || name == "int64"
	case "number":
		return name == "float" || name == "double"
	}
	return false
}
