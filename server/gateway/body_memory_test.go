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

	"github.com/crdeval/crdeval/server/access"
	"github.com/crdeval/crdeval/server/gateway/codec"

	"google.golang.org/grpc/peer"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/transport"
)

// testPatience is the longest wait for a condition. Only a server that hangs exceeds it.
const testPatience = 5 * time.Minute

// withMemory makes requests hold memory of a ledger. Their caller is the connection, or the same for all if shared.
func withMemory(o *Options, total int64, shared bool) *call.Memory {
	m := call.NewMemory(total)
	entry := o.Entry
	o.Entry = admitFunc(func(r *http.Request) error {
		p, _ := peer.FromContext(r.Context())
		caller := p.Addr.String()
		if shared {
			caller = "caller"
		}
		call.Of(r.Context()).Lease = m.Open(caller)
		if entry != nil {
			return entry.AdmitRequest(r)
		}
		return nil
	})
	return m
}

// admitFunc is an Entry that permits all calls.
type admitFunc func(*http.Request) error

// AdmitRequest implements transport.Entry.
func (f admitFunc) AdmitRequest(r *http.Request) error { return f(r) }

// Run implements transport.Entry.
func (admitFunc) Run(ctx context.Context, _ string, _ access.Permission, _ string, f func(context.Context) error) error {
	return f(ctx)
}

func held(m *call.Memory) (n int64) {
	for _, bytes := range m.Stats().Bytes {
		n += bytes
	}
	return n
}

