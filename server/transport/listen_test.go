package transport

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseAddress(t *testing.T) {
	for _, tc := range []struct{ address, network, target string }{
		{"localhost:9090", "tcp", "localhost:9090"}, {":9090", "tcp", ":9090"}, {"[::1]:0", "tcp", "[::1]:0"},
		{"unix:///run/x.sock", "unix", "/run/x.sock"}, {"unix://relative", "", ""}, {"localhost", "", ""}, {"", "", ""},
	} {
		network, target, err := ParseAddress(tc.address)
		if network != tc.network || target != tc.target || (err == nil) != (tc.network != "") {
			t.Errorf("%q: %q %q %v", tc.address, network, target, err)
		}
	}
}

func TestUnixSockets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	first, err := Listen(t.Context(), "unix://"+path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != SocketMode {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := Listen(t.Context(), "unix://"+path); err == nil || !strings.Contains(err.Error(), "another process uses the socket") {
		t.Errorf("got %v", err)
	}
	// What kill -9 leaves: the file without the listener.
	first.(unixListener).Listener.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = first.Close()
	second, err := Listen(t.Context(), "unix://"+path)
	if err != nil {
		t.Fatal(err)
	}
	_ = second.Close()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(t.Context(), "unix://"+path); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("got %v", err)
	}
}

func TestHTTPPanicsAreLoggedAndCloseTheConnection(t *testing.T) {
	var logged bytes.Buffer
	l, err := Listen(t.Context(), "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	s := NewHTTPServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("half an ans"))
		panic("ouch")
	}), slog.New(slog.NewTextHandler(&logged, nil)))
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	client := &http.Client{Transport: &http.Transport{}}
	resp, err := client.Get("http://" + l.Addr().String())
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
	}
	if err == nil {
		t.Error("half an answer was taken for a whole one")
	}
	client.CloseIdleConnections()
	if !DrainHTTP(t.Context(), s) {
		t.Error("not graceful")
	}
	<-done
	if !strings.Contains(logged.String(), "ouch") {
		t.Errorf("log: %s", &logged)
	}
}
