package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
)

// audience collects the events of a Watch.
type audience struct {
	mu     sync.Mutex
	events []Event
	done   chan error
}

// watching starts a Watch that ends with the test, or with stop.
func watching(t *testing.T, r *Registry, catalog, from string) (a *audience, stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	a = &audience{done: make(chan error, 1)}
	go func() {
		a.done <- r.Watch(ctx, catalog, from, func(e Event) error {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.events = append(a.events, e)
			return nil
		})
	}()
	t.Cleanup(cancel)
	return a, cancel
}

// heard returns the events since the last call as one line, once there are no more.
func (a *audience) heard() string {
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	for _, e := range a.events {
		if e.CRD == nil {
			all = append(all, string(e.Type))
			continue
		}
		all = append(all, fmt.Sprintf("%s %s %s", e.Type, e.CRD.Desired.Names.Plural, strings.TrimPrefix(e.CRD.Revision, "sha256:")))
	}
	a.events = nil
	return strings.Join(all, ", ")
}

func (a *audience) want(t *testing.T, want string) {
	t.Helper()
	if got := a.heard(); got != want {
		t.Errorf("heard %q, want %q", got, want)
	}
}

// token returns that of the last event.
func (a *audience) token() string {
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.events[len(a.events)-1].Token
}

func short(digest, plural string, names ...string) *revision {
	return testRevision(digest, "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, ShortNames: names})
}

// The same on a store of one's own and on a shared one.
func onBoth(t *testing.T, test func(t *testing.T, r *Registry)) {
	t.Run("own store", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, newRegistry(t, newTestStore(), &clock{now: time.Unix(1000, 0)})) })
	})
	t.Run("followed store", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, r, _ := replicas(t, 1)
			test(t, r[0])
		})
	})
}

