package registry

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
)

// panickingObserver panics in every compilation, as a fault of the compiler would.
type panickingObserver struct{ host.Observer }

func (panickingObserver) Compiled(context.Context, host.CompileEvent) {
	panic("a fault of the compiler")
}

// A panic in a compilation is the error of that manifest. RegisterAll compiles in goroutines of its own, where a panic
// would end the process.
func TestCompilePanics(t *testing.T) {
	r := newRegistry(t, newTestStore(), nil)
	r.Engine.Observer = panickingObserver{}
	wantInternal := func(err error) {
		t.Helper()
		var e *engine.Error
		if !errors.As(err, &e) || e.Reason != engine.ReasonInternal {
			t.Errorf("got %v", err)
		}
	}
	done, _, err := r.RegisterAll(t.Context(), DefaultCatalog, []Submission{{Manifest: crontabs(10)}, {Manifest: crontabs(9)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range done {
		wantInternal(d.Err)
	}
	_, err = r.Register(t.Context(), DefaultCatalog, crontabs(10), Precondition{})
	wantInternal(err)
	_, err = r.Check(t.Context(), DefaultCatalog, Submission{Manifest: crontabs(10)}, "")
	wantInternal(err)

	r.Engine.Observer = nil
	if done, err := r.Register(t.Context(), DefaultCatalog, crontabs(10), Precondition{}); err != nil || !done.Report.Accepted {
		t.Errorf("afterwards: %+v, %v", done.Report, err)
	}
}

// A panic outside the engine is an error of that manifest, too.
func TestSubmissionPanics(t *testing.T) {
	r := newRegistry(t, newTestStore(), nil)
	r.Now = func() time.Time { panic("ouch") }
	done, _, err := r.RegisterAll(t.Context(), DefaultCatalog, []Submission{
		{Manifest: crontabs(10), AsStored: true}, {Manifest: engine.JSON([]byte("{"))},
	})
	if err != nil {
		t.Fatal(err)
	}
	if p, is := errors.AsType[*host.PanicError](done[0].Err); !is || !strings.Contains(string(p.Stack), "compile_panic_test.go") {
		t.Errorf("got %v", done[0].Err)
	}
	if engine.ReasonOf(done[1].Err) != engine.ReasonManifestUnreadable {
		t.Errorf("the next manifest: %v", done[1].Err)
	}
}
