// Package format validates the string formats of custom resource schemas. It knows which formats exist, and which of
// them a schema of a given type keeps in a given Kubernetes version.
//
// k8s.io/kube-openapi/pkg/validation/strfmt defines the formats. It validates the strings that the quick checks here
// cannot decide. The quick checks exist because strfmt's registry holds one process-wide lock while it validates, and
// because most of its validators allocate. fuzz_test.go compares every quick check with the registry.
//
// Numeric formats (int32, int64, float, double) are ranges: Supported lists them, and package plan enforces them.
//
// A new format also needs entries in rule/celcheck/types.go if CEL gives it another type, in compare/types.go, in the
// columns of package definition if tables print it, and in conformance/generate/formats.go.
package format

import (
	"strings"

	"github.com/crdeval/crdeval/engine/internal/quirk"
)

// ID identifies a string format. The zero ID, None, stands for no format or an unknown one.
type ID uint8

// The string formats of strfmt's registry.
const (
	None ID = iota
	BSONObjectID
	Byte
	CIDR
	CreditCard
	Date
	DateTime
	Duration
	Email
	HexColor
	Hostname
	IPv4
	IPv6
	ISBN
	ISBN10
	ISBN13
	LongName
	MAC
	Password
	RGBColor
	ShortName
	SSN
	URI
	UUID
	UUID3
	UUID4
	UUID5
	last = UUID5
)

// names are the registry's names without dashes.
var names = [last + 1]string{
	BSONObjectID: "bsonobjectid",
	Byte:         "byte",
	CIDR:         "cidr",
	CreditCard:   "creditcard",
	Date:         "date",
	DateTime:     "datetime",
	Duration:     "duration",
	Email:        "email",
	HexColor:     "hexcolor",
	Hostname:     "hostname",
	IPv4:         "ipv4",
	IPv6:         "ipv6",
	ISBN:         "isbn",
	ISBN10:       "isbn10",
	ISBN13:       "isbn13",
	LongName:     "k8slongname",
	MAC:          "mac",
	Password:     "password",
	RGBColor:     "rgbcolor",
	ShortName:    "k8sshortname",
	SSN:          "ssn",
	URI:          "uri",
	UUID:         "uuid",
	UUID3:        "uuid3",
	UUID4:        "uuid4",
	UUID5:        "uuid5",
}

var byName = func() map[string]ID {
	m := make(map[string]ID, last)
	for id := BSONObjectID; id <= last; id++ {
		m[names[id]] = id
	}
	return m
}()

// String returns the name of the format without dashes, or "" for None.
func (id ID) String() string {
	if id > last {
		return ""
	}
	return names[id]
}

// Lookup returns the format with the name, or None. It ignores dashes, as the registry does: date-time is datetime. It
// does not depend on the Kubernetes version, since defaults are checked against every format.
func Lookup(name string) ID {
	if !quirk.On(quirk.UnknownFormatsIgnored) && name != "date-time" && name != "k8s-short-name" &&
		name != "k8s-long-name" {
		return byName[name]
	}
	if !quirk.On(quirk.DatetimeWithoutDash) && name == "datetime" {
		return None
	}
	return byName[strings.ReplaceAll(name, "-", "")]
}

// The range of supported Kubernetes 1.x versions. LatestMinor is the version that crdeval reproduces.
const (
	OldestMinor = 25
	LatestMinor = 37
)

// introduced maps formats to the Kubernetes 1.x version that introduced them in custom resource schemas. All others are
// older than the supported range.
func (id ID) introduced() int {
	if id == ShortName || id == LongName {
		return 34
	}
	return 0
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
		return id != None && minor >= id.introduced()
	case "integer":
		return name == "int32" || name == "int64"
	case "number":
		return name == "float" || name == "double"
	default:
		return false
	}
}
