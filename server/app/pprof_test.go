package app

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

func TestPprof(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "pprof.sock")
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", "unix://" + socket} {
		t.Run(address, func(t *testing.T) {
			r := start(t, "--http-address=off", "--pprof-address="+address)
			at := r.HTTPAddresses()
			if len(at) != 1 {
				t.Fatalf("HTTP addresses: %v", at)
			}
			for path, want := range map[string]string{
				"/debug/pprof/": "goroutine", "/debug/pprof/goroutine?debug=1": "goroutine profile:", "/debug/pprof/heap?debug=1": "heap profile:",
				"/debug/pprof/cmdline": ".test", "/debug/pprof/symbol": "num_symbols", "/debug/pprof/trace?seconds=0.001": "go 1.",
			} {
				if code, body := fetchAt(t, at[0], path); code != http.StatusOK || !strings.Contains(body, want) {
					t.Errorf("%s: %d %.200q", path, code, body)
				}
			}
			for _, path := range []string{"/", "/metrics", "/v1/serverInfo"} {
				if code, _ := fetchAt(t, at[0], path); code != http.StatusNotFound {
					t.Errorf("%s: %d, not 404", path, code)
				}
			}
		})
	}
}

// fetchAt is fetch for GET, also over unix sockets.
func fetchAt(t *testing.T, address net.Addr, path string) (int, string) {
	t.Helper()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, address.Network(), address.String())
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// A trace of an hour must not delay or spoil the end of the server.
func TestPprofEndsWhenDraining(t *testing.T) {
	r := start(t, "--pprof-address=127.0.0.1:0")
	r.ready(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.HTTPAddresses()[1].String()+"/debug/pprof/trace?seconds=3600", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req) // returns when the trace runs
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}

func TestPprofIsOffByDefault(t *testing.T) {
	r := start(t)
	for _, address := range r.HTTPAddresses() {
		if code, _ := fetchAt(t, address, "/debug/pprof/"); code != http.StatusNotFound {
			t.Errorf("%v: %d", address, code)
		}
	}
}

func TestPprofAddressMustBeLocal(t *testing.T) {
	for _, address := range []string{":6060", "0.0.0.0:6060", "[::]:6060", "192.0.2.1:6060", "example.com:6060", "6060", "unix://relative"} {
		if _, err := Defaults("--pprof-address=" + address); err == nil || !strings.Contains(err.Error(), "--pprof-address: ") {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"localhost:6060", "127.0.0.1:6060", "[::1]:6060", "unix:///run/pprof.sock"} {
		if _, err := Defaults("--pprof-address=" + address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}
