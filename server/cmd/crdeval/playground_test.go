package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/crdeval/crdeval/server/editor/playground"
)

// TestPlayground serves a page, rejects other sites, and ends when it is interrupted.
func TestPlayground(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	p, url, ended := servePlayground(t, ctx, playgroundRead)
	for _, c := range []struct {
		name, value, host string
		code              int
	}{
		{code: 200}, {host: "localhost", code: 200}, {host: "evil.example.com", code: 403},
		{name: "Origin", value: "http://evil.example.com", code: 403}, {name: "Sec-Fetch-Site", value: "cross-site",
			code: 403},
	} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Host = c.host; c.name != "" {
			r.Header.Set(c.name, c.value)
		}
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != c.code {
			t.Errorf("%+v: HTTP %d", c, answer.StatusCode)
		}
	}
	second := playgroundCommand{Address: strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")}
	if err := second.serve(ctx, environment{stdout: io.Discard, stderr: io.Discard}, p, playgroundRead); err == nil ||
		!strings.Contains(err.Error(), "port 0 selects a free one") {
		t.Errorf("a second one: %v", err)
	}
	stop()
	if err := <-ended; err != nil && !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

// servePlayground serves a small page until ctx ends. It returns the URL of the page, and the error of the command.
func servePlayground(t *testing.T, ctx context.Context, read time.Duration) (p *playground.Playground, url string, ended chan error) {
	t.Helper()
	p, err := playground.From(fstest.MapFS{"web/dist/index.html": {Data: []byte("the page")}})
	if err != nil {
		t.Fatal(err)
	}
	output, stdout := io.Pipe()
	ended = make(chan error, 1)
	command := playgroundCommand{Address: "127.0.0.1:0"}
	go func() { ended <- command.serve(ctx, environment{stdout: stdout, stderr: io.Discard}, p, read) }()
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return p, strings.TrimSpace(strings.TrimPrefix(line, "The playground is at ")), ended
}

// TestPlaygroundSlowClients checks that connections of clients that stop sending are closed.
func TestPlaygroundSlowClients(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	_, url, ended := servePlayground(t, ctx, 100*time.Millisecond)
	host := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")
	for name, c := range map[string]struct{ sent, want string }{
		"nothing": {},
		"headers": {sent: "POST /evaluate HTTP/1.1\r\nHost: localhost\r\nX-"},
		"body": {"POST /evaluate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
			"HTTP/1.1 408 "},
		"chunked body": {"POST /evaluate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
			"Transfer-Encoding: chunked\r\n\r\n9\r\n{", "HTTP/1.1 408 "},
		"body of a rejected request": {"POST /evaluate HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\n{",
			"HTTP/1.1 415 "},
		"body for a page": {"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{", "HTTP/1.1 200 "},
		"body of another site": {"POST /evaluate HTTP/1.1\r\nHost: evil.example.com\r\nContent-Length: 100\r\n\r\n{",
			"HTTP/1.1 403 "},
	} {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		// Without a bound, the response or the end of the connection never comes. Then the deadline ends the test.
		if deadline, ok := t.Deadline(); ok {
			_ = conn.SetReadDeadline(deadline.Add(-time.Second))
		}
		if _, err := io.WriteString(conn, c.sent); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(conn)
		if err != nil && !errors.Is(err, syscall.ECONNRESET) || !strings.HasPrefix(string(answer), c.want) ||
			c.want == "" && len(answer) > 0 && !strings.HasPrefix(string(answer), "HTTP/1.1 4") {
			t.Errorf("%s: %q %v", name, answer, err)
		}
		_ = conn.Close()
	}
	stop()
	if err := <-ended; err != nil && !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

func TestPlaygroundAddress(t *testing.T) {
	for address, valid := range map[string]bool{"127.0.0.1:0": true, "[::1]:80": true, "8088": false,
		"unix:///tmp/x": false} {
		if err := (&playgroundCommand{Address: address}).Validate(); (err == nil) != valid {
			t.Errorf("%s: %v", address, err)
		}
	}
}
