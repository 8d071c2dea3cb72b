package format

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"github.com/crdeval/crdeval/engine/internal/quirk"
)

// registries is a pool of copies of strfmt's registry, since a registry holds its lock while it validates.
var registries = sync.Pool{New: func() any { return strfmt.NewFormats() }}

// Valid reports whether s satisfies the format exactly as strfmt's registry decides. None accepts every string. Valid
// strings of the most common formats cause no allocation.
func (id ID) Valid(s string) bool {
	switch id {
	case None, Password:
		return true
	case Byte:
		return isByte(s)
	case DateTime:
		_, err := time.Parse(time.RFC3339, s)
		if !quirk.On(quirk.LooseDateTime) {
			return err == nil
		}
		if err == nil && s[13] == ':' { // Go also accepts hours of one digit
			return true
		}
	case Duration:
		_, err := time.ParseDuration(s)
		return err == nil || quirk.On(quirk.DurationMatchesAnywhere) && hasDuration(s)
	case IPv4:
		if a, err := netip.ParseAddr(s); err == nil && a.Is4() {
			return true
		}
		if !quirk.On(quirk.LooseAddressFormats) {
			ip := net.ParseIP(s)
			return ip != nil && ip.To4() != nil
		}
	case IPv6:
		a, err := netip.ParseAddr(s)
		return err == nil && a.Zone() == "" && strings.IndexByte(s, ':') >= 0
	case CIDR:
		if _, err := netip.ParsePrefix(s); err == nil {
			return true
		}
		if !quirk.On(quirk.LooseAddressFormats) {
			return false
		}
	case Hostname:
		if len(s) > 255 {
			return false // strfmt matches a slow regular expression first
		}
	}
	r := registries.Get().(strfmt.Registry)
	defer registries.Put(r)
	return r.Validates(id.String(), s)
}

func digit(c byte) bool { return c-'0' <= 9 }

func letter(c byte) bool { return (c|0x20)-'a' <= 25 }

// isByte reports whether s is non-empty standard base64 with padding. It ignores the unused bits of the last character.
// Texts can be long, and strfmt matches them with a regular expression.
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

// Units of time as strfmt.ParseDuration accepts them: the units as they are, and all words that begin with a stem
// (minutely is a minute). Case does not matter.
var (
	units = []string{"ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"}
	stems = []string{"nano", "micro", "milli", "sec", "min", "hour", "day", "week"}
)

// hasDuration reports whether strfmt.ParseDuration accepts a string that is not a Go duration: it contains a number
// followed by a unit, and every number before a word fits an int. Unlike strfmt it does not collect all numbers first.
func hasDuration(s string) (found bool) {
	for {
		i := strings.IndexFunc(s, func(r rune) bool { return '0' <= r && r <= '9' })
		if i < 0 {
			return found
		}
		afterNumber := strings.TrimLeft(s[i:], "0123456789")
		number := s[i : len(s)-len(afterNumber)]
		afterSpace := strings.TrimLeft(afterNumber, " \t\n\f\r")
		s = strings.TrimLeftFunc(afterSpace, func(r rune) bool { return r == 'µ' || r < 0x80 && letter(byte(r)) })
		word := afterSpace[:len(afterSpace)-len(s)]
		if word == "" {
			continue // a number without a word; the next one may have one
		}
		if _, err := strconv.Atoi(number); err != nil {
			return false
		}
		found = found || slices.ContainsFunc(units, func(unit string) bool { return strings.EqualFold(word, unit) }) ||
			slices.ContainsFunc(stems, func(stem string) bool {
				return len(word) >= len(stem) && strings.EqualFold(word[:len(stem)], stem)
			})
	}
}
