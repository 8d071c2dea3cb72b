package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// serve runs `crdeval serve` on localhost with its own store, until stop is called. If the server ends before, serve
// calls ended with the reason.
func serve(
	ctx context.Context, s settings, ended func(error),
) (grpcAddress, restAddress string, stop func(), err error) {
	if grpcAddress, err = address(ctx, s.grpcPort, "--grpc-port", "GRPC_PORT"); err != nil {
		return "", "", nil, err
	}
	if restAddress, err = address(ctx, s.restPort, "--rest-port", "REST_PORT"); err != nil {
		return "", "", nil, err
	}
	dir, err := os.MkdirTemp("", "crdeval-tour-")
	if err != nil {
		return "", "", nil, err
	}
	// Ctrl-C signals the whole process group. The server needs its own group, so that it runs until stop drains it.
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	cmd := exec.CommandContext(running, s.binary, "serve", "--grpc-address", grpcAddress, "--http-address", restAddress,
		"--data-dir", dir, "--log-level", "warn")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 15 * time.Second // then it is killed
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	done := make(chan struct{})
	stop = func() {
		cancel()
		<-done
		_ = os.RemoveAll(dir)
	}
	if err := cmd.Start(); err != nil {
		close(done)
		stop()
		return "", "", nil, fmt.Errorf("start %s: %w (make build builds it)", s.binary, err)
	}
	go func() {
		defer close(done)
		ended(fmt.Errorf("the server ended: %v", cmd.Wait())) //nolint:errorlint // it may be nil
	}()
	return grpcAddress, restAddress, stop, nil
}

// address returns localhost with the port, or with a free port for 0. It returns an error if the port is in use.
func address(ctx context.Context, port int, flagName, variable string) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return "", fmt.Errorf("port %d is in use; choose another with %s (0: any free one), for make run with %s=…: %w",
			port, flagName, variable, err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}
