package gateway

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// testPatience is the longest wait for a condition. Only a server that hangs exceeds it.
const testPatience = 5 * time.Minute

// TestBodiesInMemory: all bodies share the memory and return it. Rejected bodies are not read into memory.
func TestBodiesInMemory(t *testing.T) {
	var rejected atomic.Int32
	held := NewBodies(100, func() { rejected.Add(1) })
	r, rest := serve(t, Options{MaxBodyBytes: 100, Bodies: held})
	url := rest.URL + "/v1/catalogs/default/crds"
	first, writer := io.Pipe()
	answered := make(chan int, 1)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, first)
	if err != nil {
		t.Fatal(err)
	}
	request.ContentLength = 90
	request.Header.Set("Content-Type", "application/json")
	go func() {
		resp, err := http.DefaultClient.Do(request)
		if err != nil {
			answered <- 0
			return
		}
		_ = resp.Body.Close()
		answered <- resp.StatusCode
	}()
	body := bytes.Repeat([]byte(" "), 88)
	if _, err := writer.Write([]byte("{}")); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(testPatience); held.Taken() != 90; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes are taken, want 90", held.Taken())
		}
	}
	for name, second := range map[string]io.Reader{
		"known length":   strings.NewReader(`{"a":"bcdef"}`),
		"unknown length": io.MultiReader(strings.NewReader(`{"a":"bcdef"}`)),
	} {
		code, text, _ := send(t, http.MethodPost, url, second, nil)
		if code != http.StatusServiceUnavailable || !strings.Contains(text, `"reason":"OVERLOADED"`) || !strings.Contains(text, "--rest-body-bytes is 100") {
			t.Errorf("%s: HTTP %d %s", name, code, text)
		}
	}
	if n := rejected.Load(); n != 2 {
		t.Errorf("%d rejections counted", n)
	}
	if _, err := writer.Write(body); err != nil {
		t.Fatal(err)
	}
	_ = writer.Close()
	if code := <-answered; code != http.StatusOK {
		t.Errorf("the first: HTTP %d", code)
	}
	if code, text, _ := send(t, http.MethodPost, url, strings.NewReader(`{"a":"bcdef"}`), nil); code != http.StatusOK {
		t.Errorf("the memory was not returned: HTTP %d %s", code, text)
	}
	if r.manifest == nil || held.Taken() != 0 {
		t.Errorf("%v, %d bytes are still taken", r.manifest, held.Taken())
	}
}

// TestMemoryForSmallBodies: large bodies leave memory for small ones, also if they grow or shrink. A single body may take all of it.
func TestMemoryForSmallBodies(t *testing.T) {
	const unit = smallBody
	bodies := NewBodies(16*unit, nil) // 2 of them reserved for small bodies
	take := func(r *reservation, n int64, want bool) {
		t.Helper()
		if err := r.take(n); (err == nil) != want {
			t.Errorf("%d on top of %d, where all have %d: %v", n, r.taken, bodies.Taken(), err)
		}
	}
	alone := &reservation{of: bodies}
	take(alone, 16*unit, true)
	take(&reservation{of: bodies}, 1, false)
	alone.release()

	first, second, growing := &reservation{of: bodies}, &reservation{of: bodies}, &reservation{of: bodies}
	take(first, 10*unit, true)
	take(second, 5*unit, false)
	take(second, 4*unit, true)
	take(growing, unit, true) // it is small
	take(growing, 1, false)   // it is not any more
	small := &reservation{of: bodies}
	take(small, unit, true)
	take(&reservation{of: bodies}, 1, false)
	second.give(3*unit + unit/2)
	take(growing, unit, true)
	for _, r := range []*reservation{first, second, growing, small} {
		r.release()
	}
	if bodies.Taken() != 0 || bodies.large.Load() != 0 {
		t.Errorf("%d bytes stay taken, %d by large ones", bodies.Taken(), bodies.large.Load())
	}
}

