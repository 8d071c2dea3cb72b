package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// attempt is a write of one object. It may have taken effect, whether it was acknowledged or not.
type attempt struct {
	name       string
	generation int64 // the acknowledged one of the CRD when the write began
}

// ledger has all writes of a run.
type ledger struct {
	acknowledgedCRD, attemptedCRD atomic.Int64 // generations of the CRD
	newest                        atomic.Int64 // resourceVersion of an acknowledged write
	sequence                      atomic.Int64

	mu       sync.Mutex
	attempts map[int64]attempt // by sequence
	written  map[int64]int64   // resourceVersion → sequence of a write that took effect
}

func (l *ledger) attempt(name string) (sequence int64, a attempt) {
	a = attempt{name, l.acknowledgedCRD.Load()}
	sequence = l.sequence.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempts[sequence] = a
	return sequence, a
}

// observe records an object that was read or whose write was acknowledged, and returns what is wrong with it.
func (l *ledger) observe(o *job) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, known := l.attempts[o.Spec.Sequence]
	at := version(o.ResourceVersion)
	switch before, written := l.written[at]; {
	case !known || a.name != o.Name:
		return fmt.Errorf("%s at %d has sequence %d, which no writer wrote", o.Name, at, o.Spec.Sequence)
	case written && before != o.Spec.Sequence:
		return fmt.Errorf("%s at %d has sequence %d, and had %d", o.Name, at, o.Spec.Sequence, before)
	case o.Spec.Judge == nil:
		return fmt.Errorf("%s at %d lacks its default", o.Name, at)
	case *o.Spec.Judge < a.generation:
		return fmt.Errorf("%s at %d was judged by generation %d of the CRD, but %d was acknowledged before",
			o.Name, at, *o.Spec.Judge, a.generation)
	case *o.Spec.Judge > l.attemptedCRD.Load():
		return fmt.Errorf("%s at %d was judged by generation %d of the CRD, which does not exist", o.Name, at, *o.Spec.Judge)
	}
	l.written[at] = o.Spec.Sequence
	for {
		newest := l.newest.Load()
		if at <= newest || l.newest.CompareAndSwap(newest, at) {
			return nil
		}
	}
}

// writer creates, updates, patches and deletes objects that no other writer touches. A name is used once.
type writer struct {
	testing.TB
	*client
	*ledger
	id           int
	random       *rand.Rand
	count        int          // of names
	current      *job         // nil: there is no object
	pending      []int64      // sequences of writes of the current name that may take effect
	deleting     bool         // a deletion may take effect
	acknowledged atomic.Int64 // number of writes
	ambiguous    int          // number of writes without acknowledgement
}

// run writes until the context ends. The outcome of the last write is known then.
func (w *writer) run(ctx context.Context) {
	for ctx.Err() == nil {
		if !w.write() {
			w.ambiguous++
			w.resolve()
		}
		pause(ctx, 5*time.Millisecond)
	}
}

func (w *writer) name() string { return fmt.Sprintf("w%d-%d", w.id, w.count) }

// write sends one write, and reports whether it was acknowledged.
func (w *writer) write() bool {
	sequence, a := w.attempt(w.name())
	spec := map[string]any{"sequence": sequence, "level": a.generation}
	meta := map[string]any{"name": w.name()}
	body := map[string]any{"apiVersion": jobsGroup + "/v1", "kind": "Job", "metadata": meta, "spec": spec}
	method, path, contentType, want := http.MethodPost, toJobs, "application/json", http.StatusCreated
	if w.current != nil {
		meta["resourceVersion"] = w.current.ResourceVersion
		path, want = path+"/"+w.name(), http.StatusOK
		switch n := w.random.IntN(10); {
		case n < 5:
			method = http.MethodPut
		case n < 8:
			method, contentType = http.MethodPatch, "application/merge-patch+json"
			spec["judge"] = nil // the default applies again
		default:
			return w.delete(path)
		}
	}
	w.pending = append(w.pending, sequence)
	code, text, err := w.do(context.Background(), method, path, contentType, body)
	if err != nil || code != want {
		w.reject(method, code, text)
		return false
	}
	w.set(text)
	if w.current.Spec.Sequence != sequence {
		w.Errorf("%s of %s: sequence %d, want %d", method, w.name(), w.current.Spec.Sequence, sequence)
	}
	w.acknowledged.Add(1)
	return true
}

// delete deletes the current object.
func (w *writer) delete(path string) bool {
	w.deleting = true
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &w.current.ResourceVersion}}
	code, text, err := w.do(context.Background(), http.MethodDelete, path, "application/json", options)
	if err != nil || code != http.StatusOK {
		w.reject(http.MethodDelete, code, text)
		return false
	}
	w.forget()
	w.acknowledged.Add(1)
	return true
}

// reject checks the response to a write that was not acknowledged. A write that begins after the acknowledgement of a CRD
// is valid, and its namespace and its CRD exist.
func (w *writer) reject(method string, code int, text []byte) {
	if code == http.StatusUnprocessableEntity || code == http.StatusBadRequest || code == http.StatusForbidden ||
		code == http.StatusNotFound && !w.deleting {
		w.Errorf("%s of %s: HTTP %d: %s", method, w.name(), code, text)
	}
}

// set makes an object of a response the current one.
func (w *writer) set(text []byte) {
	o := &job{}
	if err := json.Unmarshal(text, o); err != nil {
		w.Errorf("%s: %v: %s", w.name(), err, text)
		return
	}
	if err := w.observe(o); err != nil {
		w.Error(err)
	}
	w.current, w.pending, w.deleting = o, nil, false
}

// forget continues with the next name after a deletion.
func (w *writer) forget() {
	w.current, w.pending, w.deleting = nil, nil, false
	w.count++
}

// resolve reads the object after a write without acknowledgement. It is that of the last acknowledged write, or of a
// pending one.
func (w *writer) resolve() {
	for {
		code, text, err := w.do(context.Background(), http.MethodGet, toJobs+"/"+w.name(), "", nil)
		o := &job{}
		switch {
		case err == nil && code == http.StatusNotFound:
			if w.current != nil && !w.deleting {
				w.Errorf("%s is lost: sequence %d at %s was acknowledged: %s",
					w.name(), w.current.Spec.Sequence, w.current.ResourceVersion, text)
			}
			if w.current != nil {
				w.forget()
			}
			return
		case err != nil || code != http.StatusOK:
			time.Sleep(20 * time.Millisecond)
			continue
		case json.Unmarshal(text, o) != nil:
			w.Errorf("%s: %s", w.name(), text)
			return
		}
		if w.current != nil && o.ResourceVersion == w.current.ResourceVersion {
			return // pending writes can still take effect, until another one is acknowledged
		}
		found := false
		for _, sequence := range w.pending {
			found = found || sequence == o.Spec.Sequence
		}
		if !found {
			w.Errorf("%s has sequence %d, want one of %v or that of %+v", w.name(), o.Spec.Sequence, w.pending, w.current)
		}
		w.set(text)
		return
	}
}

// updater changes the schema of the CRD. Each change has a higher generation.
type updater struct {
	testing.TB
	*client
	*ledger
	acknowledged atomic.Int64 // number of changes
}

func (u *updater) run(ctx context.Context) {
	for pause(ctx, 150*time.Millisecond) {
		if u.update() {
			u.acknowledged.Add(1)
		}
	}
}

// update changes the CRD once, and reports whether the change was acknowledged.
func (u *updater) update() bool {
	path := toJobsCRD + "/jobs." + jobsGroup
	code, text, err := u.do(context.Background(), http.MethodGet, path, "", nil)
	if err != nil || code != http.StatusOK {
		if code == http.StatusNotFound {
			u.Errorf("the CRD is lost: %s", text)
		}
		return false
	}
	stored := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal(text, stored); err != nil {
		u.Errorf("CRD: %v", err)
		return false
	}
	var found int64
	spec := stored.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	if err := json.Unmarshal(spec.Properties["judge"].Default.Raw, &found); err != nil || found < u.acknowledgedCRD.Load() {
		u.Errorf("the CRD has generation %d (%v), but %d was acknowledged", found, err, u.acknowledgedCRD.Load())
	}
	generation := u.attemptedCRD.Add(1)
	changed := jobsCRD(u, generation)
	changed.ResourceVersion = stored.ResourceVersion
	code, _, err = u.do(context.Background(), http.MethodPut, path, "application/json", changed)
	if err != nil || code != http.StatusOK {
		return false
	}
	u.acknowledgedCRD.Store(generation)
	return true
}
