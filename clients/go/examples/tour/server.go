package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

const (
	startWait = 2 * time.Minute
	stopWait  = 15 * time.Second
)

// server is the crdeval process that the tour started.
type server struct {
	grpcAddress string // host:port
	restURL     string // http://host:port
	done        chan error
	process     *exec.Cmd
	dir         string
}

// start runs `crdeval serve` on localhost with its own store and waits until it is ready.
func start(ctx context.Context, s settings) (*server, error) {
	grpcAddress, err := address(ctx, s.grpcPort, "--grpc-port", "GRPC_PORT")
	if err != nil {
		return nil, err
	}
	restAddress, err := address(ctx, s.restPort, "--rest-port", "REST_PORT")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "crdeval-tour-")
	if err != nil {
		return nil, err
	}
	// Ctrl-C signals the whole process group. The server needs its own group, so that it runs until stop drains it.
	cmd := exec.Command(s.binary, "serve", "--grpc-address", grpcAddress, "--http-address", restAddress, "--data-dir", dir, "--log-level", "warn") //nolint:noctx // stop ends it, gracefully
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w (make build builds it)", s.binary, err), os.RemoveAll(dir))
	}
	srv := &server{grpcAddress: grpcAddress, restURL: "http://" + restAddress, done: make(chan error, 1), process: cmd, dir: dir}
	go func() { srv.done <- cmd.Wait() }()
	if err := srv.waitReady(ctx); err != nil {
		srv.stop()
		return nil, err
	}
	return srv, nil
}

// address returns localhost with the port, or with a free port for 0. It returns an error if the port is in use.
func address(ctx context.Context, port int, flagName, variable string) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return "", fmt.Errorf("port %d is taken; choose another by %s (0: any free one), with make run by %s=…: %w", port, flagName, variable, err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}

func (s *server) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.restURL+"/readyz", nil)
		if err != nil {
			return err
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server was not ready within %s: %w", startWait, ctx.Err())
		case err := <-s.done:
			s.done <- err
			return fmt.Errorf("the server ended before it was ready: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop drains the server as Kubernetes would, and removes its store.
func (s *server) stop() {
	_ = s.process.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.done:
	case <-time.After(stopWait):
		_ = s.process.Process.Kill()
		<-s.done
	}
	_ = os.RemoveAll(s.dir)
}
