package bolt_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/crdeval/crdeval/server/registry"

	"github.com/crdeval/crdeval/engine/testenv"
	"github.com/crdeval/crdeval/server/registry/bolt"
)

// faultDirectory is set in the child: where its store is.
const faultDirectory = "CRDEVAL_FAULT_DIRECTORY"

// TestFaultChild is no test: it is the process that kills itself. It runs the script and writes a line when a write was
// acknowledged.
func TestFaultChild(t *testing.T) {
	dir := os.Getenv(faultDirectory)
	if dir == "" {
		return
	}
	store, err := bolt.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	r, closeAll, err := scripted(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll()
	for i, do := range script {
		if err := do(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(os.Stdout, "ACK %d\n", i+1)
	}
}

// step is one write step of the child.
type step struct {
	number int
	kind   string
	offset int64
	size   int64
	acked  int // writes acknowledged before it
}

// child runs the script in a process of its own, killed at a step if fault is not empty, and returns the steps it took
// and how many writes it acknowledged.
func child(ctx context.Context, binary, dir, fault, journal string) (steps []step, acked int, killed bool, err error) {
	command := exec.CommandContext(ctx, binary, "-test.run=^TestFaultChild$")
	command.Env = append(os.Environ(), faultDirectory+"="+dir, "CRDEVAL_FAULT="+fault, "CRDEVAL_FAULT_JOURNAL="+journal)
	var out, trouble bytes.Buffer
	command.Stdout, command.Stderr = &out, &trouble
	failed := command.Run()
	lines := bufio.NewScanner(&out)
	for lines.Scan() {
		s := step{acked: acked}
		if n, _ := fmt.Sscanf(lines.Text(), "STEP %d %s %d %d", &s.number, &s.kind, &s.offset, &s.size); n == 4 {
			steps = append(steps, s)
			continue
		}
		_, _ = fmt.Sscanf(lines.Text(), "ACK %d", &acked)
	}
	status, ok := command.ProcessState.Sys().(syscall.WaitStatus)
	killed = ok && status.Signaled() && status.Signal() == syscall.SIGKILL
	if failed != nil && !killed {
		err = fmt.Errorf("the child failed: %w\n%s%s", failed, &out, &trouble)
	}
	return steps, acked, killed, err
}

// states are the pictures of the registry after each number of writes of the script, taken from a store that cannot fail.
func states(t *testing.T) []string {
	t.Helper()
	store := registry.NewMemoryStore()
	defer func() { _ = store.Close() }()
	r, closeAll, err := scripted(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll()
	var all []string
	for i := 0; ; i++ {
		p, err := picture(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
		if i == len(script) {
			return all
		}
		if err := script[i](t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
}

// recovered opens what is left in dir and checks that it is the state after acked writes or, as the one under way may
// have come through, one more; and then that the registry goes on from there to where the script ends.
func recovered(ctx context.Context, dir string, acked int, want []string) error {
	store, err := bolt.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	r, closeAll, err := scripted(ctx, store)
	if err != nil {
		return err
	}
	defer closeAll()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		return fmt.Errorf("left behind: %v, %w", left, err)
	}
	got, err := picture(ctx, r)
	if err != nil {
		return err
	}
	at := acked
	if got != want[at] && acked < len(script) {
		at = acked + 1
	}
	if got != want[at] {
		return fmt.Errorf("after %d acknowledged writes there is\n%swant\n%sor what one more makes of it", acked, got, want[acked])
	}
	for _, do := range script[at:] {
		if err := do(ctx, r); err != nil {
			return fmt.Errorf("going on: %w", err)
		}
	}
	if got, err = picture(ctx, r); err != nil || got != want[len(script)] {
		return fmt.Errorf("in the end there is\n%s%w\nwant\n%s", got, err, want[len(script)])
	}
	return nil
}

// The process is killed at every single step by which bbolt and package bolt change the file or make it durable, from
// the creation of the directory on: before the step, after it, and, when it writes, in the middle. What was
// acknowledged is there; what was not is whole or absent.
//
// This covers all that SIGKILL can do. TestPowerLoss covers what a machine that stops can do beyond that.
func TestKillAtEveryStep(t *testing.T) {
	testenv.E2E(t)
	binary := faultBuild(t)
	want := states(t)
	plan, acked, killed, err := child(t.Context(), binary, filepath.Join(t.TempDir(), "data"), "", "")
	if err != nil || killed || acked != len(script) {
		t.Fatalf("without a fault: %d writes, killed %v, %v", acked, killed, err)
	}
	type kill struct {
		step step
		when string
	}
	kills := make(chan kill)
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		hit   = map[int]bool{}
		kinds = map[string]int{}
		total int
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for k := range kills {
				what := fmt.Sprintf("step %d of %d (%s of %d bytes), %s", k.step.number, len(plan), k.step.kind, k.step.size, k.when)
				dir, err := os.MkdirTemp("", "crdeval-fault-")
				if err != nil {
					t.Error(err)
					continue
				}
				steps, acked, killed, err := child(t.Context(), binary, filepath.Join(dir, "data"), fmt.Sprintf("%d:%s", k.step.number, k.when), "")
				switch {
				case err != nil:
					t.Errorf("%s: %v", what, err)
				case !killed || len(steps) == 0 || steps[len(steps)-1].number != k.step.number:
					t.Errorf("%s: the child was not killed there: %d steps, killed: %v", what, len(steps), killed)
				default:
					if err := recovered(t.Context(), filepath.Join(dir, "data"), acked, want); err != nil {
						t.Errorf("%s: %v", what, err)
					}
					mu.Lock()
					if !hit[k.step.number] {
						hit[k.step.number] = true
						kinds[steps[len(steps)-1].kind]++
					}
					total++
					mu.Unlock()
				}
				_ = os.RemoveAll(dir)
			}
		})
	}
	planned := 0
	for _, s := range plan {
		planned++
		kills <- kill{s, "before"}
		kills <- kill{s, "after"}
		if s.kind == "write" {
			kills <- kill{s, "40"} // in the middle of bbolt's meta data, and of a page's header
			kills <- kill{s, fmt.Sprint(s.size / 2)}
		}
	}
	close(kills)
	wg.Wait()
	if len(hit) != planned {
		t.Errorf("%d of %d steps hit", len(hit), planned)
	}
	list := make([]string, 0, len(kinds))
	for kind, n := range kinds {
		list = append(list, fmt.Sprintf("%d %s", n, kind))
	}
	slices.Sort(list)
	t.Logf("killed at %d of %d steps (%s), %d kills for %d writes: all acknowledged are there, the others whole or absent",
		len(hit), len(plan), strings.Join(list, ", "), total, len(script))
}
