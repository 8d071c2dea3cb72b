// Package etcdtest starts real etcd servers for tests: built from .tools/etcd, on free ports of localhost, each with a
// data directory of its own, gone when the test is. It never skips: where etcd cannot be built or started, the test
// fails.
package etcdtest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine/testenv"
)

// startTimeout bounds how long a server may take until it serves; it takes 0.3 s on an idle machine.
const startTimeout = 2 * time.Minute

// Options of a server. The zero value is a server for tests of anything but durability.
type Options struct {
	// Durable makes etcd call fsync, as in production. Without it a killed etcd loses nothing either: only a machine
	// that loses power does.
	Durable bool
	// Certificates makes it serve TLS alone, with these.
	Certificates *Certificates
	// Args are further flags, --quota-backend-bytes=… for example.
	Args []string
}

// Server is one etcd. Its methods fail the test; they are not for concurrent use.
type Server struct {
	// Endpoint is its client URL, which stays the same over restarts.
	Endpoint string
	// DataDir has its contents.
	DataDir string

	t       testing.TB
	args    []string
	process *process // nil while stopped
	paused  bool
}

// Start builds etcd if necessary, starts a server and waits until it serves. The server ends with the test. Without
// CRDEVAL_E2E=1, Start skips the test.
func Start(t testing.TB, options ...Options) *Server {
	t.Helper()
	testenv.E2E(t)
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	client, peer := reserve(t), reserve(t)
	scheme := "http"
	if o.Certificates != nil {
		scheme = "https"
	}
	peers := fmt.Sprintf("http://127.0.0.1:%d", peer)
	s := &Server{t: t, Endpoint: fmt.Sprintf("%s://127.0.0.1:%d", scheme, client), DataDir: t.TempDir()}
	s.args = []string{
		"--name=test", "--data-dir=" + s.DataDir, "--log-level=info", "--log-outputs=stderr",
		"--listen-client-urls=" + s.Endpoint, "--advertise-client-urls=" + s.Endpoint,
		"--listen-peer-urls=" + peers, "--initial-advertise-peer-urls=" + peers, "--initial-cluster=test=" + peers,
		"--heartbeat-interval=20", "--election-timeout=200", // it is alone: nobody to wait for
	}
	if !o.Durable {
		s.args = append(s.args, "--unsafe-no-fsync")
	}
	if c := o.Certificates; c != nil {
		s.args = append(s.args, "--cert-file="+c.CertFile, "--key-file="+c.KeyFile, "--trusted-ca-file="+c.CAFile, "--client-cert-auth")
	}
	s.args = append(s.args, o.Args...)
	t.Cleanup(func() {
		if s.process != nil {
			s.Kill()
		}
	})
	s.Start()
	return s
}

// Start starts a stopped server again, with the contents it had, and waits until it serves.
func (s *Server) Start() {
	s.t.Helper()
	if s.process != nil {
		s.t.Fatal("etcd runs already")
	}
	path, err := binary()
	if err != nil {
		s.t.Fatal(err)
	}
	p, err := run(path, s.args)
	if err != nil {
		s.t.Fatalf("starting etcd: %v", err)
	}
	s.process, s.paused = p, false
	select {
	case <-p.serving:
	case <-p.ended:
		s.process = nil
		s.t.Fatalf("etcd ended: %v\n%s", p.command.ProcessState, p.log.tail())
	case <-time.After(startTimeout):
		s.t.Fatalf("etcd does not serve after %v\n%s", startTimeout, p.log.tail())
	}
}

// Stop ends the server as an operator does, with SIGTERM.
func (s *Server) Stop() { s.end(syscall.SIGTERM) }

// Kill ends the server as a crash does, with SIGKILL.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

func (s *Server) end(sig os.Signal) {
	s.t.Helper()
	if s.process == nil {
		s.t.Fatal("etcd does not run")
	}
	if s.paused && sig != syscall.SIGKILL {
		s.Continue()
	}
	_ = s.process.command.Process.Signal(sig)
	select {
	case <-s.process.ended:
	case <-time.After(startTimeout):
		_ = s.process.command.Process.Kill()
		<-s.process.ended
		s.t.Errorf("etcd did not end within %v of %v\n%s", startTimeout, sig, s.process.log.tail())
	}
	s.process = nil
}

// Pause makes the server hang: its connections stay and nothing is answered, as behind a network that drops packets.
func (s *Server) Pause() {
	s.t.Helper()
	s.signal(syscall.SIGSTOP)
	s.paused = true
	untilStopped(s.process.command.Process.Pid)
}

// Continue ends a Pause.
func (s *Server) Continue() { s.signal(syscall.SIGCONT); s.paused = false }

func (s *Server) signal(sig os.Signal) {
	s.t.Helper()
	if s.process == nil {
		s.t.Fatal("etcd does not run")
	}
	if err := s.process.command.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// process is a running etcd.
type process struct {
	command        *exec.Cmd
	serving, ended chan struct{} // closed when it does, when it has
	log            log
}

func run(path string, args []string) (*process, error) {
	p := &process{command: exec.CommandContext(context.Background(), path, args...), serving: make(chan struct{}), ended: make(chan struct{})}
	dieWithParent(p.command)
	// Variables like ETCD_NAME would be settings.
	p.command.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ETCD_") })
	out, err := p.command.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.ended)
		p.read(out)
		_ = p.command.Wait()
	}()
	return p, nil
}

// read keeps the log until the process ends, and finds in it when the server serves: that works with TLS and whatever
// else is set.
func (p *process) read(out io.Reader) {
	lines := bufio.NewReader(out)
	for served := false; ; {
		line, err := lines.ReadBytes('\n')
		p.log.add(line)
		if !served && bytes.Contains(line, []byte(`"msg":"ready to serve client requests"`)) {
			served = true
			close(p.serving)
		}
		if err != nil {
			return
		}
	}
}

// log keeps the last lines of a server, for the message of a test that fails.
type log struct {
	mu    sync.Mutex
	lines []string
}

const keptLines = 40

func (l *log) add(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(line))
	if len(l.lines) > keptLines {
		l.lines = slices.Delete(l.lines, 0, len(l.lines)-keptLines)
	}
}

func (l *log) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "")
}
