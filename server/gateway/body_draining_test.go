package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestDrainBodies checks that incomplete bodies have a short time once the server drains, and then get the reason.
func TestDrainBodies(t *testing.T) {
	for name, head := range map[string]string{
		"a call":    "POST /v1/catalogs/default/crds HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 100",
		"chunks":    "POST /v1/catalogs/default/crds HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked",
		"a webhook": "POST /webhooks/catalogs/default/mutate HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 100",
	} {
		t.Run(name, func(t *testing.T) {
			bodies := NewBodies(nil)
			bodies.patience, bodies.drainPatience, bodies.discardPatience = time.Hour, 50*time.Millisecond, time.Hour
			o := Options{Bodies: bodies}
			memory := withMemory(&o, 1<<20, false)
			_, rest := serve(t, o)
			before := unfinished(t, rest.URL, head)
			underWay := func() int {
				bodies.mu.Lock()
				defer bodies.mu.Unlock()
				return len(bodies.arriving)
			}
			for deadline := time.Now().Add(testPatience); underWay() != 1; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("%d bodies are under way", underWay())
				}
			}
			bodies.Drain()
			for _, conn := range []net.Conn{before, unfinished(t, rest.URL, head)} {
				_ = conn.SetReadDeadline(time.Now().Add(testPatience))
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil || resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(text), "OVERLOADED") || !strings.Contains(string(text), "shutting down") {
					t.Errorf("HTTP %d %s, %v", resp.StatusCode, text, err)
				}
			}
			if held(memory) != 0 || underWay() != 0 {
				t.Errorf("%d bytes are held, %d bodies under way", held(memory), underWay())
			}
		})
	}
}

// TestCompleteBodiesWhileDraining: a caller that has sent a body as a whole is served.
func TestCompleteBodiesWhileDraining(t *testing.T) {
	bodies := NewBodies(nil)
	_, rest := serve(t, Options{Bodies: bodies})
	bodies.Drain()
	if code, text, _ := send(t, http.MethodPost, rest.URL+"/v1/catalogs/default/crds", strings.NewReader(`{}`), nil); code != http.StatusOK {
		t.Errorf("HTTP %d %s", code, text)
	}
}

// unfinished sends the head of a request and no body.
func unfinished(t *testing.T, url, head string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := fmt.Fprintf(conn, "%s\r\nHost: x\r\n\r\n", head); err != nil {
		t.Fatal(err)
	}
	return conn
}