func TestWatch(t *testing.T) {
	onBoth(t, func(t *testing.T, r *Registry) {
		mustRegister(t, r, "default", short("1", "b"))
		mustRegister(t, r, "default", short("2", "a"))
		a, stop := watching(t, r, "default", "")
		a.want(t, "ADDED a 2, ADDED b 1, SYNCED")
		mustRegister(t, r, "default", short("3", "c"))
		mustRegister(t, r, "default", short("4", "a"))
		mustRegister(t, r, "default", short("4", "a")) // changes nothing
		resume := a.token()
		a.want(t, "ADDED c 3, MODIFIED a 4")
		stop()
		if err := <-a.done; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}

		if _, err := r.Delete(t.Context(), "default", "b.g.io", Precondition{}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.CreateCatalog(t.Context(), "other", ""); err != nil {
			t.Fatal(err)
		}
		mustRegister(t, r, "other", short("5", "x"))
		b, _ := watching(t, r, "default", resume)
		synced := b.token()
		b.want(t, "DELETED b 1, SYNCED")
		if synced != r.last() {
			t.Error("SYNCED does not have the token of now")
		}
		c, _ := watching(t, r, "default", synced)
		c.want(t, "SYNCED")
		for _, tc := range []struct {
			catalog, from string
			want          Reason
		}{
			{"never", "", CatalogNotFound}, {"default", "rubbish", TokenInvalid}, {"default", r.tag.token(1 << 40), ReplicaBehind},
			{"other", resume, WatchExpired}, // from before it began
		} {
			wantReason(t, r.Watch(t.Context(), tc.catalog, tc.from, nil), tc.want)
		}
		boom := errors.New("boom")
		if err := r.Watch(t.Context(), "default", "", func(Event) error { return boom }); !errors.Is(err, boom) {
			t.Errorf("got %v", err)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
		wantReason(t, <-b.done, Overloaded)
	})
}

// The state of an event is served when the event arrives.
func TestStateOfEventIsServed(t *testing.T) {
	r := newRegistry(t, newTestStore(), &clock{now: time.Unix(1000, 0)})
	ctx, cancel := context.WithCancel(t.Context())
	received, done := make(chan string), make(chan error, 1)
	go func() {
		done <- r.Watch(ctx, "default", "", func(e Event) error {
			if e.CRD != nil {
				_, err := r.CRD(ctx, "default", e.CRD.Name, e.CRD.Revision, "")
				received <- fmt.Sprint(e.Type, " ", err)
			}
			return nil
		})
	}()
	for i := range 500 {
		mustRegister(t, r, "default", short(fmt.Sprint(i), fmt.Sprint("n", i)))
		if got := <-received; got != "ADDED <nil>" {
			t.Fatalf("event %d: %s", i, got)
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Events of one commit stay together: a client that stops in between gets the commit again.
func TestWatchSendsWholeCommits(t *testing.T) {
	onBoth(t, func(t *testing.T, r *Registry) {
		mustRegister(t, r, "default", short("1", "a", "x"))
		mustRegister(t, r, "default", short("2", "b", "x"))
		before := r.last()
		if _, err := r.Delete(t.Context(), "default", "a.g.io", Precondition{}); err != nil {
			t.Fatal(err)
		}
		var first, last string
		stop := errors.New("enough")
		err := r.Watch(t.Context(), "default", before, func(e Event) error {
			switch {
			case first == "":
				if first = e.Token; e.Type != Deleted || e.CRD.Name != "a.g.io" || len(e.CRD.Status.AcceptedNames.ShortNames) != 1 {
					t.Errorf("%+v", e)
				}
				return nil
			case e.Type != Modified || e.CRD.Name != "b.g.io" || len(e.CRD.Status.AcceptedNames.ShortNames) != 1:
				t.Errorf("%+v", e)
			}
			last = e.Token
			return stop
		})
		if !errors.Is(err, stop) || last != r.last() {
			t.Errorf("%v, %s", err, last)
		}
		a, _ := watching(t, r, "default", first)
		a.want(t, "DELETED a 1, MODIFIED b 2, SYNCED")
		b, _ := watching(t, r, "default", last)
		b.want(t, "SYNCED")
	})
}

func TestWatchEndsWithItsCatalog(t *testing.T) {
	onBoth(t, func(t *testing.T, r *Registry) {
		if _, _, err := r.CreateCatalog(t.Context(), "pr", ""); err != nil {
			t.Fatal(err)
		}
		mustRegister(t, r, "pr", short("1", "b"))
		mustRegister(t, r, "pr", short("2", "a"))
		a, _ := watching(t, r, "pr", r.last())
		a.want(t, "SYNCED")
		before := r.last()
		if _, _, err := r.DeleteCatalog(t.Context(), "pr", true, ""); err != nil {
			t.Fatal(err)
		}
		a.want(t, "DELETED a 2, DELETED b 1")
		wantReason(t, <-a.done, CatalogNotFound)
		wantReason(t, r.Watch(t.Context(), "pr", before, nil), CatalogNotFound)
		if _, _, err := r.CreateCatalog(t.Context(), "pr", ""); err != nil {
			t.Fatal(err)
		}
		wantReason(t, r.Watch(t.Context(), "pr", before, nil), WatchExpired)
	})
}

// A slow client does not delay others, and gets an error when it is too late.
func TestSlowWatchers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t, newTestStore(), nil)
		resume, heard := make(chan struct{}), 0
		done := make(chan error, 1)
		go func() {
			done <- r.Watch(t.Context(), "default", "", func(Event) error {
				heard++
				<-resume
				return nil
			})
		}()
		synctest.Wait()
		quick, _ := watching(t, r, "default", "")
		quick.want(t, "SYNCED")
		first := r.last()
		before := bare(0)
		const each = 1000
		for range maxEvents/each + 2 {
			var changes []change
			for i := range each {
				after := *before
				after.record.Etag = fmt.Sprint(i + 1)
				changes = append(changes, change{catalog: "default", before: before, after: &after})
				before = &after
			}
			r.publish(r.snapshot.Load().next(), changes)
			synctest.Wait()
		}
		if n := len(quick.events); n != each*(maxEvents/each+2) {
			t.Errorf("the quick one heard %d", n)
		}
		close(resume)
		wantReason(t, <-done, WatchExpired)
		wantReason(t, r.Watch(t.Context(), "default", first, nil), WatchExpired)
		if r.history.bytes > maxAllEventBytes || r.history.bytes != r.history.log("default").bytes {
			t.Errorf("%d bytes of news", r.history.bytes)
		}
	})
}

