package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// reserve finds a TCP port that nobody listens on, and keeps it from other tests until t ends: a server that is stopped
// for a while must find it free when it starts again, and packages are tested at the same time, by processes of their
// own. It is not one that the system gives to outgoing connections.
func reserve(t testing.TB) int {
	t.Helper()
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("crdeval-etcdtest-ports-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		n := 20000 + rand.IntN(12000)
		release, err := take(filepath.Join(dir, fmt.Sprint(n)))
		if err != nil {
			continue // another test has it
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

// take locks a file, until the process ends at the latest. The file stays: who opened it before it was removed would
// lock another one than who does so afterwards.
func take(path string) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}
