package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/crdeval/crdeval/engine/document"
)

// serveForDoors starts a service and returns its socket. It ends with the test.
func serveForDoors(t *testing.T) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "d") // a test's own directory has a name too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	var log bytes.Buffer
	socket = filepath.Join(dir, "h")
	go func() {
		defer close(ended)
		run(ctx, []string{"serve", "--store=memory", "--grpc-address=unix://" + filepath.Join(dir, "g"), "--http-address=unix://" + socket},
			environment{stdout: &log, stderr: &log})
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	for {
		if status, _, err := restAt(socket, http.MethodGet, "/readyz", ""); err == nil && status == http.StatusOK {
			return socket
		}
		select {
		case <-ended:
			t.Fatalf("the service has ended: %s", &log)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// rest sends a request to a path below /v1/catalogs, and returns the answer.
func (c *doorCase) rest(t *testing.T, method, path, kind, body string) []byte {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", c.socket)
	}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://doors/v1/catalogs"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", kind)
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// jsonPlace is the place of a member's key and of its value.
type jsonPlace struct{ key, value string }

// placesInJSON returns the places of all values by JSON pointer.
func placesInJSON(text string) map[string]jsonPlace {
	places := map[string]jsonPlace{}
	d := json.NewDecoder(strings.NewReader(text))
	next := func() string {
		at := int(d.InputOffset())
		for at < len(text) && strings.IndexByte(" \n,:", text[at]) >= 0 {
			at++
		}
		line := strings.LastIndexByte(text[:at], '\n') + 1
		return fmt.Sprintf("%d:%d", 1+strings.Count(text[:at], "\n"), 1+utf8.RuneCountInString(text[line:at]))
	}
	var walk func(pointer string) error
	walk = func(pointer string) error {
		p := places[pointer]
		if p.value = next(); p.key == "" {
			p.key = p.value
		}
		places[pointer] = p
		token, err := d.Token()
		for i := 0; err == nil && (token == json.Delim('{') || token == json.Delim('[')); i++ {
			if !d.More() {
				_, err = d.Token()
				break
			}
			child := pointer + "/" + strconv.Itoa(i)
			if token == json.Delim('{') {
				key := next()
				var name json.Token
				if name, err = d.Token(); err != nil {
					break
				}
				child = pointer + "/" + document.EscapePointer(name.(string)) //nolint:forcetypeassert // a key
				places[child] = jsonPlace{key: key}
			}
			err = walk(child)
		}
		return err
	}
	_ = walk("") // what precedes a syntax error has places
	return places
}