// TestSlowBodies: a body that does not arrive is rejected and returns its memory.
func TestSlowBodies(t *testing.T) {
	held := NewBodies(1000, nil)
	held.patience = 50 * time.Millisecond
	_, rest := serve(t, Options{MaxBodyBytes: 1000, Bodies: held})
	body, writer := io.Pipe()
	defer func() { _ = writer.Close() }() // not before the answer: then the body would have arrived
	code, text, _ := send(t, http.MethodPost, rest.URL+"/v1/catalogs/default/crds", body, nil)
	if code != http.StatusGatewayTimeout || !strings.Contains(text, "the body arrived too slowly: the limit is 50ms") || held.Taken() != 0 {
		t.Errorf("HTTP %d %s, %d bytes taken", code, text, held.Taken())
	}
}

// TestStalledBodies: a body that promises much has no more time than what of it has arrived earns it.
func TestStalledBodies(t *testing.T) {
	held := NewBodies(64<<20, nil)
	held.patience = 50 * time.Millisecond
	_, rest := serve(t, Options{Bodies: held})
	conn, err := net.Dial("tcp", strings.TrimPrefix(rest.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte("POST /v1/catalogs/default/crds HTTP/1.1\r\nContent-Type: application/json\r\nHost: x\r\nContent-Length: 60000000\r\n\r\n{\"a\":")); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(100 * time.Second)) // less than the time for 60 MB
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusGatewayTimeout || held.Taken() != 0 {
		t.Errorf("HTTP %d, %d bytes taken", resp.StatusCode, held.Taken())
	}
}

// TestSlowCalls: the time that a body has to arrive is not the time that its call may take.
func TestSlowCalls(t *testing.T) {
	for patience := 50 * time.Millisecond; ; patience *= 10 { // a busy machine may be away for as long as the body has
		held := NewBodies(1000, nil)
		held.patience = patience
		r, rest := serve(t, Options{Bodies: held})
		r.mu.Lock()
		time.AfterFunc(4*patience, r.mu.Unlock)
		code, text, _ := send(t, http.MethodPost, rest.URL+"/v1/catalogs/default/crds", strings.NewReader(`{}`), nil)
		if code == http.StatusOK {
			return
		}
		if t.Logf("%v for the body: HTTP %d %s", patience, code, text); patience > time.Minute {
			t.Fatal("a call may take no longer than its body")
		}
	}
}

// admitUnless returns an Options.Admit that rejects requests with an Authorization.
func admitUnless(authorization string) func(*http.Request) (context.Context, func(), error) {
	return func(r *http.Request) (ctx context.Context, release func(), err error) {
		if r.Header.Get("Authorization") == authorization {
			err = failure(crdevalv1.ErrorReason_ERROR_REASON_UNAUTHENTICATED, "who are you", nil)
		}
		return r.Context(), func() {}, err
	}
}

// TestAdmit checks that a request that is not admitted is rejected before its body is read.
func TestAdmit(t *testing.T) {
	r, rest := serve(t, Options{Admit: admitUnless("")})
	url := rest.URL + "/v1/catalogs/default/crds"
	code, text, header := send(t, http.MethodPost, url, strings.NewReader(`{}`), nil)
	if code != http.StatusUnauthorized || !strings.Contains(text, "who are you") || header.Get("WWW-Authenticate") != "Bearer" || r.manifest != nil {
		t.Errorf("HTTP %d %s", code, text)
	}
	if code, text, _ := send(t, http.MethodPost, url, strings.NewReader(`{}`), http.Header{"Authorization": {"Bearer x"}}); code != http.StatusOK {
		t.Errorf("HTTP %d %s", code, text)
	}
}

