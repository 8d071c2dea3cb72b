package format

import (
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"github.com/crdeval/crdeval/engine/internal/quirk"
)

// registries is a pool of copies of strfmt's registry, since a registry holds its lock while it validates.
var registries = sync.Pool{New: func() any { return strfmt.NewFormats() }}

// Valid reports whether s satisfies the format exactly as strfmt's registry decides. None accepts every string. Common
// valid strings, and most invalid ones, cause no allocation.
func (id ID) Valid(s string) bool {
	switch id {
	case None, Password:
		return true
	case Byte:
		return isByte(s)
	case Date:
		return quickDate(s) || strfmt.IsDate(s)
	case DateTime:
		if !quirk.On(quirk.LooseDateTime) {
			_, err := time.Parse(time.RFC3339Nano, s)
			return err == nil
		}
		if quickDateTime(s) {
			return true
		}
		return len(s) > 10 && s[10]|0x20 == 't' && strfmt.IsDateTime(s)
	case Duration:
		if _, err := time.ParseDuration(s); err == nil {
			return true
		}
		return quirk.On(quirk.DurationMatchesAnywhere) && hasDuration(s)
	case BSONObjectID:
		return len(s) == 24 && allHex(s)
	case UUID:
		return isUUID(s, 0, false)
	case UUID3:
		return isUUID(s, '3', false)
	case UUID4:
		return isUUID(s, '4', true)
	case UUID5:
		return isUUID(s, '5', true)
	case ShortName:
		return len(s) <= strfmt.ShortNameMaxLength && isLabel(s)
	case LongName:
		return isLongName(s)
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
	case MAC:
		if quickMAC(s) {
			return true
		}
	case Hostname:
		if quickHostname(s) {
			return true
		}
		if len(s) > 255 {
			return false
		}
	case Email:
		return strfmt.IsEmail(s)
	case URI:
		if quickURI(s) {
			return true
		}
	}
	r := registries.Get().(strfmt.Registry)
	defer registries.Put(r)
	return r.Validates(id.String(), s)
}
