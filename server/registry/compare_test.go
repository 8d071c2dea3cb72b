package registry

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine"
)

// halting is an Observer that holds up evaluations.
type halting struct {
	began, goOn chan struct{}
	first       sync.Once
}

func (*halting) Compiled(context.Context, engine.CompileEvent) {}

func (h *halting) Evaluated(context.Context, engine.EvaluationEvent) {
	h.first.Do(func() { close(h.began) })
	<-h.goOn
}

// Objects that are replayed are evaluations: however long they take, others can have their manifests judged meanwhile.
func TestReplayTakesNoPlace(t *testing.T) {
	r := newRegistry(t, newMapStore(), nil)
	r.compiling = make(chan struct{}, 1)
	mustAccept(t, r, widget("Widget", "", "v1"), Created)
	h := &halting{began: make(chan struct{}), goOn: make(chan struct{})}
	r.engine.Observer = h
	object := engine.YAML([]byte("apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\n"))
	var wg sync.WaitGroup
	for _, base := range []engine.Document{{}, widget("Widget", "base", "v1")} {
		wg.Go(func() {
			done, err := r.Compare(t.Context(), "default", Comparison{New: widget("Widget", "", "v1", "v2"), Base: base, Objects: []engine.Document{object}}, "")
			if err != nil || len(done.Replayed) != 1 || done.Replayed[0].Err != nil || (done.Base == nil) == base.Absent() {
				t.Errorf("%+v, %v", done, err)
			}
		})
	}
	<-h.began
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if done, err := r.Register(ctx, "default", crontabs(1), Precondition{}); err != nil || done.Outcome != Created {
		t.Errorf("%+v, %v", done, err)
	}
	close(h.goOn)
	wg.Wait()
}
