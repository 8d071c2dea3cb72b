package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

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
		release, err := lockFile(filepath.Join(dir, fmt.Sprint(n)))
		if err != nil {
			continue // reserved by another test
		}
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", fmt.Sprintf("127.0.0.1:%d", n))
		if err != nil {
			release()
			continue
		}
		_ = l.Close()
		t.Cleanup(release)
		return n
	}
	t.Fatal("no free port on 127.0.0.1 between 20000 and 32000")
	return 0
}

// lockFile locks a file until release or the end of the process. It does not remove the file: otherwise two processes
// could lock different files of the same name.
func lockFile(path string) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// untilStopped waits until all threads of a process are stopped: a signal takes effect asynchronously. On systems
// without /proc it waits a little.
func untilStopped(pid int) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil || len(threads) == 0 {
			time.Sleep(200 * time.Millisecond)
			return
		}
		running := false
		for _, path := range threads {
			stat, err := os.ReadFile(path) // PID (NAME) STATE …, where NAME can contain parentheses
			state := stat[strings.LastIndexByte(string(stat), ')')+1:]
			running = running || err == nil && !strings.HasPrefix(strings.ToUpper(string(state)), " T")
		}
		if !running {
			return
		}
	}
}