// startBody begins a request whose body has size bytes. It returns the body, and the HTTP status and text of the response.
func startBody(t *testing.T, url string, size int64) (body *io.PipeWriter, answer <-chan string) {
	t.Helper()
	from, body := io.Pipe()
	t.Cleanup(func() { _ = body.Close() })
	answered := make(chan string, 1)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, from)
	if err != nil {
		t.Fatal(err)
	}
	request.ContentLength = size
	request.Header.Set("Content-Type", "application/json")
	go func() {
		resp, err := (&http.Transport{}).RoundTrip(request)
		if err != nil {
			answered <- err.Error()
			return
		}
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		answered <- fmt.Sprint(resp.StatusCode, " ", string(text))
	}()
	return body, answered
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(testPatience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

// TestBodiesInMemory: a body holds memory for what has arrived of it, and returns the memory. Bodies for which there is
// no memory are rejected.
func TestBodiesInMemory(t *testing.T) {
	var rejected atomic.Int32
	o := Options{MaxBodyBytes: 1 << 20, Bodies: NewBodies(func() { rejected.Add(1) })}
	memory := withMemory(&o, 1<<20, true)
	_, rest := serve(t, o)
	url := rest.URL + "/v1/catalogs/default/crds"
	large := func() io.Reader { return strings.NewReader(strings.Repeat(" ", 300<<10) + "{}") }
	const size = 400 << 10
	first, answer := startBody(t, url, size)
	if _, err := first.Write([]byte("{}")); err != nil {
		t.Fatal(err)
	}
	until(t, "the body has not begun", func() bool { return held(memory) > 0 })
	if n := held(memory); n != firstStep {
		t.Errorf("%d bytes are held for 2", n)
	}
	if code, text, _ := send(t, http.MethodPost, url, large(), nil); code != http.StatusOK {
		t.Errorf("beside an incomplete body: HTTP %d %s", code, text)
	}
	if _, err := first.Write(bytes.Repeat([]byte(" "), size-10)); err != nil {
		t.Fatal(err)
	}
	until(t, "the body has not arrived", func() bool { return held(memory) == size })
	for name, second := range map[string]io.Reader{"known length": large(), "unknown length": io.MultiReader(large())} {
		code, text, _ := send(t, http.MethodPost, url, second, nil)
		if code != http.StatusServiceUnavailable || !strings.Contains(text, `"reason":"OVERLOADED"`) || !strings.Contains(text, "memory") {
			t.Errorf("%s: HTTP %d %s", name, code, text)
		}
	}
	if n := rejected.Load(); n != 2 {
		t.Errorf("%d rejections counted", n)
	}
	if _, err := first.Write(bytes.Repeat([]byte(" "), 8)); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; !strings.HasPrefix(got, "200 ") {
		t.Errorf("the first: %s", got)
	}
	until(t, "memory was not returned", func() bool { return held(memory) == 0 })
}

// TestStalledBodiesLoseMemory: a body that does not arrive is rejected if another caller needs its memory.
func TestStalledBodiesLoseMemory(t *testing.T) {
	o := Options{MaxBodyBytes: 1 << 20, Bodies: NewBodies(nil)}
	o.Bodies.patience = time.Hour
	memory := withMemory(&o, 1<<20, false)
	_, rest := serve(t, o)
	url := rest.URL + "/v1/catalogs/default/crds"
	first, answer := startBody(t, url, 500<<10)
	if _, err := first.Write(make([]byte, 499<<10)); err != nil {
		t.Fatal(err)
	}
	until(t, "the body has not arrived", func() bool { return held(memory) >= 499<<10 })
	until(t, "another caller gets no memory", func() bool {
		code, _, _ := send(t, http.MethodPost, url, strings.NewReader(strings.Repeat(" ", 250<<10)+"{}"), nil)
		return code == http.StatusOK
	})
	if got := <-answer; !strings.HasPrefix(got, "503 ") || !strings.Contains(got, "OVERLOADED") {
		t.Error(got)
	}
	until(t, "memory was not returned", func() bool { return held(memory) == 0 })
}

// TestSlowBodies: a body that does not arrive is rejected and returns its memory.
func TestSlowBodies(t *testing.T) {
	o := Options{MaxBodyBytes: 1000, Bodies: NewBodies(nil)}
	o.Bodies.patience = 50 * time.Millisecond
	memory := withMemory(&o, 1<<20, false)
	_, rest := serve(t, o)
	body, writer := io.Pipe()
	defer func() { _ = writer.Close() }() // not before the answer: then the body would have arrived
	code, text, _ := send(t, http.MethodPost, rest.URL+"/v1/catalogs/default/crds", body, nil)
	if code != http.StatusGatewayTimeout || !strings.Contains(text, "the body arrived too slowly: the limit is 50ms") || held(memory) != 0 {
		t.Errorf("HTTP %d %s, %d bytes are held", code, text, held(memory))
	}
}

// TestStalledBodies: a body that promises much has no more time than what of it has arrived earns it.
func TestStalledBodies(t *testing.T) {
	o := Options{Bodies: NewBodies(nil)}
	o.Bodies.patience = 50 * time.Millisecond
	memory := withMemory(&o, 1<<20, false)
	_, rest := serve(t, o)
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
	if resp.StatusCode != http.StatusGatewayTimeout || held(memory) != 0 {
		t.Errorf("HTTP %d, %d bytes are held", resp.StatusCode, held(memory))
	}
}

// TestSlowCalls: the time that a body has to arrive is not the time that its call may take.
func TestSlowCalls(t *testing.T) {
	for patience := 50 * time.Millisecond; ; patience *= 10 { // a busy machine may be away for as long as the body has
		bodies := NewBodies(nil)
		bodies.patience = patience
		r, rest := serve(t, Options{Bodies: bodies})
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

// admitUnless returns an Entry that rejects requests with an Authorization.
func admitUnless(authorization string) admitFunc {
	return func(r *http.Request) error {
		if r.Header.Get("Authorization") == authorization {
			return failure(crdevalv1.ErrorReason_ERROR_REASON_UNAUTHENTICATED, "who are you", nil)
		}
		return nil
	}
}

// TestAdmit checks that a request that is not admitted is rejected before its body is read.
func TestAdmit(t *testing.T) {
	r, rest := serve(t, Options{Entry: admitUnless("")})
	url := rest.URL + "/v1/catalogs/default/crds"
	code, text, header := send(t, http.MethodPost, url, strings.NewReader(`{}`), nil)
	if code != http.StatusUnauthorized || !strings.Contains(text, "who are you") || header.Get("WWW-Authenticate") != "Bearer" || r.manifest != nil {
		t.Errorf("HTTP %d %s", code, text)
	}
	if code, text, _ := send(t, http.MethodPost, url, strings.NewReader(`{}`), http.Header{"Authorization": {"Bearer x"}}); code != http.StatusOK {
		t.Errorf("HTTP %d %s", code, text)
	}
}

// TestAdmitOnce: each call is admitted once, because a second slot would replace the first one without its release.
func TestAdmitOnce(t *testing.T) {
	var admitted atomic.Int32
	_, rest := serve(t, Options{Entry: admitFunc(func(*http.Request) error {
		admitted.Add(1)
		return nil
	})})
	for _, path := range []string{
		"GET /v1/catalogs/default", "GET /v1/catalogs/default/crds:watch", "POST /v1/catalogs/default:validate",
		"POST /v1/catalogs/default:admitStream", "POST /v1/catalogs/default/crds", "DELETE /v1/catalogs/default",
		"POST /webhooks/catalogs/default/validate", "GET /v1/catalogs/default/apis", "GET /v1/serverInfo",
	} {
		method, path, _ := strings.Cut(path, " ")
		admitted.Store(0)
		code, text, _ := send(t, method, rest.URL+path, nil, http.Header{"Content-Type": {"application/json"}})
		if n := admitted.Load(); n != 1 {
			t.Errorf("%s %s: admitted %d times, HTTP %d %s", method, path, n, code, text)
		}
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
	text, err := codec.Marshal(&crdevalv1.GetServerInfoRequest{})
	if err != nil || string(text) != "{}\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestRejectedAtOnce: a client can read a rejection while it sends, and its body holds no memory then.
func TestRejectedAtOnce(t *testing.T) {
	o := Options{MaxBodyBytes: 100 << 10, Entry: admitUnless("none")}
	memory := withMemory(&o, 1<<20, false)
	_, rest := serve(t, o)
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
				late, err := rejectedAtOnce(strings.TrimPrefix(rest.URL, "http://"), request, c.code, memory)
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
func rejectedAtOnce(address, request string, code int, memory *call.Memory) (late bool, err error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(transport.DiscardPatience / 2)) // a handler that waits for the end of the body answers after discardPatience
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
	if resp.StatusCode != code || held(memory) != 0 {
		return false, fmt.Errorf("HTTP %d %s; %d bytes are held", resp.StatusCode, text, held(memory))
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
