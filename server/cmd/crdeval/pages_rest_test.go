package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"
)

// restCommands are commands of the scripts that use a service:
//
//	serve                      starts a service for the script, with nothing registered. It ends with the script.
//	rest METHOD PATH [BODY]    sends a request to a path below /v1/catalogs/default, with the YAML file BODY. It prints
//	                           the response as YAML and the HTTP status to stderr. It fails if the status is an error.
func restCommands() scriptCommands {
	return scriptCommands{"serve": serveForScript, "rest": restOfScript}
}

// socketVariable holds the path of the service's socket among the variables of a script.
const socketVariable = "REST_SOCKET"

func serveForScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: serve")
	}
	dir, err := os.MkdirTemp("", "p") // a script's own directory has a name too long for a socket
	ts.Check(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	var log bytes.Buffer
	socket := filepath.Join(dir, "h")
	go func() {
		defer close(ended)
		run(ctx, []string{"serve", "--store=memory", "--grpc-address=unix://" + filepath.Join(dir, "g"), "--http-address=unix://" + socket}, environment{stdout: &log, stderr: &log})
	}()
	ts.Defer(func() {
		cancel()
		<-ended
		if err := os.RemoveAll(dir); err != nil {
			ts.Logf("%v", err)
		}
	})
	ts.Setenv(socketVariable, socket)
	for {
		status, _, err := restAt(socket, http.MethodGet, "/readyz", "")
		if err == nil && status == http.StatusOK {
			return
		}
		select {
		case <-ended:
			ts.Fatalf("the service has ended: %s", &log)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func restOfScript(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: rest METHOD PATH [BODY]")
	}
	var body string
	if len(args) == 3 {
		body = ts.ReadFile(args[2])
	}
	status, answer, err := restAt(ts.Getenv(socketVariable), args[0], "/v1/catalogs/default"+args[1], body)
	ts.Check(err)
	text, err := yaml.JSONToYAML(answer)
	ts.Check(err)
	_, err = ts.Stdout().Write(text)
	ts.Check(err)
	if failed := status >= http.StatusBadRequest; failed != neg {
		ts.Fatalf("HTTP %d: %s", status, text)
	}
	_, err = fmt.Fprintln(ts.Stderr(), status)
	ts.Check(err)
}

// restAt sends a request to the service that listens on a socket.
func restAt(socket, method, path, body string) (status int, answer []byte, err error) {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(context.Background(), method, "http://script"+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/yaml")
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, nil, err
	}
	answer, err = io.ReadAll(response.Body)
	if closed := response.Body.Close(); err == nil {
		err = closed
	}
	return response.StatusCode, answer, err
}
