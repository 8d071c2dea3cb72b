package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	crdeval "github.com/crdeval/crdeval/clients/go"
)

// startTimeout is when a server that does not answer is given up.
const startTimeout = 30 * time.Second

// server is a crdeval process with a CRD, on a unix socket.
type server struct {
	command *exec.Cmd
	client  *crdeval.Client
}

// start starts a server and registers the CRD.
func start(ctx context.Context, s settings, dir string) (*server, error) {
	socket := "unix://" + filepath.Join(dir, "grpc.sock")
	command := exec.CommandContext(ctx, s.binary, "serve", "--store=memory", "--log-level=warn", "--grpc-address="+socket, "--http-address=off")
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	if err := command.Start(); err != nil {
		return nil, err
	}
	out := &server{command: command}
	manifest, err := os.ReadFile(s.crd)
	if err == nil {
		out.client, err = crdeval.Dial(socket)
	}
	if err != nil {
		return nil, errors.Join(err, out.stop())
	}
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if _, err = out.client.RegisterCRD(ctx, manifest); err == nil {
			return out, nil
		}
		if ctx.Err() != nil || time.Since(begin) > startTimeout {
			return nil, errors.Join(fmt.Errorf("registering %s: %w", s.crd, err), out.stop())
		}
	}
}

// stop ends the server as an orchestrator does.
func (s *server) stop() error {
	if s.client != nil {
		_ = s.client.Close() // nothing is under way
	}
	_ = s.command.Process.Signal(syscall.SIGTERM)
	if err := s.command.Wait(); err != nil {
		return fmt.Errorf("the server: %w", err)
	}
	return nil
}

// most is the most memory that a process has had resident so far, in bytes.
func most(process int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n << 10, err
		}
	}
	return 0, errors.New("/proc does not tell the memory of a process")
}
