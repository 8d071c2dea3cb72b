// Package sidecartest runs crdeval servers for tests: the binary that it builds from this repository, with a store in
// memory, on a unix socket.
package sidecartest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Server is a crdeval server that can be stopped and started again. Its store is empty after each start.
type Server struct {
	dir     string
	flags   []string
	command *exec.Cmd
}

// New returns a Server that is not started. It has a directory of its own for its socket. flags are further flags of
// crdeval serve.
func New(flags ...string) (*Server, error) {
	dir, err := os.MkdirTemp("", "crdeval") // short, because the path of a socket has at most 107 bytes
	return &Server{dir: dir, flags: flags}, err
}

func (s *Server) socket() string { return filepath.Join(s.dir, "socket") }

// Address returns the address of the server: unix:///tmp/crdeval1/socket.
func (s *Server) Address() string { return "unix://" + s.socket() }

// Start starts the server, and waits until it listens.
func (s *Server) Start() error {
	binary, err := build()
	if err != nil {
		return err
	}
	flags := append([]string{"serve", "--grpc-address=" + s.Address(), "--http-address=off", "--store=memory"}, s.flags...)
	s.command = exec.CommandContext(context.Background(), binary, flags...) // Kill ends it
	var log strings.Builder
	s.command.Stdout, s.command.Stderr = io.Discard, &log
	if err := s.command.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", s.socket())
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			killed := s.Kill() // and the log is complete
			return errors.Join(fmt.Errorf("crdeval serve does not listen: %w; its log:\n%s", err, log.String()), killed)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Kill ends the process at once. It does nothing if no process runs.
func (s *Server) Kill() error {
	if s.command == nil {
		return nil
	}
	err := s.command.Process.Kill()
	_ = s.command.Wait() // of a killed process, its error is the signal
	s.command = nil
	return errors.Join(err, os.RemoveAll(s.socket()))
}

// Process returns the id of the process.
func (s *Server) Process() int { return s.command.Process.Pid }

// Pause stops the process without ending it, so that it accepts connections and does not respond.
func (s *Server) Pause() error { return s.command.Process.Signal(syscall.SIGSTOP) }

// Resume continues a paused process.
func (s *Server) Resume() error { return s.command.Process.Signal(syscall.SIGCONT) }

// Close ends the process and removes its directory.
func (s *Server) Close() error { return errors.Join(s.Kill(), os.RemoveAll(s.dir)) }

// build builds the binary of this repository, or takes that of CRDEVAL_BINARY.
var build = sync.OnceValues(func() (string, error) {
	if binary := os.Getenv("CRDEVAL_BINARY"); binary != "" {
		return binary, nil
	}
	ctx := context.Background()
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/crdeval/crdeval").Output()
	if err != nil {
		return "", fmt.Errorf("find the source of crdeval: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(cache, "crdeval-sidecartest", "crdeval")
	command := exec.CommandContext(ctx, "go", "build", "-o", binary, "./server/cmd/crdeval")
	command.Dir = strings.TrimSpace(string(root))
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build crdeval: %w\n%s", err, out)
	}
	return binary, nil
})
