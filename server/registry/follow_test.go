package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func foos(digest string) *revision {
	return testRevision(digest, "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "foos"})
}

// last is the token of what a registry has seen.
func (r *Registry) last() string { return r.tag.token(r.Sequence()) }

func TestReplicasSeeEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r, _ := replicas(t, 3)
		mustRegister(t, r[0], "default", foos("1"))
		token := r[0].last()
		for i := range r {
			if d, err := r[i].CRD(t.Context(), "default", "foos.g.io", "", token); err != nil || d.Revision != "sha256:1" {
				t.Errorf("replica %d: %+v, %v", i, d, err)
			}
		}
		// What is planned on an old picture is planned again.
		if d := mustRegister(t, r[1], "default", foos("2")); d.Generation != 2 {
			t.Errorf("%+v", d)
		}
		if d := mustRegister(t, r[2], "default", foos("3")); d.Generation != 3 {
			t.Errorf("%+v", d)
		}
		synctest.Wait()
		for i := range r {
			if r[i].Sequence() != r[0].Sequence() || r[i].Following() != nil {
				t.Errorf("replica %d is at %d, %v", i, r[i].Sequence(), r[i].Following())
			}
		}
	})
}

// A replica that is cut off serves what it knows, says so, and fails writes in good time; it catches up by itself.
func TestPartition(t *testing.T) {
	for _, compaction := range []bool{false, true} {
		t.Run(fmt.Sprintf("compaction %t", compaction), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, r, links := replicas(t, 2)
				mustRegister(t, r[0], "default", foos("1"))
				synctest.Wait()
				links[1].set(true)
				mustRegister(t, r[0], "default", foos("2"))
				token := r[0].last()
				synctest.Wait()

				if r[1].Following() == nil {
					t.Error("a replica that is cut off says that it follows")
				}
				if d, err := r[1].CRD(t.Context(), "default", "foos.g.io", "", ""); err != nil || d.Revision != "sha256:1" {
					t.Errorf("%+v, %v", d, err)
				}
				_, err := r[1].View(t.Context(), "default", token)
				wantReason(t, err, ReplicaBehind)

				start := time.Now()
				_, err = register(t, r[1], "default", foos("3"), Precondition{})
				wantReason(t, err, StoreUnavailable)
				if took := time.Since(start); took != r[1].MaxWrite {
					t.Errorf("a write without a deadline failed after %v", took)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				start = time.Now()
				_, _, err = r[1].CreateCatalog(ctx, "pr", "")
				wantReason(t, err, StoreUnavailable)
				if took := time.Since(start); took != time.Second-answerMargin {
					t.Errorf("a write with a deadline of 1s failed after %v", took)
				}
				// Many at once do not wait for each other's time.
				start = time.Now()
				var wg sync.WaitGroup
				for range 10 {
					wg.Go(func() {
						_, err := r[1].Delete(t.Context(), "default", "foos.g.io", Precondition{})
						wantReason(t, err, StoreUnavailable)
					})
				}
				wg.Wait()
				if took := time.Since(start); took > 2*r[1].MaxWrite {
					t.Errorf("writes at once failed after %v", took)
				}

				if compaction {
					c.compact()
				}
				links[1].set(false)
				if d, err := r[1].CRD(t.Context(), "default", "foos.g.io", "", token); err != nil || d.Revision != "sha256:2" {
					t.Errorf("after healing: %+v, %v", d, err)
				}
				mustRegister(t, r[1], "default", foos("3"))
				if err := r[1].Following(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A commit that is durable but does not come back is a success all the same.
func TestDurableButNotSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r, links := replicas(t, 2)
		links[0].afterCommit = func() error { links[0].set(true); return nil }
		start := time.Now()
		d, err := register(t, r[0], "default", foos("1"), Precondition{})
		if err != nil || d.Revision != "sha256:1" || !d.Established {
			t.Fatalf("%+v, %v", d, err)
		}
		if took := time.Since(start); took > visibleWithin {
			t.Errorf("it took %v", took)
		}
		synctest.Wait()
		if d, err := r[1].CRD(t.Context(), "default", "foos.g.io", "", ""); err != nil || d.Etag == "" {
			t.Errorf("%+v, %v", d, err)
		}
		if r[0].Counts().CRDs != 0 {
			t.Error("it is served before its turn")
		}
	})
}

// Whether a commit without an answer happened is not known, and said so; the same once more does no harm.
func TestUnknownOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r, links := replicas(t, 1)
		links[0].afterCommit = func() error { return &Failure{Public: "the connection broke", Err: errors.New("10.0.0.1:2379: reset")} }
		_, err := register(t, r[0], "default", foos("1"), Precondition{})
		wantReason(t, err, StoreUnavailable)
		var e *Error
		if !errors.As(err, &e) || e.Metadata["outcome"] != "unknown" || e.Message != "the registry's store failed: the connection broke; the change may have been made or not: try again, which is safe in both cases" {
			t.Errorf("%v", err)
		}
		links[0].afterCommit = nil
		synctest.Wait()
		sequence := r[0].Sequence()
		if d := mustRegister(t, r[0], "default", foos("1")); d.Generation != 1 || r[0].Sequence() != sequence {
			t.Errorf("%+v", d)
		}
	})
}

