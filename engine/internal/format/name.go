package format

import (
	"strings"

	"github.com/crdeval/crdeval/engine/internal/quirk"
)

// ID identifies a string format. The zero ID is None: no format, or one that nobody knows.
type ID uint8

// The string formats, all that strfmt's registry holds.
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

// names are the registry's names, dashes dropped as its normalizer drops them.
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

// String returns the name of the format without dashes, "" for None.
func (id ID) String() string {
	if id > last {
		return ""
	}
	return names[id]
}

// Lookup returns the format of that name, None if there is none. Dashes do not count: date-time is datetime is d-atetime. The
// version of Kubernetes does not count either: defaults are checked against every format of the registry.
func Lookup(name string) ID {
	if !quirk.On(quirk.UnknownFormatsIgnored) && name != "date-time" && name != "k8s-short-name" && name != "k8s-long-name" {
		return byName[name]
	}
	if !quirk.On(quirk.DatetimeWithoutDash) && name == "datetime" {
		return None
	}
	return byName[strings.ReplaceAll(name, "-", "")]
}

// The minors of Kubernetes 1.x that one can ask about. LatestMinor is the release that is reproduced.
const (
	OldestMinor = 25
	LatestMinor = 37
)

// introduced is the minor of Kubernetes 1.x that first took a format seriously in custom resource schemas; all others are older
// than anything one can ask about.
func (id ID) introduced() int {
	if id == ShortName || id == LongName {
		return 34
	}
	return 0
}

// Supported reports whether a schema with these types, as the validators see them (int-or-string is two, an untyped schema
// none), keeps the format of that name in Kubernetes 1.minor. A format that is not kept is ignored when objects are validated
// and deserves a warning when the schema is registered. The empty name is not a format.
//
// Since 1.36 what is kept depends on the type: integer keeps int32 and int64, number float and double, string and everything
// without exactly one type the string formats, the other types nothing. The reference applies that rule whatever version it
// emulates, and so does Supported. (k8s.io/apiextensions-apiserver/pkg/apiserver/validation/formats.go)
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
