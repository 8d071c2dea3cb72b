package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/crdeval/crdeval/server/playground"
)

// TestPlayground serves a page, rejects other sites, and ends when it is interrupted.
func TestPlayground(t *testing.T) {
	p, err := playground.From(fstest.MapFS{"web/dist/index.html": {Data: []byte("the page")}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	output, stdout := io.Pipe()
	ended := make(chan error, 1)
	command := playgroundCommand{Address: "127.0.0.1:0"}
	go func() { ended <- command.serve(ctx, environment{stdout: stdout, stderr: io.Discard}, p) }()
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSpace(strings.TrimPrefix(line, "The playground is at "))
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
	if err := second.serve(ctx, environment{stdout: stdout, stderr: io.Discard}, p); err == nil ||
		!strings.Contains(err.Error(), "port 0 selects a free one") {
		t.Errorf("a second one: %v", err)
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
