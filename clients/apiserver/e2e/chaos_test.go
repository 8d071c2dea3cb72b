package e2e

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/crdeval/crdeval/clients/apiserver/sidecar/sidecartest"
)

// stack is an API server with its etcd and its sidecar. Each is a process of its own.
type stack struct {
	testing.TB
	etcd, server *process
	sidecar      *sidecartest.Server
	kubeconfig   string
	restarts     int // of processes that had exited by themselves
}

func newStack(t testing.TB) *stack {
	t.Helper()
	dir, err := os.MkdirTemp("", "kills") // short, because the path of a socket has at most 107 bytes
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	binary, err := buildServer("cmd/crdeval-apiserver")
	check(t, err)
	executable, err := exec.LookPath("etcd") // of TestMain
	check(t, err)
	s := &stack{TB: t, kubeconfig: filepath.Join(dir, "server", "kubeconfig")}
	s.sidecar, err = sidecartest.New()
	check(t, err)
	t.Cleanup(func() { check(t, s.sidecar.Close()) })
	s.etcd = newProcess(t, "etcd", executable, filepath.Join(dir, "etcd"))
	s.server = newProcess(t, "server", binary, "serve", "--address="+freeAddress(t), "--data-dir="+filepath.Join(dir, "server"),
		"--etcd-servers=unix://"+filepath.Join(dir, "etcd", "client.sock"), "--sidecar="+s.sidecar.Address())
	return s
}

// freeAddress returns an address that no process listens on.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check(t, err)
	defer func() { check(t, l.Close()) }()
	return l.Addr().String()
}

// watchdog bounds the time until the stack serves again.
const watchdog = 3 * time.Minute

// await waits until a condition holds. It starts a process again that has exited by itself.
func (s *stack) await(what string, condition func() bool) {
	s.Helper()
	for end := time.Now().Add(watchdog); !condition(); time.Sleep(10 * time.Millisecond) {
		for _, p := range []*process{s.etcd, s.server} {
			if p.hasExited() {
				s.Logf("%s has exited:\n%s", p.command[0], p.lastLines())
				s.restarts++
				check(s, p.Kill())
				check(s, p.Start())
			}
		}
		if time.Now().After(end) {
			s.Fatalf("%s: not within %v; the end of the logs:\n%s\n%s", what, watchdog, s.etcd.lastLines(), s.server.lastLines())
		}
	}
}

// kill kills some of the processes at random times, and starts them again in a random order. It returns their names in the
// order of their ends.
func (s *stack) kill(random *rand.Rand) (names []string) {
	s.Helper()
	all := []startable{s.etcd, s.sidecar, s.server}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	victims := all[:1+random.IntN(len(all))]
	wait := func() { time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond) }
	for _, p := range victims {
		wait()
		check(s, p.Kill())
		names = append(names, map[startable]string{s.etcd: "etcd", s.sidecar: "sidecar", s.server: "server"}[p])
	}
	wait()
	random.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
	for _, p := range victims {
		check(s, p.Start())
	}
	return names
}

// TestKills kills the API server, its etcd and its sidecar under writes, watches and changes of the CRD. No acknowledged
// write and no event is lost, no event comes twice, and no write is judged by an older CRD than one that was acknowledged
// before the write began. CRDEVAL_KILLS is the number of rounds.
func TestKills(t *testing.T) {
	rounds := 6
	if text := os.Getenv("CRDEVAL_KILLS"); text != "" {
		var err error
		rounds, err = strconv.Atoi(text)
		check(t, err)
	}
	s := newStack(t)
	for _, p := range []startable{s.etcd, s.sidecar, s.server} {
		check(t, p.Start())
	}
	s.await("kubeconfig", func() bool { _, err := os.Stat(s.kubeconfig); return err == nil })
	c := newClient(t, s.kubeconfig)
	l := &ledger{attempts: map[int64]attempt{}, written: map[int64]int64{}}
	s.await("creation of the CRD", func() bool {
		code, _, err := c.do(t.Context(), http.MethodPost, toJobsCRD, "application/json", jobsCRD(t, 0))
		return err == nil && (code == http.StatusCreated || code == http.StatusConflict)
	})
	s.await("list of jobs", func() bool {
		code, _, err := c.do(t.Context(), http.MethodGet, toJobs, "", nil)
		return err == nil && code == http.StatusOK
	})

	watching, stopWatches := context.WithCancel(t.Context())
	writing, stopWrites := context.WithCancel(t.Context())
	defer stopWatches()
	defer stopWrites()
	var watches, writes sync.WaitGroup
	var watchers []*watcher
	for _, w := range []*watcher{
		{path: toJobs},
		{path: "/apis/" + jobsGroup + "/v1beta1/jobs", query: "&allowWatchBookmarks=true"},
		{path: toJobs, query: "&timeoutSeconds=1"},
	} {
		w.TB, w.client, w.ledger, w.jobs, w.seen = t, newClient(t, s.kubeconfig), l, map[string]int64{}, map[int64]bool{}
		watchers = append(watchers, w)
		watches.Go(func() { w.run(watching) })
	}
	var writers []*writer
	for id := range 4 {
		w := &writer{TB: t, client: c, ledger: l, id: id, random: rand.New(rand.NewPCG(1, uint64(id)))}
		writers = append(writers, w)
		writes.Go(func() { w.run(writing) })
	}
	u := &updater{TB: t, client: c, ledger: l}
	writes.Go(func() { u.run(writing) })

	// progress waits until each writer has an acknowledgement, and each watcher its event.
	progress := func() {
		t.Helper()
		changes, before := u.acknowledged.Load(), make([]int64, len(writers))
		for i, w := range writers {
			before[i] = w.acknowledged.Load()
		}
		for i, w := range writers {
			s.await("a write", func() bool { return w.acknowledged.Load() > before[i] })
		}
		s.await("a change of the CRD", func() bool { return u.acknowledged.Load() > changes })
		newest := l.newest.Load()
		for _, w := range watchers {
			s.await("an event", func() bool { return w.last.Load() >= newest })
		}
	}
	progress()
	random := rand.New(rand.NewPCG(1, 2))
	for round := range rounds {
		victims := s.kill(random)
		killed := time.Now()
		progress()
		t.Logf("round %d: %s, served again after %v", round, victims, time.Since(killed).Round(time.Millisecond))
		if t.Failed() {
			break
		}
	}
	stopWrites()
	writes.Wait()
	final := &watcher{TB: t, client: c, ledger: l, path: toJobs}
	s.await("the final list", func() bool { return final.list(t.Context()) })
	for _, w := range watchers {
		s.await("the last event", func() bool { return w.last.Load() >= l.newest.Load() })
	}
	stopWatches()
	watches.Wait()
	for _, w := range watchers {
		w.verify(final.jobs)
		t.Logf("%s%s: %d events of %d watches, %d lists", w.path, w.query, w.events, w.watches, len(w.skipped))
	}
	var acknowledged, ambiguous int64
	for _, w := range writers {
		acknowledged, ambiguous = acknowledged+w.acknowledged.Load(), ambiguous+int64(w.ambiguous)
		if w.current != nil && final.jobs[w.current.Name] != version(w.current.ResourceVersion) {
			t.Errorf("the final list has %s at %d, want %s", w.current.Name, final.jobs[w.current.Name], w.current.ResourceVersion)
		}
	}
	t.Logf("%d rounds: %d acknowledged writes, %d without acknowledgement, %d changes of the CRD; %d processes exited by themselves",
		rounds, acknowledged, ambiguous, u.acknowledged.Load(), s.restarts)
}
