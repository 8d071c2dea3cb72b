package app

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/crdeval/crdeval/engine/testenv"
	"github.com/crdeval/crdeval/server/registry/etcd/etcdtest"
)

// registrationsEnv is the environment variable with the number of registrations in tests of replicas, 300 by default.
const registrationsEnv = "CRDEVAL_REGISTRATIONS"

func registrations(t *testing.T) int {
	t.Helper()
	if s := os.Getenv(registrationsEnv); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("%s: %v", registrationsEnv, err)
		}
		return n
	}
	return 300
}

// replica is a server that shares its registry with others, and a connection to it.
type replica struct {
	name    string
	address string // a unix socket
	flags   []string
	conn    *grpc.ClientConn

	mu      sync.Mutex
	process *exec.Cmd // nil for a server in this process
	log     synced
}

// connect makes the connection, which finds the server again whenever it restarts.
func (r *replica) connect(t *testing.T) {
	t.Helper()
	conn, err := grpc.NewClient("unix://"+r.address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithConnectParams(grpc.ConnectParams{
		Backoff: backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1.5, MaxDelay: 100 * time.Millisecond}, MinConnectTimeout: 5 * time.Second,
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	r.conn = conn
}

// newReplicas are three replicas on one etcd, not yet started.
func newReplicas(t *testing.T, endpoint string) []*replica {
	t.Helper()
	dir, err := os.MkdirTemp("", "crdeval-replicas-") // a socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var all []*replica
	for i := range 3 {
		r := &replica{name: fmt.Sprintf("replica %d", i), address: filepath.Join(dir, fmt.Sprintf("%d.sock", i))}
		r.flags = []string{"--grpc-address=unix://" + r.address, "--http-address=127.0.0.1:0", "--store=etcd", "--etcd-endpoints=" + endpoint, "--etcd-prefix=/replicas/", "--log-level=error", "--drain-timeout=1m"}
		r.connect(t)
		all = append(all, r)
	}
	return all
}

// inProcess starts the replicas in this process, under its race detector. A busy machine may need more than the default
// --max-wait until a replica has applied a write.
func inProcess(t *testing.T, all []*replica) {
	t.Helper()
	for _, r := range all {
		start(t, append(r.flags, "--max-wait="+patience.String())...)
	}
}

// build builds the program that users run.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "crdeval")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", binary, "../cmd/crdeval").CombinedOutput(); err != nil {
		t.Fatalf("building crdeval: %v\n%s", err, out)
	}
	return binary
}

// asProcesses starts the replicas as processes of their own. What they log is shown if the test fails.
func asProcesses(t *testing.T, binary string, all []*replica) {
	t.Helper()
	for _, r := range all {
		r.process = &exec.Cmd{Path: binary}
		r.run(t)
		t.Cleanup(func() {
			r.kill()
			if t.Failed() {
				t.Logf("%s:\n%s", r.name, &r.log)
			}
		})
	}
}

// run starts the process, again if it was killed.
func (r *replica) run(t *testing.T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := exec.CommandContext(context.Background(), r.process.Path, append([]string{"serve"}, r.flags...)...)
	next.Stdout, next.Stderr = &r.log, &r.log
	if err := next.Start(); err != nil {
		t.Errorf("%s: %v", r.name, err)
		return
	}
	r.process = next
}

// kill ends the process with SIGKILL.
func (r *replica) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process.Process == nil || r.process.ProcessState != nil {
		return
	}
	_ = r.process.Process.Signal(syscall.SIGKILL)
	_ = r.process.Wait()
}

// Registrations at random replicas are seen at all others by who has the token: none is missed, none lost. Here under the race detector.
func TestReplicasInProcess(t *testing.T) {
	all := newReplicas(t, etcdtest.Start(t).Endpoint)
	inProcess(t, all)
	w := newWorld(t, all)
	w.write(registrations(t), 0)
	w.finish()
}

// The same with three processes: undisturbed; while one of them is killed each second; while etcd is away.
func TestReplicas(t *testing.T) {
	testenv.E2E(t)
	binary := build(t)
	for _, tc := range []struct {
		name string
		test func(*testing.T, string)
	}{
		{"undisturbed", undisturbed},
		{"a replica killed each second", replicasKilled},
		{"etcd away", etcdAway},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, binary) })
	}
}

func undisturbed(t *testing.T, binary string) {
	all := newReplicas(t, etcdtest.Start(t).Endpoint)
	asProcesses(t, binary, all)
	w := newWorld(t, all)
	w.write(registrations(t), 0)
	w.finish()
	if n := w.failures.Load(); n > 0 {
		t.Errorf("%d calls failed, and nothing was broken", n)
	}
}

// Each second one replica is killed with SIGKILL and started again.
func replicasKilled(t *testing.T, binary string) {
	all := newReplicas(t, etcdtest.Start(t).Endpoint)
	asProcesses(t, binary, all)
	w := newWorld(t, all)
	w.broken.Store(true)
	ctx, stop := context.WithCancel(t.Context())
	var killing sync.WaitGroup
	kills := 0
	killing.Go(func() {
		for second := time.NewTicker(time.Second); ; kills++ {
			select {
			case <-ctx.Done():
				second.Stop()
				return
			case <-second.C:
			}
			r := all[rand.IntN(len(all))]
			r.kill()
			r.run(t)
		}
	})
	const duration = 20 * time.Second
	w.write(registrations(t), duration)
	stop()
	killing.Wait()
	w.finish() // the replica that was killed last may still be starting: calls may fail, and are made again
	if kills == 0 {
		t.Error("no replica was killed")
	}
	t.Logf("%d replicas killed and restarted; %d calls failed and were made again", kills, w.failures.Load())
}

// etcd is killed and started again: registrations fail with a reason, every replica still evaluates, and afterwards nothing is missing.
func etcdAway(t *testing.T, binary string) {
	server := etcdtest.Start(t)
	all := newReplicas(t, server.Endpoint)
	asProcesses(t, binary, all)
	w := newWorld(t, all)
	evaluated := w.evaluateAllTheTime()
	var outage sync.WaitGroup
	outage.Go(func() {
		eventually(t, func() error { return atLeast("changes", w.written.Load(), 10) })
		w.broken.Store(true)
		server.Kill()
		before := evaluated.n.Load()
		eventually(t, func() error {
			return errors.Join(atLeast("failed registrations", w.failures.Load(), 1),
				atLeast("objects evaluated without etcd", evaluated.n.Load()-before, 30))
		})
		server.Start()
	})
	w.write(registrations(t), 16*time.Second)
	outage.Wait()
	w.finish()
	evaluated.stop()
	t.Logf("%d registrations failed without etcd; %d objects evaluated at all replicas, without errors", w.failures.Load(), evaluated.n.Load())
}

func atLeast(what string, n, want int64) error {
	if n < want {
		return fmt.Errorf("%d %s, want at least %d", n, what, want)
	}
	return nil
}
