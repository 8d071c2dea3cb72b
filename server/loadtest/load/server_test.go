// Package load has the load tests of make load, make scale and make stream. They run crdeval serve as a child process.
// Tests of make scale and make stream fail if memory exceeds its limit or a result is wrong. Those of make load compare
// figures with bars, most of them as ratios of figures of the same run.
package load

import (
	"bytes"
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
	command := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", binary, "./cmd/crdeval")
	command.Dir = "../.." // in the main module
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// server is a crdeval process.
type server struct {
	*crdeval.Client               // for the default catalog
	ready           time.Duration // from the start of the process
	command         *exec.Cmd
	web             *http.Client // ignores the host of a URL
	grpc            string       // unix:///path or host:port
	http            string       // a path or host:port
	stop            func()       // sends SIGTERM and fails the test if the exit code is not 0
	kill            func()       // sends SIGKILL
	token           string       // of the client, if there is one
}

// launch describes how a server is started.
type launch struct {
	binary, dir string
	flags, env  []string
	tcp         bool   // listen on ports of localhost, so that each connection is a caller of its own
	cpus        string // of taskset; empty: all
	token       string // of the client
}

// start starts a server with unix sockets in dir and waits until it is ready.
func start(t *testing.T, binary, dir string, flags ...string) *server {
	t.Helper()
	s := launch{binary: binary, dir: dir, flags: flags}.start(t)
	t.Cleanup(s.stop)
	return s
}

// start starts a server and waits until it is ready. The end of the test kills it. If the test fails, it prints the end
// of the log of the server.
func (l launch) start(t *testing.T) *server {
	t.Helper()
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("this system does not report the memory of a process: ", err)
	}
	s := &server{token: l.token, grpc: "unix://" + filepath.Join(l.dir, "grpc.sock"), http: filepath.Join(l.dir, "http.sock")}
	network, httpAddress := "unix", "unix://"+s.http
	if l.tcp {
		s.grpc, s.http, network = freePort(t), freePort(t), "tcp"
		httpAddress = s.http
	}
	s.web = &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		Dial: func(string, string) (net.Conn, error) { return net.Dial(network, s.http) },
	}}
	args := append([]string{l.binary, "serve", "--log-level=warn", "--grpc-address=" + s.grpc, "--http-address=" + httpAddress},
		l.flags...)
	if l.cpus != "" {
		args = append([]string{"taskset", "--cpu-list", l.cpus}, args...)
	}
	s.command = exec.Command(args[0], args[1:]...) //nolint:gosec // what was built
	s.command.Stderr = l.log(t)
	s.command.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CRDEVAL_") })
	s.command.Env = append(s.command.Env, l.env...)
	var err error
	if s.Client, err = crdeval.Dial(s.grpc, crdeval.WithToken(l.token)); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	exited, exit := make(chan struct{}), error(nil)
	go func() {
		exit = s.command.Wait()
		close(exited)
	}()
	var once sync.Once
	end := func(signal syscall.Signal) (err error) {
		once.Do(func() {
			s.web.CloseIdleConnections()
			_ = s.Close()
			_ = s.command.Process.Signal(signal)
			<-exited
			err = exit
		})
		return err
	}
	s.stop = func() {
		if err := end(syscall.SIGTERM); err != nil {
			t.Errorf("the server: %v", err)
		}
	}
	s.kill = func() { _ = end(syscall.SIGKILL) }
	t.Cleanup(s.kill)
	s.await(t, begin, exited)
	return s
}

// await waits until the server is ready, for at most two minutes from begin. It fails the test if the server exits.
func (s *server) await(t *testing.T, begin time.Time, exited <-chan struct{}) {
	t.Helper()
	for limit := begin.Add(2 * time.Minute); ; time.Sleep(2 * time.Millisecond) {
		_, err := s.get("/readyz")
		if err == nil {
			s.ready = time.Since(begin)
			return
		}
		select {
		case <-exited:
			t.Fatalf("the server has exited before it was ready: %v", s.command.ProcessState)
		default:
		}
		if time.Now().After(limit) {
			t.Fatal("the server is not ready: ", err)
		}
	}
}

// log returns a file for the log of a server. The end of the test prints its end if the test has failed.
func (l launch) log(t *testing.T) *os.File {
	t.Helper()
	const most = 1000 // bytes to print
	log, err := os.CreateTemp(l.dir, "log-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = log.Close()
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() && len(text) > 0 {
			t.Logf("the end of the log of %s:\n%s", l.dir, text[max(0, len(text)-most):])
		}
	})
	return log
}

// freePort returns an address of localhost with a port that is free at this moment.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// get returns the body of an HTTP response with status 200.
func (s *server) get(path string) (string, error) {
	response, err := s.web.Get("http://localhost" + path)
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

// rss returns the resident memory of the server in bytes.
func (s *server) rss(t *testing.T) int64 { return memory(t, s.command.Process.Pid, "VmRSS") }

// peak returns the largest resident memory of the server in bytes.
func (s *server) peak(t *testing.T) int64 { return memory(t, s.command.Process.Pid, "VmHWM") }

// cpu returns the CPU time that the server has used.
func (s *server) cpu(t *testing.T) time.Duration {
	t.Helper()
	path := fmt.Sprintf("/proc/%d/stat", s.command.Process.Pid)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const afterName, ticksPerSecond = 11, 100 // of utime in the fields after the name in parentheses
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, err := strconv.Atoi(fields[afterName])
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	system, err := strconv.Atoi(fields[afterName+1])
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return time.Duration(user+system) * time.Second / ticksPerSecond
}

// metric returns the sum of a metric over all its labels.
func (s *server) metric(t *testing.T, name string) float64 {
	t.Helper()
	text, err := s.get("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, m := range metricLine.FindAllStringSubmatch(text, -1) {
		if v, err := strconv.ParseFloat(m[2], 64); err == nil && m[1] == name {
			sum += v
		}
	}
	return sum
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
