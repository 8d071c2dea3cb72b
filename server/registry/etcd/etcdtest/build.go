package etcdtest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
)

// binary builds etcd, once for all packages and runs of tests, and returns its path. The version is that of
// .tools/etcd/go.mod.
var binary = sync.OnceValues(func() (string, error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	module := filepath.Join(root, ".tools", "etcd")
	sum, err := os.ReadFile(filepath.Join(module, "go.sum"))
	if err != nil {
		return "", fmt.Errorf("reading what etcd is built of: %w", err)
	}
	// The name has the digest of the requirements, so that a new version is another file.
	path := filepath.Join(root, ".cache", fmt.Sprintf("etcd-%x", sha256.Sum256(sum))[:len("etcd-")+12])
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(path + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	build := exec.CommandContext(context.Background(), "go", "build", "-buildvcs=false", "-o", path+".new", "go.etcd.io/etcd/server/v3")
	build.Dir = module
	build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building etcd in %s: %w\n%s", module, err, out)
	}
	return path, os.Rename(path+".new", path)
})

// repository walks up from the test's directory to the one that has .tools/etcd.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, ".tools", "etcd", "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no directory above the test's has .tools/etcd: tests with etcd run inside the repository")
		}
		dir = parent
	}
}

// lock waits for the file's lock: packages are tested in parallel, by processes of their own.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), f.Close())
	}
	return func() { _ = f.Close() }, nil
}
