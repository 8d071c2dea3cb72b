package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// TestDraining: between the signal and the end of the delay a server is not ready, and accepts calls.
func TestDraining(t *testing.T) {
	r := start(t, "--drain-delay=1s")
	r.ready(t)
	checked := make(chan struct{})
	r.sleep = func(d time.Duration) {
		if d != time.Second {
			t.Errorf("the delay is %v", d)
		}
		<-checked
	}
	health := healthv1.NewHealthClient(r.conn(t))
	stopped := make(chan error, 1)
	go func() { stopped <- r.stop() }()
	eventually(t, func() error {
		got, err := health.Check(t.Context(), &healthv1.HealthCheckRequest{})
		if got.GetStatus() != healthv1.HealthCheckResponse_NOT_SERVING {
			return fmt.Errorf("health while draining: %v, %w", got, err)
		}
		return nil
	})
	for path, want := range map[string]int{"/readyz": http.StatusServiceUnavailable, "/v1/serverInfo": http.StatusOK} {
		if code, _ := fetch(t, r.HTTPAddresses()[0], http.MethodGet, path, "", ""); code != want {
			t.Errorf("%s while draining: %d", path, code)
		}
	}
	close(checked)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if !strings.Contains(r.log.String(), "graceful=true") {
		t.Errorf("log:\n%s", r.log)
	}
}

// A stream that never ends must not hold up the end.
func TestDrainingHasADeadline(t *testing.T) {
	r := start(t, "--drain-timeout=200ms")
	watch, err := healthv1.NewHealthClient(r.conn(t)).Watch(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	if err := r.shutDownForTest(); err == nil || !strings.Contains(err.Error(), "aborted") {
		t.Errorf("got %v", err)
	}
	for err == nil {
		_, err = watch.Recv()
	}
	if status.Code(err) == codes.OK {
		t.Errorf("the stream ended with %v", err)
	}
}

// TestServeInterruptedDuringStart: a signal during the start ends the process without an error, as after the start.
func TestServeInterruptedDuringStart(t *testing.T) {
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "localhost:0") // answers nothing
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	c, err := Defaults("--store=etcd", "--etcd-endpoints=http://"+silent.Addr().String(), "--grpc-address=localhost:0", "--http-address=off")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	ctx, interrupt := context.WithCancelCause(t.Context())
	go func() {
		if conn, err := silent.Accept(); err == nil {
			defer func() { _ = conn.Close() }()
		}
		interrupt(errors.New("terminated signal received"))
	}()
	if err := Serve(ctx, c, Build{}, slog.New(slog.NewTextHandler(&log, nil))); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "stopped during the start") {
		t.Errorf("log:\n%s", &log)
	}
	interrupt(nil)
	c.GRPCAddress = nil
	if err := Serve(ctx, c, Build{}, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("an invalid configuration is not reported after a signal")
	}
}

// TestDrainingWithoutTime: a server without calls ends gracefully, also with --drain-timeout=0.
func TestDrainingWithoutTime(t *testing.T) {
	for range 10 { // the select of an expired context is random
		r := start(t, "--drain-timeout=0s")
		r.ready(t)
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
	}
}

// shutDownForTest drains once; the Run that notices ends without an error of its own.
func (a *App) shutDownForTest() error { return a.shutDown(context.Background()) }

func TestClosingOrder(t *testing.T) {
	var c closing
	var order []string
	for _, name := range []string{"a", "b", "c"} {
		c.then(name, func(context.Context) error {
			order = append(order, name)
			if name == "b" {
				return fmt.Errorf("no")
			}
			return nil
		})
	}
	if err := c.all(t.Context()); err == nil || err.Error() != "closing b: no" || fmt.Sprint(order) != "[c b a]" {
		t.Errorf("%v, %v", order, err)
	}
	if err := c.all(t.Context()); err != nil || len(order) != 3 {
		t.Errorf("closed twice: %v, %v", order, err)
	}
}

// TestClosingDoesNotWaitForever: a step that hangs is left behind, and those below it run all the same.
func TestClosingDoesNotWaitForever(t *testing.T) { synctest.Test(t, testClosing) }

func testClosing(t *testing.T) {
	var c closing
	end, closed := make(chan struct{}), false
	c.then("the lowest", func(context.Context) error { closed = true; return nil })
	c.then("what fails", func(context.Context) error { return errors.New("broken") })
	c.then("what hangs", func(context.Context) error { <-end; return nil })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err := c.all(ctx)
	if !closed || err == nil || !strings.Contains(err.Error(), "closing what hangs: timeout") || !strings.Contains(err.Error(), "broken") {
		t.Errorf("closed %t, %v", closed, err)
	}
	close(end)
}

// A server that is open to a network logs one warning.
func TestExposureIsLogged(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		flags []string
		want  string // "" for no warning
	}{
		{"localhost", nil, ""},
		{"a unix socket", []string{"--http-address=off", "--grpc-address=unix://" + filepath.Join(t.TempDir(), "s")}, ""},
		{"all interfaces", []string{"--grpc-address=:0"}, "every client that can reach these addresses"},
		{"REST alone", []string{"--http-address=0.0.0.0:0"}, "every client that can reach these addresses"},
		{"tokens in plain text", []string{"--grpc-address=:0", "--auth-token-file=" + tokens}, "tokens are sent to these addresses"},
		{"tokens on localhost", []string{"--auth-token-file=" + tokens}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := start(t, tc.flags...)
			if err := r.stop(); err != nil {
				t.Error(err)
			}
			log := r.log.String()
			if got := strings.Count(log, "level=WARN"); tc.want == "" && got != 0 || tc.want != "" && (got != 1 || !strings.Contains(log, tc.want)) {
				t.Errorf("log:\n%s", log)
			}
		})
	}
	for target, want := range map[string]bool{"localhost:1": true, "127.0.0.2:1": true, "[::1]:1": true, ":1": false, "0.0.0.0:1": false, "[::]:1": false, "10.0.0.1:1": false, "x": false} {
		if loopback(target) != want {
			t.Errorf("%s: %v", target, !want)
		}
	}
}