// TestLineFeeds: every answer ends a line, and says how long it is.
func TestLineFeeds(t *testing.T) {
	_, rest := serve(t, Options{})
	for _, path := range []string{"/v1/catalogs/x", "/v1/nothing", "/healthz", "/openapi.json"} {
		_, text, header := send(t, http.MethodGet, rest.URL+path, nil, nil)
		if !strings.HasSuffix(text, "}\n") || strings.HasSuffix(text, "\n\n") {
			t.Errorf("%s: %q", path, text[max(0, len(text)-40):])
		}
		if header.Get("Content-Length") == "" {
			t.Errorf("%s: no Content-Length", path)
		}
	}
	text, err := Marshaler{}.Marshal(&crdevalv1.GetServerInfoRequest{})
	if err != nil || string(text) != "{}\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestRejectedAtOnce: a client can read a rejection while it sends, and its body holds no memory then.
func TestRejectedAtOnce(t *testing.T) {
	held := NewBodies(1<<20, nil)
	_, rest := serve(t, Options{MaxBodyBytes: 100 << 10, Bodies: held, Admit: admitUnless("none")})
	for _, c := range []struct {
		name, head string
		sent       int
		code       int
	}{
		{"a token", "POST /v1/catalogs/default/crds HTTP/1.1\r\nContent-Type: application/json\r\nAuthorization: none", 1, 401},
		{"a token of a stream", "POST /v1/catalogs/default:admitStream HTTP/1.1\r\nContent-Type: application/json\r\nAuthorization: none", 1, 401},
		{"a parameter of a stream", "POST /v1/catalogs/default:admitStream?x=1 HTTP/1.1\r\nContent-Type: application/json", 1, 400},
		{"a media type", "POST /v1/catalogs/default/crds HTTP/1.1\r\nContent-Type: text/csv", 1, 415},
		{"a method", "PUT /v1/catalogs/default:admit HTTP/1.1", 1, 405},
		{"a path", "POST /v1/nothing HTTP/1.1\r\nContent-Type: application/json", 1, 404},
		{"a query", "POST /v1/catalogs/default:admit?x=1 HTTP/1.1\r\nContent-Type: application/json", 1, 400},
		{"a webhook", "POST /webhooks/nothing HTTP/1.1\r\nContent-Type: application/json", 1, 404},
		{"a webhook's token", "POST /webhooks/catalogs/default/mutate HTTP/1.1\r\nContent-Type: application/json\r\nAuthorization: none", 1, 401},
		{"a method of a webhook", "PUT /webhooks/catalogs/default/mutate HTTP/1.1", 1, 405},
		{"too much", "POST /v1/catalogs/default/crds HTTP/1.1\r\nContent-Type: application/json", 200 << 10, 413},
	} {
		t.Run(c.name, func(t *testing.T) {
			request := fmt.Sprintf("%s\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", c.head, c.sent, strings.Repeat(" ", c.sent))
			for attempt := 1; ; attempt++ {
				late, err := rejectedAtOnce(strings.TrimPrefix(rest.URL, "http://"), request, c.code, held)
				if err == nil {
					return
				}
				if !late || attempt == 20 {
					t.Fatal(err)
				}
				t.Log("the machine was away, or it is not at once:", err)
			}
		})
	}
}

// rejectedAtOnce sends a request whose body has no end and wants it rejected with a code. It says whether an error may be that of a busy machine.
func rejectedAtOnce(address, request string, code int, held *Bodies) (late bool, err error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(discardTime / 2)) // a handler that waits for the end of the body answers after discardTime
	if _, err := io.WriteString(conn, request); err != nil {
		return os.IsTimeout(err), err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return os.IsTimeout(err), err
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return os.IsTimeout(err), err
	}
	if resp.StatusCode != code || held.Taken() != 0 {
		return false, fmt.Errorf("HTTP %d %s; %d bytes are taken", resp.StatusCode, text, held.Taken())
	}
	_, err = io.WriteString(conn, "1\r\n \r\n") // who does not read yet is not cut off
	return os.IsTimeout(err), err
}

// TestEscapedPaths: paths that grpc-gateway cannot parse get the answer of unknown paths.
func TestEscapedPaths(t *testing.T) {
	_, rest := serve(t, Options{})
	for _, path := range []string{"/v1/catalogs/default/openapi/v3/apis/..%2f..", "/v1/nothing"} {
		code, text, _ := send(t, http.MethodGet, rest.URL+path, nil, nil)
		if code != http.StatusNotFound || !strings.Contains(text, `"reason":"PATH_NOT_FOUND"`) {
			t.Errorf("%s: HTTP %d %s", path, code, text)
		}
	}
}
