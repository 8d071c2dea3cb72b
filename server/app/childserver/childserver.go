// Package childserver runs crdeval serve as a child process, for the load tests.
package childserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	crdeval "github.com/crdeval/crdeval/clients/go"
)

// startTimeout is the maximum time until the server is ready.
const startTimeout = 2 * time.Minute

// Server is a crdeval process that listens on unix sockets.
type Server struct {
	Client *crdeval.Client
	Ready  time.Duration // from the start of the process

	command *exec.Cmd
	web     *http.Client
}

// Start starts a server with its sockets in dir and waits until it is ready.
func Start(ctx context.Context, binary, dir string, flags ...string) (*Server, error) {
	grpcSocket, httpSocket := "unix://"+filepath.Join(dir, "grpc.sock"), filepath.Join(dir, "http.sock")
	flags = append([]string{"serve", "--log-level=warn", "--grpc-address=" + grpcSocket,
		"--http-address=unix://" + httpSocket}, flags...)
	s := &Server{command: exec.CommandContext(ctx, binary, flags...), web: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", httpSocket)
		},
	}}}
	s.command.Stdout, s.command.Stderr = os.Stderr, os.Stderr
	s.command.Cancel = func() error { return s.command.Process.Signal(syscall.SIGTERM) }
	var err error
	if s.Client, err = crdeval.Dial(grpcSocket); err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	for {
		_, err := s.Get(ctx, "/readyz")
		if err == nil {
			s.Ready = time.Since(begin)
			return s, nil
		}
		if ctx.Err() != nil || time.Since(begin) > startTimeout {
			return nil, errors.Join(fmt.Errorf("the server is not ready: %w", err), s.Stop())
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// Stop ends the server with SIGTERM.
func (s *Server) Stop() error {
	s.web.CloseIdleConnections()
	_ = s.Client.Close()
	_ = s.command.Process.Signal(syscall.SIGTERM)
	if err := s.command.Wait(); err != nil {
		return fmt.Errorf("the server: %w", err)
	}
	return nil
}

// Get returns the body of an HTTP response with status 200.
func (s *Server) Get(ctx context.Context, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://crdeval"+path, nil)
	if err != nil {
		return "", err
	}
	answer, err := s.web.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, answer.Status)
	}
	return string(text), err
}

// Memory returns a value of /proc/PID/status of the server in bytes: VmRSS or VmHWM (peak).
func (s *Server) Memory(field string) (int64, error) { return Memory(s.command.Process.Pid, field) }

// Memory returns a value of /proc/PID/status in bytes.
func Memory(pid int, field string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no %s", pid, field)
}

// MiB formats a number of bytes.
func MiB(n int64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }
