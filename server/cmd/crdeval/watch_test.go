package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// watchedOutput is an output that tests wait for.
type watchedOutput struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *watchedOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *watchedOutput) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await waits until the output has a text n times.
func (o *watchedOutput) await(t *testing.T, text string, n int) {
	t.Helper()
	for begin := time.Now(); strings.Count(o.String(), text) < n; time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > 60*time.Second {
			t.Fatalf("%q is not there %d times:\n%s", text, n, o)
		}
	}
}

const waiting = "waiting for changes"

// TestWatch changes files below running commands.
func TestWatch(t *testing.T) {
	const kite = "apiVersion: example.com/v1\nkind: Good\nmetadata: {name: a}\n"
	const wrong = "apiVersion: example.com/v1\nkind: Good\nmetadata: {name: A}\n"
	write := func(dir, name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	replace := func(dir, name, text string) { // as editors do
		write(dir, ".new", text)
		if err := os.Rename(filepath.Join(dir, ".new"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	const suite = "crds: crd.yaml\ntests:\n- name: one\n  object: {apiVersion: example.com/v1, kind: Good, metadata: {name: a}}\n"
	for name, tc := range map[string]struct {
		args   string
		change func(dir string)
		before string
		after  string // in the output of the second run
	}{
		"a file": {"admit DIR/a.yaml --crds DIR/crd.yaml", func(d string) { write(d, "a.yaml", wrong) },
			"1 allowed", "1 rejected"},
		"a file is replaced": {"admit DIR/a.yaml --crds DIR/crd.yaml", func(d string) { replace(d, "a.yaml", wrong) },
			"1 allowed", "1 rejected"},
		"the CRD is replaced": {"admit DIR/a.yaml --crds DIR/crd.yaml", func(d string) { replace(d, "crd.yaml", bad) },
			"1 allowed", "bads.example.com: rejected"},
		"a new file": {"admit DIR --skip-other-kinds", func(d string) { write(d, "b.yaml", wrong) }, "1 object",
			"2 objects"},
		"a file in a new directory": {"admit DIR -R --skip-other-kinds", func(d string) { write(d, "c/d/b.yaml", wrong) },
			"1 object", "2 objects"},
		"a file is removed": {"admit DIR --skip-other-kinds", func(d string) { _ = os.Remove(filepath.Join(d, "a.yaml")) },
			"1 object", "0 objects"},
		"a missing file": {"admit DIR/x/b.yaml --crds DIR/crd.yaml", func(d string) { write(d, "x/b.yaml", kite) },
			"no such file", "1 allowed"},
		"check": {"check DIR/crd.yaml", func(d string) { write(d, "crd.yaml", bad) }, "1 accepted", "1 rejected"},
		"test": {"test DIR/suite.yaml -v", func(d string) { replace(d, "crd.yaml", bad) }, "one",
			"the CRD is rejected"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(dir, "crd.yaml", good)
			write(dir, "a.yaml", kite)
			if strings.HasPrefix(tc.args, "test") {
				write(dir, "suite.yaml", suite)
			}
			var out, errs watchedOutput
			ctx, cancel := context.WithCancel(t.Context())
			code := make(chan int, 1)
			go func() {
				args := strings.Fields(strings.ReplaceAll(tc.args, "DIR", dir) + " --watch")
				code <- run(ctx, args, environment{stdin: strings.NewReader(""), stdout: &out, stderr: &errs,
					interrupted: ctx.Done()})
			}()
			errs.await(t, waiting, 1)
			first := out.String()
			if !strings.Contains(first+errs.String(), tc.before) {
				t.Errorf("the first run:\n%s%s", first, &errs)
			}
			tc.change(dir)
			for runs := 2; !strings.Contains(strings.TrimPrefix(out.String(), first), tc.after) && runs < 5; runs++ {
				errs.await(t, waiting, runs) // the steps of a change can cause several runs
			}
			if !strings.Contains(strings.TrimPrefix(out.String(), first), tc.after) || strings.Contains(out.String(), "\033") {
				t.Errorf("the last run:\n%s", strings.TrimPrefix(out.String(), first))
			}
			cancel()
			if got := <-code; got != 0 {
				t.Errorf("exit code %d\n%s", got, &errs)
			}
		})
	}
	if code, _, stderr := invoke(t, "", "check", "--watch", "-"); code != exitError ||
		!strings.Contains(stderr, errWatchStdin.Error()) {
		t.Errorf("%d %s", code, stderr)
	}
}
