package netaddress

import (
	"net/netip"
	"testing"
)

// TestIsPublic checks public addresses, and each range that is not public.
func TestIsPublic(t *testing.T) {
	for text, want := range map[string]bool{
		"8.8.8.8": true, "2001:4860:4860::8888": true, "2606:4700::1111": true,
		"127.0.0.1": false, "::1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.0.1": false,
		"169.254.169.254": false, "fe80::1": false, "fe80::1%eth0": false, "fd00::1": false, "fec0::1": false,
		"0.0.0.0": false, "0.1.2.3": false, "::": false, "100.64.0.1": false, "224.0.0.1": false, "ff02::1": false, "ff0e::1": false,
		"255.255.255.255": false, "192.0.0.1": false, "192.0.2.1": false, "198.18.0.1": false, "198.51.100.1": false,
		"203.0.113.1": false, "192.88.99.1": false, "240.0.0.1": false,
		"64:ff9b::7f00:1": false, "64:ff9b:1::1": false, "::7f00:1": false, "::ffff:0:7f00:1": false, // translated from IPv4
		"2002:7f00:1::": false, "2001::1": false, "2001:20::1": false, "2001:db8::1": false, "3fff::1": false, // tunnels, examples
		"100::1": false, "168.63.129.16": false, "::ffff:10.0.0.1": false, "::ffff:8.8.8.8": true, // metadata, mapped
		"5f00::1": false, "4000::1": false,
	} {
		if got := IsPublic(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
