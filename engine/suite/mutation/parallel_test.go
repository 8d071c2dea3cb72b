package mutation

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/suite"
)

// compiling calls a function while a version is compiled.
type compiling struct {
	host.Observer
	during func()
}

func (c compiling) Compiled(context.Context, host.CompileEvent) { c.during() }

// TestPatchedInParallel checks that CRDs are compiled while others are, and that equal ones are compiled once.
func TestPatchedInParallel(t *testing.T) {
	r := &run{patched: map[string]*patched{}}
	open := func(kind string) {
		crd := suite.CRDs{File: "crd.yaml", Text: []byte(strings.ReplaceAll(crdText, "kite", kind))}
		if _, err := r.open(t.Context(), []suite.CRDs{crd}); err != nil {
			t.Error(err)
		}
	}
	var compiled atomic.Int64
	r.options.Engine.Observer = compiling{during: func() {
		if compiled.Add(1) > 1 {
			return
		}
		if !r.mutex.TryLock() { // open would wait forever
			t.Error("a lock is held during a compilation")
			return
		}
		r.mutex.Unlock()
		open("dragon")
	}}
	open("kite")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { open("balloon") })
	}
	group.Wait()
	if n := compiled.Load(); n != 3 {
		t.Errorf("%d compilations of three CRDs", n)
	}
}

// TestManifestsInParallel checks that the manifests of mutants can be made at the same time, and do not change the CRD.
func TestManifestsInParallel(t *testing.T) {
	definitions, err := suite.Compile(t.Context(), []suite.CRDs{{File: "crd.yaml", Text: []byte(crdText)}}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := newCRD("crd.yaml", definitions[0])
	if err != nil {
		t.Fatal(err)
	}
	c.addMutants()
	if len(c.mutants) < 20 {
		t.Fatalf("%d mutants", len(c.mutants))
	}
	made := make([][]byte, len(c.mutants))
	var group sync.WaitGroup
	for i, m := range c.mutants {
		group.Go(func() {
			var err error
			if made[i], err = c.manifest(m); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for i, m := range c.mutants {
		alone, err := c.manifest(m)
		if err != nil || !bytes.Equal(alone, made[i]) || bytes.Equal(alone, definitions[0].Manifest()) {
			t.Errorf("%s: %v\n%s\n%s", m.kind, err, made[i], alone)
		}
	}
}
