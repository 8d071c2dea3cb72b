package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/crdeval/crdeval/clients/apiserver/standalone"
)

// startable is a process that can be killed and started again.
type startable interface {
	Start() error
	Kill() error
}

// process is a process that a test starts. Its output is in a file.
type process struct {
	command []string
	log     string

	mu      sync.Mutex
	running *exec.Cmd
	exited  chan struct{} // closed after the running process has ended
}

// newProcess returns a process that is not started. It ends at the end of the test.
func newProcess(t testing.TB, name string, command ...string) *process {
	t.Helper()
	p := &process{command: command, log: filepath.Join(t.TempDir(), name+".log")}
	t.Cleanup(func() { _ = p.Kill() }) // a process that has ended cannot be killed
	return p
}

// Start implements startable. It does not wait until the process is ready.
func (p *process) Start() error {
	log, err := os.OpenFile(p.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the process has a descriptor of its own
	p.mu.Lock()
	defer p.mu.Unlock()
	c := exec.CommandContext(context.Background(), p.command[0], p.command[1:]...) // Kill ends it
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		return err
	}
	p.running, p.exited = c, make(chan struct{})
	go func(exited chan struct{}) {
		_ = c.Wait() // of a killed process, its error is the signal
		close(exited)
	}(p.exited)
	return nil
}

// Kill implements startable.
func (p *process) Kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		return nil
	}
	err := p.running.Process.Kill()
	<-p.exited
	p.running = nil
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// hasExited reports whether the process was started and has ended by itself.
func (p *process) hasExited() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		return false
	}
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// lastLines returns the end of the output.
func (p *process) lastLines() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// etcd is the main function of a process that runs an etcd with its data in a directory: etcd DIR.
func etcd() {
	if _, err := standalone.StartEtcd(os.Args[1], true); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

// buildServer builds a command of the module clients/apiserver, such as ./cmd/crdeval-apiserver, and returns its path.
func buildServer(path string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(cache, "crdeval-e2e", filepath.Base(path))
	command := exec.CommandContext(context.Background(), "go", "build", "-o", binary, ".")
	command.Dir = filepath.Join("..", path)
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", path, err, out)
	}
	return binary, nil
}
