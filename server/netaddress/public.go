// Package netaddress tells addresses on the internet from private, reserved and local ones.
package netaddress

import (
	"net/netip"
	"slices"
)

// Addresses on the internet, and reserved ranges among them: translated IPv4 addresses, tunnels, examples, tests, and
// the metadata service of Azure, which has a public address.
var (
	global   = prefixes("0.0.0.0/0", "2000::/3")
	reserved = prefixes("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
		"168.63.129.16/32")
)

func prefixes(list ...string) (all []netip.Prefix) {
	for _, text := range list {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// IsPublic reports whether an address belongs to a host on the internet.
func IsPublic(a netip.Addr) bool {
	a = a.Unmap()
	in := func(p netip.Prefix) bool { return p.Contains(a) }
	return a.IsGlobalUnicast() && !a.IsPrivate() && slices.ContainsFunc(global, in) && !slices.ContainsFunc(reserved, in)
}
