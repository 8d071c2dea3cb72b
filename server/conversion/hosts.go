package conversion

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/crdeval/crdeval/server/netaddress"
)

// InCluster is an entry of Hosts that allows services of the cluster: NAME.NAMESPACE.svc, at private addresses.
const InCluster = "in-cluster"

// Hosts are the hosts that may be called. The zero value allows none.
//
// An allowed name must resolve to public addresses, or to addresses that are allowed themselves. Otherwise an attacker
// that controls the DNS of an allowed name could reach other servers of the network.
type Hosts struct {
	inCluster bool
	names     map[string]bool // host or host:port, in lower case
	addresses []addresses
	resolver  *net.Resolver // nil: that of the system
}

// addresses are the addresses of a prefix, at a port or, if it is 0, at all ports.
type addresses struct {
	prefix netip.Prefix
	port   uint16
}

// ParseHosts parses a list of names, names with ports, IP addresses, CIDR prefixes and InCluster.
func ParseHosts(list []string) (h Hosts, err error) {
	h.names = map[string]bool{}
	for _, text := range list {
		if text == InCluster {
			h.inCluster = true
			continue
		}
		if prefix, err := netip.ParsePrefix(text); err == nil {
			h.addresses = append(h.addresses, addresses{prefix: prefix.Masked()})
			continue
		}
		host, port, err := net.SplitHostPort(text)
		number := uint64(0)
		if err != nil {
			host = strings.Trim(text, "[]")
		} else if number, err = strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			return h, fmt.Errorf("%q: %q is not a port", text, port)
		}
		host = strings.ToLower(host)
		switch address, err := netip.ParseAddr(host); {
		case err == nil:
			address = address.Unmap()
			h.addresses = append(h.addresses, addresses{netip.PrefixFrom(address, address.BitLen()), uint16(number)})
			continue
		case host == "" || strings.ContainsAny(host, "/:*@ "):
			return h, fmt.Errorf("%q is not a host, host:port, IP address, CIDR prefix or %q", text, InCluster)
		case host == "localhost":
			for _, loopback := range []string{"127.0.0.0/8", "::1/128"} {
				h.addresses = append(h.addresses, addresses{netip.MustParsePrefix(loopback), uint16(number)})
			}
		}
		if number != 0 {
			host = net.JoinHostPort(host, port)
		}
		h.names[host] = true
	}
	return h, nil
}

// CheckService checks a key and a value of Options.Services.
func CheckService(service, address string) error {
	namespace, name, found := strings.Cut(service, "/")
	if !found || namespace == "" || name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("%q is not NAMESPACE/NAME or NAMESPACE/NAME:PORT", service)
	}
	host, port, err := net.SplitHostPort(address)
	if n, parseErr := strconv.ParseUint(port, 10, 16); err != nil || parseErr != nil || n == 0 || host == "" {
		return fmt.Errorf("%q of %s is not HOST:PORT", address, service)
	}
	return nil
}

// dialTimeout bounds the time to open a connection. If a call ends early, the dial continues.
const dialTimeout = 30 * time.Second

// normal returns an address (host:port) with its host in lower case and without a final dot.
func normal(address string) string { return strings.Replace(strings.ToLower(address), ".:", ":", 1) }

// check returns an error if an address (host:port) may not be called.
func (h Hosts) check(address string) error {
	host, port, err := net.SplitHostPort(normal(address))
	if err != nil {
		return err
	}
	literal, _ := netip.ParseAddrPort(address)
	if h.isService(host) || h.names[host] || h.names[net.JoinHostPort(host, port)] || h.contains(literal) {
		return nil
	}
	return &failure{Forbidden, fmt.Errorf("%s may not be called, and the CRD has no accepted conversion rules: "+
		"list the host in --conversion-webhooks, or set rules with SetConversion or in a file of --crds", address)}
}

// isService reports whether a host is a service and services are allowed.
func (h Hosts) isService(host string) bool {
	return h.inCluster && strings.Count(host, ".") == 2 && strings.HasSuffix(host, ".svc")
}

// dial opens a connection to an address that check allows. It fails if the name resolves to a forbidden address.
func (h Hosts) dial(ctx context.Context, network, address string) (net.Conn, error) {
	address = normal(address)
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: dialTimeout, Resolver: h.resolver, Control: func(_, dialed string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(dialed)
		if err != nil {
			return err
		}
		if a := at.Addr().Unmap(); !h.contains(at) && !netaddress.IsPublic(a) && (!h.isService(host) || !a.IsPrivate()) {
			return &failure{Forbidden, fmt.Errorf(
				"%s has the address %v, which is not public: list the address in --conversion-webhooks", host, a)}
		}
		return nil
	}}
	return d.DialContext(ctx, network, address)
}

// contains reports whether an address is listed.
func (h Hosts) contains(a netip.AddrPort) bool {
	for _, listed := range h.addresses {
		if (listed.port == 0 || listed.port == a.Port()) && listed.prefix.Contains(a.Addr().Unmap().WithZone("")) {
			return true
		}
	}
	return false
}
