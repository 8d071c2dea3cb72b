// Package etcdtest starts real etcd servers for tests. Each has its own ports on localhost and its own data directory,
// and ends with the test. If etcd cannot be built or started, the test fails.
package etcdtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine/testenv"
)

// patience bounds how long a server may take to start or to end.
const patience = 5 * time.Minute

// Server is one etcd. Its methods fail the test, and are not for concurrent use.
type Server struct {
	// Endpoint is the client URL. It stays the same after a restart.
	Endpoint string
	DataDir  string

	t       testing.TB
	args    []string
	logFile string
	process *os.Process   // nil while stopped
	ended   chan struct{} // closed when the process has ended
	paused  bool
}

// Start starts a server with additional flags and waits until it serves. It serves https if there is a --cert-file.
// Without CRDEVAL_E2E=1, Start skips the test.
func Start(t testing.TB, flags ...string) *Server {
	t.Helper()
	testenv.E2E(t)
	scheme := "http"
	if slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, "--cert-file=") }) {
		scheme = "https"
	}
	peers := fmt.Sprintf("http://127.0.0.1:%d", reservePort(t))
	s := &Server{
		t: t, Endpoint: fmt.Sprintf("%s://127.0.0.1:%d", scheme, reservePort(t)), DataDir: t.TempDir(),
		logFile: filepath.Join(t.TempDir(), "log"),
	}
	s.args = append([]string{
		"--name=test", "--data-dir=" + s.DataDir, "--log-level=info", "--log-outputs=stderr",
		"--listen-client-urls=" + s.Endpoint, "--advertise-client-urls=" + s.Endpoint,
		"--listen-peer-urls=" + peers, "--initial-advertise-peer-urls=" + peers, "--initial-cluster=test=" + peers,
		"--heartbeat-interval=20", "--election-timeout=200",
		"--unsafe-no-fsync", // a killed process loses nothing without fsync
	}, flags...)
	t.Cleanup(func() {
		if s.process != nil {
			s.Kill()
		}
	})
	s.Start()
	return s
}

// Start starts a stopped server with its previous contents and waits until it serves.
func (s *Server) Start() {
	s.t.Helper()
	if s.process != nil {
		s.t.Fatal("etcd runs already")
	}
	path, err := binary()
	if err != nil {
		s.t.Fatal(err)
	}
	log, err := os.Create(s.logFile)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	p := exec.CommandContext(context.Background(), path, s.args...)
	p.Stderr = log
	dieWithParent(p)
	// etcd would read variables like ETCD_NAME.
	p.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ETCD_") })
	if err := p.Start(); err != nil {
		s.t.Fatalf("starting etcd: %v", err)
	}
	s.process, s.ended, s.paused = p.Process, make(chan struct{}), false
	go func() {
		defer close(s.ended)
		_ = p.Wait()
	}()
	// The log says when the server serves, with and without TLS.
	deadline := time.After(patience)
	for !bytes.Contains(s.log(), []byte(`"msg":"ready to serve client requests"`)) {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-s.ended:
			s.process = nil
			s.t.Fatalf("etcd ended: %v\n%s", p.ProcessState, s.log())
		case <-deadline:
			s.t.Fatalf("etcd does not serve after %v\n%s", patience, s.log())
		}
	}
}

// log returns the log of the last start.
func (s *Server) log() []byte {
	s.t.Helper()
	log, err := os.ReadFile(s.logFile)
	if err != nil {
		s.t.Fatal(err)
	}
	return log
}

// Stop ends the server with SIGTERM.
func (s *Server) Stop() { s.end(syscall.SIGTERM) }

// Kill ends the server with SIGKILL.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

func (s *Server) end(sig os.Signal) {
	s.t.Helper()
	if s.paused && sig != syscall.SIGKILL {
		s.Continue()
	}
	s.signal(sig)
	select {
	case <-s.ended:
	case <-time.After(patience):
		_ = s.process.Kill()
		<-s.ended
		s.t.Errorf("etcd did not end within %v of %v\n%s", patience, sig, s.log())
	}
	s.process = nil
}

// Pause stops the server without closing its connections: requests get no response, as behind a network that drops
// packets.
func (s *Server) Pause() {
	s.t.Helper()
	s.signal(syscall.SIGSTOP)
	s.paused = true
	var status syscall.WaitStatus
	err := error(syscall.EINTR)
	for errors.Is(err, syscall.EINTR) { // returns when all threads are stopped
		_, err = syscall.Wait4(s.process.Pid, &status, syscall.WUNTRACED, nil)
	}
	if err != nil || !status.Stopped() {
		s.t.Fatalf("pausing etcd: status %v, %v", status, err)
	}
}

// Continue ends a Pause.
func (s *Server) Continue() { s.t.Helper(); s.signal(syscall.SIGCONT); s.paused = false }

func (s *Server) signal(sig os.Signal) {
	s.t.Helper()
	if s.process == nil {
		s.t.Fatal("etcd does not run")
	}
	if err := s.process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Fatal(err)
	}
}

// reservePort returns a free TCP port and reserves it until t ends, also against tests in other processes: a restarted
// server needs the same port. The port is outside of the range for outgoing connections.
func reservePort(t testing.TB) int {
	t.Helper()
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("crdeval-etcdtest-ports-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		n := 20000 + rand.IntN(12000)
		// The file is not removed: otherwise two processes could lock different files of the same name.
		f, err := os.OpenFile(filepath.Join(dir, fmt.Sprint(n)), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
			continue // reserved by another test
		}
		if l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", n)); err == nil {
			_ = l.Close()
			return n
		}
	}
	t.Fatal("no free port on 127.0.0.1 between 20000 and 32000")
	return 0
}

// binary builds the version of etcd in .tools/etcd/go.mod and returns the path in Go's build cache.
var binary = sync.OnceValues(func() (string, error) {
	root, err := output(exec.CommandContext(context.Background(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/crdeval/crdeval"))
	if err != nil {
		return "", err
	}
	build := exec.CommandContext(context.Background(), "go", "tool", "-n", "go.etcd.io/etcd/server/v3")
	build.Dir = filepath.Join(root, ".tools", "etcd")
	build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-trimpath", "CGO_ENABLED=0")
	return output(build)
})

func output(c *exec.Cmd) (string, error) {
	out, err := c.Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return "", fmt.Errorf("%v: %w\n%s", c, err, failed.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}
