package conversion

import (
	"net/netip"
	"strings"
	"testing"
)

// TestHosts checks which hosts may be called. No name is resolved: a host that passes fails later.
func TestHosts(t *testing.T) {
	for _, e := range []struct {
		hosts, address, want string
	}{
		{"", "example.com:443", "example.com:443 may not be called"},
		{"", "127.0.0.1:1", "127.0.0.1:1 may not be called"},
		{"in-cluster", "127.0.0.1:1", "may not be called"},
		{"in-cluster", "a.b.svc.example.com:1", "may not be called"},
		{"in-cluster", "b.svc:1", "may not be called"},
		{"127.0.0.1:2", "127.0.0.1:1", "may not be called"},
		{"127.0.0.0/8", "[::1]:1", "may not be called"},
		{"10.0.0.0/8", "[::ffff:127.0.0.1]:1", "may not be called"},
		{"127.0.0.1", "127.0.0.1:1", "connection refused"},
		{"127.0.0.1:1", "127.0.0.1:1", "connection refused"},
		{"127.0.0.0/8", "127.0.0.1:1", "connection refused"},
		{"localhost", "LOCALHOST.:1", "connection refused"},
		{"::1", "[::1]:1", "::1"},
	} {
		var list []string
		if e.hosts != "" {
			list = strings.Split(e.hosts, ",")
		}
		h, err := ParseHosts(list)
		if err != nil {
			t.Fatal(err)
		}
		if err = h.check(e.address); err == nil {
			_, err = h.dial(t.Context(), "tcp", e.address)
		}
		if err == nil || !strings.Contains(err.Error(), e.want) {
			t.Errorf("%q, %s: %v, want %q", e.hosts, e.address, err, e.want)
		}
	}
}

// TestHostErrors checks entries that are no hosts.
func TestHostErrors(t *testing.T) {
	for _, text := range []string{"", " ", "http://x", "a/b", "x:0", "x:99999", "x:http", "*.example.com", "user@x", ":443"} {
		if _, err := ParseHosts([]string{text}); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// TestPublic checks which addresses an allowed name may have.
func TestPublic(t *testing.T) {
	for text, want := range map[string]bool{
		"8.8.8.8": true, "2001:4860:4860::8888": true, "127.0.0.1": false, "::1": false, "10.1.2.3": false,
		"172.16.0.1": false, "192.168.0.1": false, "169.254.169.254": false, "fe80::1": false, "fd00::1": false,
		"0.0.0.0": false, "::": false, "100.64.0.1": false, "224.0.0.1": false, "255.255.255.255": false,
		"64:ff9b::7f00:1": false,
	} {
		if got := isPublic(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
