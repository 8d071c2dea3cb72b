package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// process is a program in a process of its own, which listens on loopback and on a unix socket.
type process struct {
	command   *exec.Cmd
	dir       string // of its binary, its socket and its data
	tcp, unix string // addresses of gRPC
}

// startProcess builds the program of a package of a module, and starts it. arguments returns the arguments.
func startProcess(module, pkg string, arguments func(*process) []string) (*process, error) {
	dir, err := os.MkdirTemp("", "bench-") // paths of sockets must be short
	if err != nil {
		return nil, err
	}
	p := &process{dir: dir, unix: "unix://" + filepath.Join(dir, "socket")}
	binary := filepath.Join(dir, "program")
	build := exec.CommandContext(context.Background(), "go", "build", "-o", binary, pkg)
	build.Dir = module
	if out, err := build.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("go build %s: %w: %s", pkg, err, out), os.RemoveAll(dir))
	}
	if p.tcp, err = freeAddress(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	p.command = exec.CommandContext(context.Background(), binary, arguments(p)...)
	p.command.Stderr = os.Stderr
	if err := p.command.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return p, nil
}

// freeAddress returns an address of loopback on which nothing listens.
func freeAddress() (string, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// close ends the process and removes its files.
func (p *process) close() error {
	err := p.command.Process.Signal(syscall.SIGTERM)
	if err == nil {
		_ = p.command.Wait() // the echo handler ends by the signal
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}

// cpu returns the CPU time that the process has used.
func (p *process) cpu() (time.Duration, error) { return timeOfProcess(p.command.Process.Pid) }
