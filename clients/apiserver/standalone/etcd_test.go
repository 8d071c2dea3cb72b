package standalone

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStartEtcd checks that one process at a time uses a directory, also if its path is too long for a socket.
func TestStartEtcd(t *testing.T) {
	for name, dir := range map[string]string{"short": t.TempDir(), "long": filepath.Join(t.TempDir(), strings.Repeat("x", 100))} {
		t.Run(name, func(t *testing.T) {
			etcd, err := StartEtcd(dir, false)
			if err != nil {
				t.Fatal(err)
			}
			socket := strings.TrimPrefix(etcd.Transport().ServerList[0], "unix://")
			if _, err := os.Stat(socket); err != nil {
				t.Error(err)
			}
			if other, err := StartEtcd(dir, false); err == nil || !strings.Contains(err.Error(), "another process uses") {
				t.Errorf("a second etcd: %v, %v", other, err)
			}
			if _, err := os.Stat(socket); err != nil {
				t.Errorf("after the second etcd: %v", err)
			}
			etcd.Close()
			etcd, err = StartEtcd(dir, false)
			if err != nil {
				t.Fatalf("after the end of the first etcd: %v", err)
			}
			etcd.Close()
		})
	}
}

// TestAdminToken checks that a token is kept, and that a short one is rejected.
func TestAdminToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	first, err := AdminToken(path)
	if err != nil || len(first) < minTokenBytes {
		t.Fatalf("a token of %d bytes, %v", len(first), err)
	}
	if second, err := AdminToken(path); err != nil || second != first {
		t.Errorf("the token changes: %v", err)
	}
	if err := os.WriteFile(path, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := AdminToken(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("an empty file: %v", err)
	}
}
