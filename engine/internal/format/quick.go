package format

import (
	"strings"

	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"github.com/crdeval/crdeval/engine/internal/quirk"
)

// Functions named is… decide a format. Functions named quick… return true only for valid strings; false means that
// strfmt decides.

func digit(c byte) bool { return c-'0' <= 9 }

func hexDigit(c byte) bool { return c-'0' <= 9 || (c|0x20)-'a' <= 5 }

func letter(c byte) bool { return (c|0x20)-'a' <= 25 }

func lowerAlnum(c byte) bool { return c-'a' <= 25 || c-'0' <= 9 }

func allHex(s string) bool {
	for i := range len(s) {
		if !hexDigit(s[i]) {
			return false
		}
	}
	return true
}

// isByte reports whether s is non-empty standard base64 with padding. It ignores the unused bits of the last character.
func isByte(s string) bool {
	if s == "" {
		return !quirk.On(quirk.ByteAlphabet)
	}
	if len(s)%4 != 0 {
		return false
	}
	n := len(s)
	for pad := 0; pad < 2 && s[n-1] == '='; pad++ {
		n--
	}
	for i := range n {
		if c := s[i]; !letter(c) && !digit(c) && c != '+' && c != '/' {
			return false
		}
	}
	return true
}

// isUUID follows strfmt's patterns: five groups of hex digits with optional dashes. The third starts with the version,
// and the fourth, if variant is set, with 8, 9, a or b. The patterns ignore case, but no character beyond ASCII folds
// to a hex digit.
func isUUID(s string, version byte, variant bool) bool {
	for group, n := range [5]int{8, 4, 4, 4, 12} {
		if group > 0 && s != "" && s[0] == '-' {
			s = s[1:]
		}
		if len(s) < n || !allHex(s[:n]) {
			return false
		}
		if group == 2 && version != 0 && s[0] != version {
			return false
		}
		if group == 3 && variant {
			switch s[0] | 0x20 {
			case '8', '9', 'a', 'b':
			default:
				return false
			}
		}
		s = s[n:]
	}
	return s == ""
}

// isLabel reports whether s is one or more of a-z, 0-9 and inner dashes.
func isLabel(s string) bool {
	if s == "" || !lowerAlnum(s[0]) || !lowerAlnum(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if !lowerAlnum(s[i]) && s[i] != '-' {
			return false
		}
	}
	return true
}

func isLongName(s string) bool {
	if len(s) > strfmt.LongNameMaxLength {
		return false
	}
	for {
		label, rest, more := strings.Cut(s, ".")
		if !isLabel(label) {
			return false
		}
		if !more {
			return true
		}
		s = rest
	}
}

func two(s string) int { return int(s[0]-'0')*10 + int(s[1]-'0') }

// quickDate accepts days that every month has.
func quickDate(s string) bool {
	if len(s) != 10 || s[4] != '-' || s[7] != '-' {
		return false
	}
	for _, i := range [8]int{0, 1, 2, 3, 5, 6, 8, 9} {
		if !digit(s[i]) {
			return false
		}
	}
	month, day := two(s[5:]), two(s[8:])
	return month >= 1 && month <= 12 && day >= 1 && day <= 28
}

// quickDateTime accepts upper-case RFC 3339, with an optional fraction after a point.
func quickDateTime(s string) bool {
	if len(s) < 20 || !quickDate(s[:10]) || s[10] != 'T' || s[13] != ':' || s[16] != ':' {
		return false
	}
	for _, i := range [6]int{11, 12, 14, 15, 17, 18} {
		if !digit(s[i]) {
			return false
		}
	}
	if two(s[11:]) > 23 || two(s[14:]) > 59 || two(s[17:]) > 59 {
		return false
	}
	zone := s[19:]
	if zone[0] == '.' {
		n := 1
		for n < len(zone) && digit(zone[n]) {
			n++
		}
		if n == 1 {
			return false
		}
		zone = zone[n:]
	}
	return zone == "Z"
}

func quickMAC(s string) bool {
	for i := range len(s) {
		if i%3 == 2 && s[i] != ':' || i%3 != 2 && !hexDigit(s[i]) {
			return false
		}
	}
	return len(s) == 17
}

// quickHostname accepts at least two ASCII labels, the last one only of letters.
func quickHostname(s string) bool {
	if len(s) > 255 {
		return false
	}
	labels := 0
	for {
		label, rest, more := strings.Cut(s, ".")
		if len(label) == 0 || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if c := label[i]; !letter(c) && !digit(c) && c != '-' {
				return false
			}
		}
		labels++
		if !more {
			if labels < 2 || len(label) < 2 {
				return false
			}
			for i := range len(label) {
				if !letter(label[i]) {
					return false
				}
			}
			return true
		}
		s = rest
	}
}

// quickURI accepts scheme://host/path and /path without characters that are special to net/url.
func quickURI(s string) bool {
	if s == "" {
		return false
	}
	if s[0] != '/' {
		scheme, rest, ok := strings.Cut(s, "://")
		if !ok || scheme == "" || !letter(scheme[0]) {
			return false
		}
		for i := range len(scheme) {
			if !letter(scheme[i]) && !digit(scheme[i]) {
				return false
			}
		}
		n := 0
		for n < len(rest) && (letter(rest[n]) || digit(rest[n]) || rest[n] == '.' || rest[n] == '-') {
			n++
		}
		if n == 0 {
			return false
		}
		if s = rest[n:]; s == "" {
			return true
		}
		if s[0] != '/' {
			return false
		}
	}
	for i := range len(s) {
		switch c := s[i]; {
		case letter(c), digit(c):
		case c == '/', c == '-', c == '.', c == '_', c == '~':
		default:
			return false
		}
	}
	return true
}