// next is the same a commit later.
func (s *snapshot) next() *snapshot {
	next := *s
	next.sequence++
	return &next
}

func bare(i int) *crd {
	d := &crd{catalog: "default", name: "foos.g.io", revisions: []*revision{foos("1")}}
	d.record.Etag, d.record.Status = fmt.Sprint(i), &apiextensionsv1.CustomResourceDefinitionStatus{}
	return d
}

// All catalogs together have a bound, too: it is the one with most that forgets.
func TestEventsOfAllCatalogs(t *testing.T) {
	c := history{logs: map[string]*eventLog{}}
	for i := range 10 {
		c.open(fmt.Sprint(i), 0)
	}
	big := bare(1)
	big.revisions[0].summary.Versions = make([]engine.VersionInfo, 4000) // 1 MB
	sequence := uint64(0)
	add := func(catalog string) {
		sequence++
		d := *big
		d.record.Etag = fmt.Sprint(sequence)
		c.add(sequence-1, sequence, []change{{catalog: catalog, before: bare(0), after: &d}}, func() {})
	}
	add("0")
	for range 30 {
		for i := 1; i < 10; i++ {
			add(fmt.Sprint(i))
		}
	}
	sum := 0
	for _, r := range c.logs {
		sum += r.bytes
	}
	if c.bytes > maxAllEventBytes || sum != c.bytes {
		t.Errorf("%d bytes, %d by log", c.bytes, sum)
	}
	if _, err := c.log("0").position(0); err != nil {
		t.Errorf("the quiet catalog forgot: %v", err)
	}
	_, err := c.log("1").position(1)
	wantReason(t, err, WatchExpired)
}

// A replica that could not follow reports the difference.
func TestWatchAcrossCompaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r, links := replicas(t, 2)
		for _, catalog := range []string{"pr", "gone", "again"} {
			if _, _, err := r[0].CreateCatalog(t.Context(), catalog, ""); err != nil {
				t.Fatal(err)
			}
			mustRegister(t, r[0], catalog, short("1", "stays"))
			mustRegister(t, r[0], catalog, short("2", "changes"))
			mustRegister(t, r[0], catalog, short("3", "goes"))
		}
		synctest.Wait()
		pr, _ := watching(t, r[1], "pr", r[1].last())
		gone, _ := watching(t, r[1], "gone", r[1].last())
		again, _ := watching(t, r[1], "again", r[1].last())
		for _, a := range []*audience{pr, gone, again} {
			a.want(t, "SYNCED")
		}
		links[1].set(true)
		mustRegister(t, r[0], "pr", short("4", "changes"))
		mustRegister(t, r[0], "pr", short("5", "comes"))
		if _, err := r[0].Delete(t.Context(), "pr", "goes.g.io", Precondition{}); err != nil {
			t.Fatal(err)
		}
		for _, catalog := range []string{"gone", "again"} {
			if _, _, err := r[0].DeleteCatalog(t.Context(), catalog, true, ""); err != nil {
				t.Fatal(err)
			}
		}
		// What is created again is another object.
		r[0].Now = func() time.Time { return time.Unix(2000, 0) }
		if _, _, err := r[0].CreateCatalog(t.Context(), "again", ""); err != nil {
			t.Fatal(err)
		}
		mustRegister(t, r[0], "again", short("6", "comes"))
		if _, err := r[0].Delete(t.Context(), "pr", "stays.g.io", Precondition{}); err != nil {
			t.Fatal(err)
		}
		mustRegister(t, r[0], "pr", short("1", "stays"))
		c.compact()
		pr.want(t, "")
		links[1].set(false)
		time.Sleep(maxPause)
		pr.want(t, "MODIFIED changes 4, ADDED comes 5, DELETED goes 3, DELETED stays 1, ADDED stays 1")
		for _, a := range []*audience{gone, again} {
			a.want(t, "DELETED changes 2, DELETED goes 3, DELETED stays 1")
			wantReason(t, <-a.done, CatalogNotFound)
		}
		again, _ = watching(t, r[1], "again", "")
		again.want(t, "ADDED comes 6, SYNCED")
		if r[1].Counts() != r[0].Counts() {
			t.Errorf("%+v, the other has %+v", r[1].Counts(), r[0].Counts())
		}
	})
}