// A commit of a newer version of crdeval that cannot be read is reported. The known state is served until a
// later state can be read.
func TestUnreadableCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r, _ := replicas(t, 1)
		mustRegister(t, r[0], "default", foos("1"))
		if _, err := c.commit(Transaction{Put: []Entry{{Key: "future/x"}}}, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := r[0].Following(); err == nil {
			t.Error("no error for an unreadable commit")
		}
		if _, err := r[0].CRD(t.Context(), "default", "foos.g.io", "", ""); err != nil {
			t.Error(err)
		}
		if _, err := c.commit(Transaction{Delete: []string{"future/x"}}, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(maxPause)
		synctest.Wait()
		if err := r[0].Following(); err != nil {
			t.Error(err)
		}
		mustRegister(t, r[0], "default", foos("2"))
	})
}

// pastLink is a link whose watches always come too late.
type pastLink struct {
	*link
	loads atomic.Int32
}

func (l *pastLink) Watch(context.Context, uint64, func(), func(Commit)) error { return ErrCompacted }

func (l *pastLink) Load(ctx context.Context) (State, error) {
	l.loads.Add(1)
	return l.link.Load(ctx)
}

// A store that always has compacted what comes next is not loaded without a pause.
func TestAlwaysTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &pastLink{link: &link{cluster: newCluster()}}
		newRegistry(t, l, nil)
		time.Sleep(time.Minute)
		if n := l.loads.Load(); n > int32(time.Minute/maxPause)+10 {
			t.Errorf("loaded %d times in a minute", n)
		}
	})
}

// Replicas that race for one name: one has it, all agree who, and every write is there.
func TestRacingReplicas(t *testing.T) {
	_, r, links := replicas(t, 3)
	for i := range r {
		r[i].MaxWait = patience
	}
	var wg sync.WaitGroup
	for i := range r {
		wg.Go(func() {
			for n := range 15 {
				names := apiextensionsv1.CustomResourceDefinitionNames{Plural: fmt.Sprintf("p%dx%d", i, n), ShortNames: []string{fmt.Sprintf("short%d", n)}}
				if _, err := register(t, r[i], "default", testRevision(fmt.Sprint(i, n), "g.io", names), Precondition{}); err != nil {
					t.Errorf("replica %d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
	state, err := links[0].Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for i := range r {
		page, err := r[i].CRDs(t.Context(), "default", Page{Size: 100}, r[i].tag.token(state.Sequence))
		if err != nil || len(page.CRDs) != 45 {
			t.Fatalf("replica %d has %d CRDs, %v", i, len(page.CRDs), err)
		}
		holders := map[string]string{}
		for _, d := range page.CRDs {
			for _, short := range d.Status.AcceptedNames.ShortNames {
				if other := holders[short]; other != "" {
					t.Errorf("%s and %s have %s", other, d.Name, short)
				}
				holders[short] = d.Name
			}
		}
		if got := fmt.Sprint(holders); len(holders) != 15 || want != "" && got != want {
			t.Errorf("replica %d: %s", i, got)
		} else {
			want = got
		}
	}
}

// failingLink is a link that cannot be watched.
type failingLink struct {
	*link
	loads chan struct{}
}

func (l failingLink) Watch(context.Context, uint64, func(), func(Commit)) error { return ErrCompacted }

func (l failingLink) Load(ctx context.Context) (State, error) {
	l.loads <- struct{}{}
	return l.link.Load(ctx)
}

// Following may be called at any time while the store cannot be loaded. The race detector finds an error that is
// published before it is written.
func TestFollowingBesideFailedLoads(t *testing.T) {
	l := failingLink{&link{cluster: newCluster()}, make(chan struct{}, 100)}
	r := newRegistry(t, l, nil)
	l.set(true)
	for range 3 {
		<-l.loads
		if err := r.Following(); err == nil {
			t.Error("no error while the store is not followed")
		}
	}
}

// panickingLink is a link whose watch or load panics.
type panickingLink struct {
	*link
	watch, load atomic.Bool
}

func (l *panickingLink) Watch(context.Context, uint64, func(), func(Commit)) error {
	if l.watch.Load() {
		panic("ouch")
	}
	return ErrCompacted
}

func (l *panickingLink) Load(ctx context.Context) (State, error) {
	if l.load.Load() {
		panic("ouch")
	}
	return l.link.Load(ctx)
}

// A panic while the store is followed is logged with its stack, and does not end the process.
func TestPanicsWhileFollowing(t *testing.T) {
	for _, where := range []string{"watch", "load"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				l := &panickingLink{link: &link{cluster: newCluster()}}
				l.watch.Store(where == "watch")
				r := newRegistryWith(t, l, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
				l.load.Store(where == "load")
				time.Sleep(time.Minute)
				synctest.Wait()
				if err := r.Following(); err == nil || !strings.Contains(err.Error(), "panic: ouch") {
					t.Errorf("following: %v", err)
				}
				if !strings.Contains(log.String(), "(*panickingLink)") {
					t.Errorf("the log has no stack:\n%s", &log)
				}
			})
		})
	}
}
