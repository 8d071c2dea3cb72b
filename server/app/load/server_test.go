// Package load has the load tests of make scale and make stream. They run crdeval serve as a child process. They fail if
// memory exceeds its limit or a result is wrong. Times are only printed: they depend on the load of the machine.
package load

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	crdeval "github.com/crdeval/crdeval/clients/go"
)

const samplesDir = "../../../deploy/samples"

// build builds the binary in dir and returns its path.
func build(t *testing.T, dir string) string {
	t.Helper()
	binary := filepath.Join(dir, "crdeval")
	command := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", binary, "../../cmd/crdeval")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// server is a crdeval process that listens on unix sockets.
type server struct {
	*crdeval.Client
	ready   time.Duration // from the start of the process
	command *exec.Cmd
	web     *http.Client
	stop    func()
}

// start starts a server with its sockets in dir and waits until it is ready.
func start(t *testing.T, binary, dir string, flags ...string) *server {
	t.Helper()
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("this system does not report the memory of a process: ", err)
	}
	grpcSocket, httpSocket := "unix://"+filepath.Join(dir, "grpc.sock"), filepath.Join(dir, "http.sock")
	flags = append([]string{
		"serve", "--log-level=warn", "--grpc-address=" + grpcSocket, "--http-address=unix://" + httpSocket,
	}, flags...)
	s := &server{command: exec.Command(binary, flags...), web: &http.Client{Transport: &http.Transport{ //nolint:gosec // what was built
		Dial: func(string, string) (net.Conn, error) { return net.Dial("unix", httpSocket) },
	}}}
	s.command.Stderr = os.Stderr
	s.command.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CRDEVAL_") })
	var err error
	if s.Client, err = crdeval.Dial(grpcSocket); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	s.stop = sync.OnceFunc(func() {
		s.web.CloseIdleConnections()
		_ = s.Close()
		_ = s.command.Process.Signal(syscall.SIGTERM)
		if err := s.command.Wait(); err != nil {
			t.Errorf("the server: %v", err)
		}
	})
	t.Cleanup(s.stop)
	for end := begin.Add(2 * time.Minute); ; time.Sleep(2 * time.Millisecond) {
		_, err := s.get("/readyz")
		if err == nil {
			s.ready = time.Since(begin)
			return s
		}
		if time.Now().After(end) {
			t.Fatal("the server is not ready: ", err)
		}
	}
}

// get returns the body of an HTTP response with status 200.
func (s *server) get(path string) (string, error) {
	response, err := s.web.Get("http://crdeval" + path)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, response.Status)
	}
	return string(text), err
}

// memory returns a value of /proc/PID/status in bytes: VmRSS or VmHWM (peak).
func memory(t *testing.T, pid int, field string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n"+field+":")
	number, _, _ := strings.Cut(rest, " kB")
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil {
		t.Fatalf("/proc/%d/status: %s: %v", pid, field, err)
	}
	return n << 10
}

// mib formats a number of bytes.
func mib(n int64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }
