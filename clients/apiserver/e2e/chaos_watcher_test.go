package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// watcher follows the jobs with plain watches. It continues after the last resourceVersion, and lists the jobs again only
// after 410 Expired.
type watcher struct {
	testing.TB
	*client
	*ledger
	path, query string // query are further parameters of a watch

	last    atomic.Int64     // resourceVersion
	jobs    map[string]int64 // name → resourceVersion of the jobs that exist after the events
	seen    map[int64]bool   // resourceVersions of events
	skipped []interval       // between events and a list that replaced the missing ones
	watches int              // number of watches that began
	events  int
}

// interval are the resourceVersions after one up to another.
type interval struct{ after, upTo int64 }

// run watches until the context ends.
func (w *watcher) run(ctx context.Context) {
	expired := true
	for ctx.Err() == nil {
		if expired && !w.list(ctx) {
			pause(ctx, 20*time.Millisecond)
			continue
		}
		expired = w.watch(ctx)
		pause(ctx, 20*time.Millisecond)
	}
}

// list replaces the state, and reports whether it could.
func (w *watcher) list(ctx context.Context) bool {
	newest := w.newest.Load()
	code, text, err := w.do(ctx, http.MethodGet, w.path, "", nil)
	if err != nil || code != http.StatusOK {
		return false
	}
	list := struct {
		metav1.ListMeta `json:"metadata"`
		Items           []job `json:"items"`
	}{}
	if err := json.Unmarshal(text, &list); err != nil {
		w.Errorf("list: %v", err)
		return false
	}
	at := version(list.ResourceVersion)
	if at < newest {
		w.Errorf("a list is of %d, but a write at %d was acknowledged before", at, newest)
	}
	w.jobs = map[string]int64{}
	for i := range list.Items {
		w.jobs[list.Items[i].Name] = version(list.Items[i].ResourceVersion)
		if err := w.observe(&list.Items[i]); err != nil {
			w.Errorf("list: %v", err)
		}
	}
	w.skipped = append(w.skipped, interval{w.last.Load(), at})
	w.last.Store(at)
	return true
}

// watch watches once, and reports whether the last resourceVersion has expired.
func (w *watcher) watch(ctx context.Context) (expired bool) {
	r, err := w.open(ctx, http.MethodGet, fmt.Sprintf("%s?watch=1&resourceVersion=%d%s", w.path, w.last.Load(), w.query), "", nil)
	if err != nil {
		return false
	}
	defer func() { _ = r.Body.Close() }()
	if r.StatusCode != http.StatusOK {
		return r.StatusCode == http.StatusGone
	}
	w.watches++
	events := json.NewDecoder(r.Body)
	for {
		var e metav1.WatchEvent
		if events.Decode(&e) != nil {
			return false // the server ends a watch at any time
		}
		if e.Type == string(watch.Error) {
			var s metav1.Status
			return json.Unmarshal(e.Object.Raw, &s) == nil && s.Code == http.StatusGone
		}
		if err := w.apply(&e); err != nil {
			w.Errorf("%s%s, after %d: %s %s: %v", w.path, w.query, w.last.Load(), e.Type, e.Object.Raw, err)
			return false
		}
	}
}

// apply applies an event to the state, and returns what is wrong with it.
func (w *watcher) apply(e *metav1.WatchEvent) error {
	o := job{}
	if err := json.Unmarshal(e.Object.Raw, &o); err != nil {
		return err
	}
	at, before := version(o.ResourceVersion), w.last.Load()
	w.last.Store(max(at, before))
	if e.Type == string(watch.Bookmark) {
		if at < before {
			return fmt.Errorf("the bookmark is older than an event")
		}
		return nil
	}
	w.events++
	_, exists := w.jobs[o.Name]
	switch {
	case at <= before:
		return fmt.Errorf("the event is older than the one before, or the same")
	case e.Type == string(watch.Deleted):
		if !exists {
			return fmt.Errorf("the object does not exist")
		}
		delete(w.jobs, o.Name)
		w.seen[at] = true
		return nil
	case e.Type == string(watch.Added) && exists || e.Type == string(watch.Modified) && !exists:
		return fmt.Errorf("whether the object exists is %v", exists)
	}
	w.jobs[o.Name], w.seen[at] = at, true
	return w.observe(&o)
}

// verify compares the events with all writes, and the state with the final list.
func (w *watcher) verify(final map[string]int64) {
	if !maps.Equal(w.jobs, final) {
		w.Errorf("%s%s: the events lead to %v, but the list has %v", w.path, w.query, w.jobs, final)
	}
	for at, sequence := range w.written {
		missing := !w.seen[at]
		for _, skip := range w.skipped {
			missing = missing && (at <= skip.after || at > skip.upTo)
		}
		if missing {
			w.Errorf("%s%s: no event of sequence %d of %s at %d", w.path, w.query, sequence, w.attempts[sequence].name, at)
		}
	}
}
