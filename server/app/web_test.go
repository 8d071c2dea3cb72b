package app

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/transport"
)

// TestUnfinishedBodies: an incomplete body of a REST request does not delay the shutdown, which is graceful.
func TestUnfinishedBodies(t *testing.T) {
	r := start(t, "--drain-timeout=20s") // below the time limit of a body, 30 seconds
	conn := beginBody(t, r, "Content-Length: 100\r\nExpect: 100-continue\r\n\r\n")
	if _, err := conn.Read(make([]byte, 1)); err != nil { // "100 Continue" says that the body is being read
		t.Fatal(err)
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}

// beginBody begins a REST call on a new connection. rest is what follows the media type in the header.
func beginBody(t *testing.T, r *running, rest string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", r.HTTPAddresses()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := fmt.Fprint(conn, "POST /v1/catalogs/default:admit HTTP/1.1\r\nContent-Type: application/json\r\nHost: localhost\r\n"+rest); err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestMemoryOfIdentities: REST requests of an identity share its memory, also on several connections.
func TestMemoryOfIdentities(t *testing.T) {
	const mebi = 1 << 20
	r := start(t, "--memory=64MiB", "--max-message-bytes=8MiB", // 9 MiB for one caller
		"--auth-token-file="+write(t, "token-a,a,1\ntoken-b,b,2\n"))
	beginBody(t, r, fmt.Sprintf("Authorization: Bearer token-a\r\nContent-Length: %d\r\n\r\n%s", 6*mebi, strings.Repeat(" ", 5*mebi)))
	eventually(t, func() error {
		if held := r.memory.Stats().Bytes[call.Request]; held < 6*mebi {
			return fmt.Errorf("%d bytes are held", held)
		}
		return nil
	})
	body := strings.Repeat(" ", 4*mebi) + `{"items":[]}`
	for token, want := range map[string]int{"token-a": http.StatusServiceUnavailable, "token-b": http.StatusOK} {
		code, text := fetch(t, r.HTTPAddresses()[0], http.MethodPost, "/v1/catalogs/default:admit", "application/json", body,
			"Authorization", "Bearer "+token)
		if code != want {
			t.Errorf("%s: HTTP %d %s, want %d", token, code, text, want)
		}
	}
}

// TestMetricsAreWrittenInTime: a client that does not read metrics must not hold a connection, which all listeners share.
func TestMetricsAreWrittenInTime(t *testing.T) {
	r := start(t, "--metrics-address=localhost:0")
	if got := r.web[1].server.WriteTimeout; got != transport.WritePatience {
		t.Errorf("a response at --metrics-address can take %v", got)
	}
}

// TestIgnoredBodies: a request with a body that never arrives, for a response that needs none, does not hold its
// connection.
func TestIgnoredBodies(t *testing.T) {
	r := start(t, "--metrics-address=localhost:0", "--pprof-address=localhost:0")
	rest, metrics, profiles := r.HTTPAddresses()[0], r.HTTPAddresses()[1], r.HTTPAddresses()[2]
	var all sync.WaitGroup
	for _, c := range []struct {
		address    net.Addr
		line, host string
	}{
		{rest, "GET /openapi.json", "localhost"}, {rest, "GET /healthz", "localhost"}, {rest, "GET /v1/catalogs", "other.example.com"},
		{metrics, "GET /metrics", "localhost"}, {metrics, "GET /readyz", "localhost"}, {metrics, "POST /metrics", "localhost"},
		{profiles, "GET /debug/pprof/cmdline", "localhost"},
	} {
		all.Go(func() {
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", c.address.String())
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close() }()
			_ = conn.SetDeadline(time.Now().Add(patience))
			fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: %s\r\nContent-Length: 100\r\n\r\n", c.line, c.host)
			if text, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 ") {
				t.Errorf("%s: %.100s, %v", c.line, text, err)
			}
		})
	}
	all.Wait()
}
