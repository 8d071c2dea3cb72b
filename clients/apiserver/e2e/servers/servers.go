// Package servers runs API servers in processes of their own, for comparisons of crdeval-apiserver with upstream's. It
// builds their commands from this repository.
package servers

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crdeval/crdeval/clients/apiserver/sidecar/sidecartest"
)

// patience bounds how long a server may take to start.
const patience = time.Minute

const module = "github.com/crdeval/crdeval/clients/apiserver"

// Server is an API server that runs until the end of the test.
type Server struct {
	// Config is the configuration of a client that may do everything. It limits no requests.
	Config *rest.Config
	// Processes are the ids of the API server's process, and of the sidecar's.
	Processes []int
}

// Build builds the main package at a path in clients/apiserver, such as e2e/genuine, and returns the binary. It takes
// the binary from the directory CRDEVAL_BINARIES if that is set.
func Build(t testing.TB, path string) string {
	t.Helper()
	if dir := os.Getenv("CRDEVAL_BINARIES"); dir != "" {
		return filepath.Join(dir, filepath.Base(path))
	}
	root, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatalf("find the source of %s: %v", module, err)
	}
	binary := filepath.Join(t.TempDir(), filepath.Base(path))
	command := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".")
	command.Dir = filepath.Join(strings.TrimSpace(string(root)), path)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", path, err, out)
	}
	return binary
}

// Start starts an API server with a binary of e2e/genuine or cmd/crdeval-apiserver, which stores its objects in an etcd,
// and waits until it is ready. sidecar evaluates the objects, and can be nil.
func Start(t testing.TB, binary, etcd string, sidecar *sidecartest.Server) *Server {
	t.Helper()
	dir := t.TempDir()
	args := []string{"--address=127.0.0.1:0", "--etcd-servers=" + etcd, "--data-dir=" + dir}
	s := &Server{}
	if filepath.Base(binary) != "genuine" {
		args = append([]string{"serve"}, args...)
	}
	if sidecar != nil {
		args = append(args, "--sidecar="+sidecar.Address())
		s.Processes = append(s.Processes, sidecar.Process())
	}
	log := &bytes.Buffer{}
	command := exec.CommandContext(context.Background(), binary, args...) // the cleanup ends it
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM) // it may have ended already
		if err := <-ended; err != nil || t.Failed() {
			t.Errorf("%s: %v\n%s", binary, err, log)
		}
	})
	s.Processes = append(s.Processes, command.Process.Pid)
	last := error(nil)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if s.Config, last = clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig")); last != nil {
			continue
		}
		s.Config.QPS = -1
		if last = ready(t.Context(), s.Config); last == nil {
			return s
		}
	}
	t.Fatalf("%s is not ready: %v", binary, last)
	return nil
}

func ready(ctx context.Context, config *rest.Config) error {
	client, err := Client(config)
	if err != nil {
		return err
	}
	return client.Get().AbsPath("/readyz").Do(ctx).Error()
}

// CPU returns the CPU time that all processes of the server have used. Its resolution is that of the kernel's clock
// ticks: 10 ms.
func (s *Server) CPU() (time.Duration, error) {
	const tick = time.Second / 100
	total := time.Duration(0)
	for _, id := range s.Processes {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
		if err != nil {
			return 0, err
		}
		// After the name in parentheses, utime and stime are the fields 12 and 13.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		for _, field := range fields[11:13] {
			ticks, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return 0, err
			}
			total += time.Duration(ticks) * tick
		}
	}
	return total, nil
}
