package bolt_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/testenv"
	"github.com/crdeval/crdeval/server/registry"
	"github.com/crdeval/crdeval/server/registry/bolt"
)

// The environment of the child process and of the number of rounds.
const (
	killDirectory = "CRDEVAL_KILL_DIRECTORY" // set in the child: where its store is
	killRound     = "CRDEVAL_KILL_ROUND"
)

func newRegistry(ctx context.Context, dir string) (*registry.Registry, func(), error) {
	store, err := bolt.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	programs := cache.New(cache.Options[string, *engine.Definition]{MaxBytes: 16 << 20, Weigh: (*engine.Definition).Size})
	r, err := registry.New(ctx, store, registry.Options{Programs: programs, MaxWrite: 5 * time.Minute})
	return r, func() { _ = programs.Close(context.Background()); _ = store.Close() }, err
}

// manifest is a CRD of one of several names whose content is unique.
func manifest(name int, content string) engine.Document {
	return engine.YAML(fmt.Appendf(nil, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kind%[1]ds.kill.example.com}
spec:
  group: kill.example.com
  scope: Cluster
  names: {plural: kind%[1]ds, kind: Kind%[1]d}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, description: %[2]q}}}
`, name, content))
}

// TestKillChild is no test: it is the process that gets killed. It registers as fast as it can and writes a line a
// registration that was acknowledged.
func TestKillChild(t *testing.T) {
	dir := os.Getenv(killDirectory)
	if dir == "" {
		return
	}
	round, _ := strconv.Atoi(os.Getenv(killRound))
	first := round / 4 * 7 // a CRD keeps at most registry.MaxRevisions revisions
	r, _, err := newRegistry(t.Context(), dir)
	if err != nil {
		fmt.Println("ERROR", err)
		os.Exit(1)
	}
	var wg sync.WaitGroup
	for writer := range 3 {
		wg.Go(func() {
			for i := 0; ; i++ {
				done, err := r.Register(context.Background(), "default", manifest(first+i%7, fmt.Sprint(round, " ", writer, " ", i)), registry.Precondition{})
				if err != nil || !done.Report.Accepted {
					fmt.Println("ERROR", err)
					os.Exit(1)
				}
				fmt.Println("ACK", done.CRD.Name, done.CRD.Revision)
			}
		})
	}
	wg.Wait()
}

// A registration that was acknowledged is there after SIGKILL, whenever it strikes.
func TestKill(t *testing.T) {
	testenv.E2E(t)
	const rounds = 100
	dir := t.TempDir()
	acknowledged := map[string]bool{}
	var idle int
	for round := range rounds {
		before := len(acknowledged)
		killOnce(t, dir, round, acknowledged)
		if len(acknowledged) == before {
			idle++
		}
		r, closeAll, err := newRegistry(t.Context(), dir)
		if err != nil {
			t.Fatalf("round %d: after the kill: %v", round, err)
		}
		for a := range acknowledged {
			name, revision, _ := strings.Cut(a, " ")
			if d, err := r.CRD(t.Context(), "default", name, revision, ""); err != nil || d.Revision != revision {
				t.Errorf("round %d: acknowledged and lost: %s: %v", round, a, err)
			}
		}
		closeAll()
		if t.Failed() {
			return
		}
	}
	if idle > rounds/2 {
		t.Errorf("%d of %d rounds acknowledged nothing: they test nothing", idle, rounds)
	}
	t.Logf("kill -9, %d times: %d registrations acknowledged, none lost", rounds, len(acknowledged))
}

// killOnce starts a child, kills it a few registrations later, and collects what it acknowledged.
func killOnce(t *testing.T, dir string, round int, acknowledged map[string]bool) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKillChild$")
	child.Env = append(os.Environ(), killDirectory+"="+dir, fmt.Sprintf("%s=%d", killRound, round))
	var stderr bytes.Buffer
	child.Stderr = &stderr
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	killed := false
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			break // a line without its end was not acknowledged
		}
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[0] != "ACK" {
			t.Fatalf("round %d: the child says %q %s", round, line, &stderr)
		}
		acknowledged[fields[1]+" "+fields[2]] = true
		if !killed {
			killed = true
			time.AfterFunc(rand.N(40*time.Millisecond), func() { _ = child.Process.Signal(syscall.SIGKILL) })
		}
	}
	if err := child.Wait(); err == nil || child.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("round %d: the child ended by itself: %v %s", round, err, &stderr)
	}
}

// A process that is killed while it creates its file leaves one that the next process can use.
func TestKillWhileCreating(t *testing.T) {
	testenv.E2E(t)
	for range 20 {
		dir := t.TempDir()
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKillChild$")
		child.Env = append(os.Environ(), killDirectory+"="+dir)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := os.Stat(filepath.Join(dir, bolt.FileName)); err == nil {
				break
			}
			time.Sleep(50 * time.Microsecond)
		}
		time.Sleep(rand.N(2 * time.Millisecond))
		_ = child.Process.Kill()
		_ = child.Wait()
		_, closeAll, err := newRegistry(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		closeAll()
	}
}
