// Package etcdtest starts real etcd servers for tests. Each has its own ports on localhost and its own data directory,
// and ends with the test. If etcd cannot be built or started, the test fails.
package etcdtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// startTimeout bounds how long a server may take to start or to end.
const startTimeout = 2 * time.Minute

// Server is one etcd. Its methods fail the test, and are not for concurrent use.
type Server struct {
	// Endpoint is the client URL. It stays the same after a restart.
	Endpoint string
	DataDir  string

	t       testing.TB
	args    []string
	process *process // nil while stopped
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
	s := &Server{t: t, Endpoint: fmt.Sprintf("%s://127.0.0.1:%d", scheme, reservePort(t)), DataDir: t.TempDir()}
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
	p := &process{serving: make(chan struct{}), ended: make(chan struct{})}
	p.Cmd = exec.CommandContext(context.Background(), path, s.args...)
	p.Stderr = p
	dieWithParent(p.Cmd)
	// etcd would read variables like ETCD_NAME.
	p.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ETCD_") })
	if err := p.Start(); err != nil {
		s.t.Fatalf("starting etcd: %v", err)
	}
	go func() {
		defer close(p.ended)
		_ = p.Wait()
	}()
	s.process, s.paused = p, false
	select {
	case <-p.serving:
	case <-p.ended:
		s.process = nil
		s.t.Fatalf("etcd ended: %v\n%s", p.ProcessState, p.tail())
	case <-time.After(startTimeout):
		s.t.Fatalf("etcd does not serve after %v\n%s", startTimeout, p.tail())
	}
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
	p := s.process
	select {
	case <-p.ended:
	case <-time.After(startTimeout):
		_ = p.Process.Kill()
		<-p.ended
		s.t.Errorf("etcd did not end within %v of %v\n%s", startTimeout, sig, p.tail())
	}
	s.process = nil
}

// Pause stops the server without closing its connections: requests get no response, as behind a network that drops
// packets.
func (s *Server) Pause() {
	s.t.Helper()
	s.signal(syscall.SIGSTOP)
	s.paused = true
	untilStopped(s.process.Process.Pid)
}

// Continue ends a Pause.
func (s *Server) Continue() { s.t.Helper(); s.signal(syscall.SIGCONT); s.paused = false }

func (s *Server) signal(sig os.Signal) {
	s.t.Helper()
	if s.process == nil {
		s.t.Fatal("etcd does not run")
	}
	if err := s.process.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Fatal(err)
	}
}

// process is a running etcd. It is the writer of etcd's log.
type process struct {
	*exec.Cmd
	serving, ended chan struct{} // closed when the server serves, and when it has ended

	mu     sync.Mutex
	served bool
	log    []byte // the last part
}

// Write implements io.Writer. The log says when the server serves, with and without TLS.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, b...)
	if !p.served && bytes.Contains(p.log, []byte(`"msg":"ready to serve client requests"`)) {
		p.served = true
		close(p.serving)
	}
	const most = 64 << 10
	if p.served && len(p.log) > most {
		p.log = append([]byte(nil), p.log[len(p.log)-most/4:]...)
	}
	return len(b), nil
}

func (p *process) tail() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.log[max(0, len(p.log)-8<<10):])
}

// binary builds the version of etcd in .tools/etcd/go.mod and returns the path in Go's build cache.
var binary = sync.OnceValues(func() (string, error) {
	root, err := output(exec.CommandContext(context.Background(), "go", "list", "-m", "-f", "{{.Dir}}"))
	if err != nil {
		return "", err
	}
	build := exec.CommandContext(context.Background(), "go", "tool", "-n", "go.etcd.io/etcd/server/v3")
	build.Dir = filepath.Join(root, ".tools", "etcd")
	build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0")
	return output(build)
})

func output(c *exec.Cmd) (string, error) {
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%v: %w\n%s", c, err, &stderr)
	}
	return strings.TrimSpace(string(out)), nil
}
