package conversion

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
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

// dns returns a resolver that answers each lookup with the next list of addresses, and the last one from then on.
func dns(t *testing.T, lookups ...[]string) *net.Resolver {
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	var mu sync.Mutex
	asked := map[uint16]int{} // by type: A and AAAA are asked at the same time
	respond := func(query []byte) []byte {
		end := 12
		for query[end] != 0 {
			end += int(query[end]) + 1
		}
		kind := binary.BigEndian.Uint16(query[end+1:])
		mu.Lock()
		list := lookups[min(asked[kind], len(lookups)-1)]
		asked[kind]++
		mu.Unlock()
		response := append(slices.Clone(query[:2]), 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0)
		response = append(response, query[12:end+5]...)
		for _, text := range list {
			address := netip.MustParseAddr(text)
			if address.Is4() != (kind == 1) {
				continue
			}
			response[7]++
			response = append(response, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(address.BitLen()/8))
			response = append(response, address.AsSlice()...)
		}
		return response
	}
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe() // not a packet connection, so messages have the framing of TCP
		all.Go(func() {
			defer func() { _ = far.Close() }()
			for {
				var size [2]byte
				if _, err := io.ReadFull(far, size[:]); err != nil {
					return
				}
				query := make([]byte, binary.BigEndian.Uint16(size[:]))
				if _, err := io.ReadFull(far, query); err != nil {
					return
				}
				response := respond(query)
				if _, err := far.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(response))), response...)); err != nil {
					return
				}
			}
		})
		return near, nil
	}}
}

// TestResolvedAddresses checks that names cannot lead to addresses that are not allowed, also if their addresses change.
func TestResolvedAddresses(t *testing.T) {
	connected := make(chan struct{}, 100)
	listener := listen(t, func(net.Conn) { connected <- struct{}{} })
	_, port, err := net.SplitHostPort(listener)
	if err != nil {
		t.Fatal(err)
	}
	const forbidden = "which is not public: list the address in --conversion-webhooks"
	for _, e := range []struct {
		hosts   string
		name    string
		lookups [][]string
		want    []string // of each connection: an error, or empty
	}{
		{"hook.test", "hook.test", [][]string{{"127.0.0.1"}}, []string{forbidden}},
		{"hook.test", "hook.test", [][]string{{"0.0.0.0"}}, []string{forbidden}},
		{"hook.test", "hook.test", [][]string{{"::ffff:127.0.0.1"}}, []string{forbidden}},
		{"hook.test", "hook.test", [][]string{{"::1"}}, []string{forbidden}},
		{"hook.test", "hook.test", [][]string{{"169.254.169.254", "10.0.0.1", "::1", "64:ff9b::7f00:1", "2002:7f00:1::", "224.0.0.1"}}, []string{forbidden}},
		{"hook.test", "hook.test", [][]string{{}}, []string{"no such host"}},
		{"hook.test,127.0.0.1", "hook.test", [][]string{{"127.0.0.1"}}, []string{""}},
		{"hook.test,127.0.0.0/8", "hook.test", [][]string{{"10.0.0.1", "127.0.0.1"}}, []string{""}}, // the other address is not tried
		{"hook.test,127.0.0.1", "hook.test", [][]string{{"127.0.0.1"}, {"169.254.169.254"}, {"127.0.0.1"}}, []string{"", forbidden, ""}},
		{"hook.test:" + port + ",127.0.0.1:" + port, "hook.test", [][]string{{"127.0.0.1"}}, []string{""}},
		{"hook.test,127.0.0.1:1", "hook.test", [][]string{{"127.0.0.1"}}, []string{forbidden}},
		{"in-cluster", "hook.space.svc", [][]string{{"127.0.0.1"}}, []string{forbidden}},
		{"in-cluster", "hook.space.svc", [][]string{{"169.254.169.254"}}, []string{forbidden}},
		{"in-cluster,127.0.0.1", "hook.space.svc", [][]string{{"127.0.0.1"}}, []string{""}},
	} {
		h, err := ParseHosts(strings.Split(e.hosts, ","))
		if err != nil {
			t.Fatal(err)
		}
		h.resolver = dns(t, e.lookups...)
		if err := h.check(e.name + ":" + port); err != nil {
			t.Errorf("%s: %v", e.hosts, err)
			continue
		}
		for i, want := range e.want {
			c, err := h.dial(t.Context(), "tcp", e.name+":"+port)
			if want == "" && err == nil {
				_ = c.Close()
				<-connected
				continue
			}
			if err == nil || !strings.Contains(err.Error(), want) || want == "" {
				t.Errorf("%s, %v, connection %d: %v, want %q", e.hosts, e.lookups, i, err, want)
			}
		}
		if n := len(connected); n != 0 {
			t.Errorf("%s, %v: %d connections", e.hosts, e.lookups, n)
		}
	}
}
