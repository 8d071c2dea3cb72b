package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crdeval/crdeval/engine"
)

func TestCatalogs(t *testing.T) {
	store := newMapStore()
	r := newRegistry(t, store, &clock{now: time.Unix(1000, 0)})
	for _, tc := range []struct {
		name  string
		minor int
		want  Reason
	}{
		{"pr-17", 0, ""}, {"pr-17", 0, CatalogExists}, {"old", engine.OldestMinor, ""}, {DefaultCatalog, 0, CatalogExists},
		{"", 0, InvalidArgument}, {"Upper", 0, InvalidArgument}, {"a/b", 0, InvalidArgument}, {"a.b", 0, InvalidArgument},
		{strings.Repeat("x", 64), 0, InvalidArgument}, {"m1", engine.OldestMinor - 1, InvalidArgument}, {"m2", engine.LatestMinor + 1, InvalidArgument}, {"m3", -1, InvalidArgument},
	} {
		c, token, err := r.CreateCatalog(t.Context(), tc.name, tc.minor)
		wantReason(t, err, tc.want)
		if err == nil && (c.Name != tc.name || c.KubernetesMinor != tc.minor || c.Etag == "" || token == "" || !c.Created.Equal(time.Unix(1000, 0))) {
			t.Errorf("created %+v, token %q", c, token)
		}
	}
	mustRegister(t, r, "pr-17", testRevision("a", "g.io", engine.Names{Plural: "foos"}))
	got, err := r.Catalog(t.Context(), "pr-17", "")
	if err != nil || got.CRDs != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	before, _ := r.Catalog(t.Context(), "old", "")

	// All of it is there after a restart.
	again := newRegistry(t, store, nil)
	if page, err := again.Catalogs(t.Context(), Page{}, ""); err != nil || len(page.Catalogs) != 3 || page.Catalogs[0].Name != DefaultCatalog || page.Next != "" {
		t.Errorf("after a restart: %+v, %v", page, err)
	}

	for _, tc := range []struct {
		name  string
		force bool
		etag  string
		want  Reason
		crds  int
	}{
		{DefaultCatalog, true, "", CatalogProtected, 0}, {"never", true, "", CatalogNotFound, 0}, {"pr-17", false, "", CatalogNotEmpty, 0},
		{"pr-17", true, "other", EtagMismatch, 0}, {"pr-17", true, got.Etag, "", 1}, {"pr-17", true, "", CatalogNotFound, 0}, {"old", false, before.Etag, "", 0},
	} {
		token, crds, err := r.DeleteCatalog(t.Context(), tc.name, tc.force, tc.etag)
		wantReason(t, err, tc.want)
		if err == nil && (token == "" || crds != tc.crds) {
			t.Errorf("deleting %s: token %q, %d CRDs", tc.name, token, crds)
		}
	}
	if len(store.entries) != 0 {
		t.Errorf("left behind: %v", store.entries)
	}
	if _, err := r.Catalog(t.Context(), DefaultCatalog, ""); err != nil {
		t.Error(err)
	}
}

func TestRegistrationsAndPreconditions(t *testing.T) {
	c := &clock{now: time.Unix(1000, 0)}
	store := newMapStore()
	r := newRegistry(t, store, c)
	one, two := testRevision("1", "g.io", engine.Names{Plural: "foos"}), testRevision("2", "g.io", engine.Names{Plural: "foos"})
	_, err := register(t, r, "default", one, Precondition{Etag: "any"})
	wantReason(t, err, EtagMismatch)
	first, err := register(t, r, "default", one, Precondition{CreateOnly: true})
	if err != nil || first.Generation != 1 || first.Etag == "" || first.Revision != "sha256:1" || !first.Established {
		t.Fatalf("%+v, %v", first, err)
	}
	_, err = register(t, r, "default", one, Precondition{CreateOnly: true})
	wantReason(t, err, CRDExists)

	// The same again changes nothing at all.
	sequence := store.sequence
	c.advance(time.Hour)
	if same := mustRegister(t, r, "default", one); !reflect.DeepEqual(same, first) || store.sequence != sequence {
		t.Errorf("%+v, was %+v", same, first)
	}
	_, err = register(t, r, "default", two, Precondition{Etag: "other"})
	wantReason(t, err, EtagMismatch)
	second, err := register(t, r, "default", two, Precondition{Etag: first.Etag})
	if err != nil || second.Generation != 2 || second.Etag == first.Etag || !second.Created.Equal(first.Created) || !second.Updated.After(first.Updated) {
		t.Errorf("%+v, %v", second, err)
	}
	// Both revisions are there; going back to the first is a write, though its bytes are kept already.
	for _, digest := range []string{"sha256:1", "sha256:2"} {
		if d, err := r.CRD(t.Context(), "default", "foos.g.io", digest, ""); err != nil || d.Revision != digest || string(d.Manifest) != `{"digest":"`+digest[7:]+`"}` {
			t.Errorf("%+v, %v", d, err)
		}
	}
	third := mustRegister(t, r, "default", one)
	if third.Generation != 3 || third.Revision != "sha256:1" {
		t.Errorf("%+v", third)
	}
	_, err = r.CRD(t.Context(), "default", "foos.g.io", "sha256:3", "")
	wantReason(t, err, RevisionNotFound)
	_, err = r.CRD(t.Context(), "default", "bars.g.io", "", "")
	wantReason(t, err, CRDNotFound)
	_, err = r.CRD(t.Context(), "never", "foos.g.io", "", "")
	wantReason(t, err, CatalogNotFound)
	_, err = register(t, r, "never", one, Precondition{})
	wantReason(t, err, CatalogNotFound)

	_, err = r.Delete(t.Context(), "default", "foos.g.io", first.Etag)
	wantReason(t, err, EtagMismatch)
	if _, err = r.Delete(t.Context(), "default", "foos.g.io", third.Etag); err != nil {
		t.Error(err)
	}
	_, err = r.Delete(t.Context(), "default", "foos.g.io", "")
	wantReason(t, err, CRDNotFound)
	if _, ok := store.entries[catalogKey("default")]; !ok || len(store.entries) != 1 {
		t.Errorf("left behind: %v", store.entries)
	}
	if reborn := mustRegister(t, r, "default", one); reborn.Etag == first.Etag || reborn.Generation != 1 {
		t.Errorf("%+v", reborn)
	}
}

func TestStoredVersionsAccumulate(t *testing.T) {
	r := newRegistry(t, newMapStore(), nil)
	for i, storage := range []string{"v1alpha1", "v1", "v1alpha1"} {
		rev := testRevision(fmt.Sprint(i), "g.io", engine.Names{Plural: "foos"})
		rev.summary.Desired.StorageVersion = storage
		mustRegister(t, r, "default", rev)
	}
	if d, _ := r.CRD(t.Context(), "default", "foos.g.io", "", ""); fmt.Sprint(d.Status.StoredVersions) != "[v1alpha1 v1]" || d.Desired.StorageVersion != "v1alpha1" {
		t.Errorf("%v, %s", d.Status.StoredVersions, d.Desired.StorageVersion)
	}
}

func TestRetention(t *testing.T) {
	for _, tc := range []struct {
		name string
		ages []time.Duration // of each revision's registration, oldest first
		kept int
	}{
		{"few and old", slices.Repeat([]time.Duration{100 * time.Hour}, 10), 10},
		{"many and old", slices.Repeat([]time.Duration{100 * time.Hour}, 15), 10},
		{"many of today", slices.Repeat([]time.Duration{time.Hour}, 50), 50},
		{"exactly a day is still kept", slices.Repeat([]time.Duration{24 * time.Hour}, 15), 15},
		// The second one came two days ago and was current until an hour ago.
		{"old, but current until today", append([]time.Duration{50 * time.Hour, 48 * time.Hour}, slices.Repeat([]time.Duration{time.Hour}, 20)...), 21},
		{"one", []time.Duration{1000 * time.Hour}, 1},
	} {
		now := time.Unix(1e9, 0)
		var refs []revisionRef
		for _, age := range tc.ages {
			refs = append(refs, revisionRef{Since: now.Add(-age)})
		}
		kept, dropped := retain(refs, now)
		if len(kept) != tc.kept || len(dropped) != len(refs)-tc.kept {
			t.Errorf("%s: %d kept, %d dropped; want %d kept", tc.name, len(kept), len(dropped), tc.kept)
		}
	}
}

func TestSweep(t *testing.T) {
	c := &clock{now: time.Unix(1e9, 0)}
	store := newMapStore()
	r := newRegistry(t, store, c)
	var last *CRD
	for i := range 25 {
		last = mustRegister(t, r, "default", testRevision(fmt.Sprint(i), "g.io", engine.Names{Plural: "foos"}))
	}
	if n, err := r.Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	if n := r.Counts(); n.Revisions != 25 || n.Catalogs != 1 || n.CRDs != 1 || n.ManifestBytes == 0 {
		t.Errorf("%+v", n)
	}
	c.advance(25 * time.Hour)
	if n, err := r.Sweep(t.Context()); n != 15 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	if now, _ := r.CRD(t.Context(), "default", "foos.g.io", "", ""); now.Etag != last.Etag || now.Generation != last.Generation {
		t.Errorf("sweeping changed %+v to %+v", last, now)
	}
	_, err := r.CRD(t.Context(), "default", "foos.g.io", "sha256:14", "")
	wantReason(t, err, RevisionNotFound)
	if _, err := r.CRD(t.Context(), "default", "foos.g.io", "sha256:15", ""); err != nil {
		t.Error(err)
	}
	if len(store.entries) != 2+10 {
		t.Errorf("%d entries in the store, want the record, the group and 10 revisions", len(store.entries))
	}
}

func TestNames(t *testing.T) {
	c := &clock{now: time.Unix(1000, 0)}
	r := newRegistry(t, newMapStore(), c)
	add := func(group string, n engine.Names) *CRD {
		c.advance(time.Second)
		return mustRegister(t, r, "default", testRevision(fmt.Sprint(n), group, n))
	}
	add("g.io", engine.Names{Plural: "foos", Singular: "foo", ShortNames: []string{"f", "fo"}, Kind: "Foo", ListKind: "FooList"})
	for _, tc := range []struct {
		name, group     string
		names           engine.Names
		reason, message string
	}{
		{"another group", "h.io", engine.Names{Plural: "foos", Singular: "foo", ShortNames: []string{"f"}, Kind: "Foo", ListKind: "FooList"}, "NoConflicts", "no conflicts found"},
		{"free", "g.io", engine.Names{Plural: "free", Kind: "Free"}, "NoConflicts", "no conflicts found"},
		{"singular", "g.io", engine.Names{Plural: "a", Singular: "foo", Kind: "A"}, "SingularConflict", `"foo" is already in use`},
		{"plural is a short name", "g.io", engine.Names{Plural: "f", Kind: "B"}, "PluralConflict", `"f" is already in use`},
		{"short names", "g.io", engine.Names{Plural: "c", ShortNames: []string{"x", "fo", "f"}, Kind: "C"}, "ShortNamesConflict", `["fo" is already in use, "f" is already in use]`},
		{"kind", "g.io", engine.Names{Plural: "d", Kind: "Foo"}, "KindConflict", `"Foo" is already in use`},
		{"list kind is a kind", "g.io", engine.Names{Plural: "e", Kind: "E", ListKind: "Foo"}, "ListKindConflict", `"Foo" is already in use`},
		{"the last conflict is reported", "g.io", engine.Names{Plural: "ff", Singular: "foo", Kind: "FooList"}, "KindConflict", `"FooList" is already in use`},
	} {
		d := add(tc.group, tc.names)
		got := d.condition("NamesAccepted")
		if accepted := tc.reason == "NoConflicts"; got.Reason != tc.reason || got.Message != tc.message || d.Established != accepted || (d.condition("Established").Status == "True") != accepted {
			t.Errorf("%s: %+v", tc.name, d.Status.Conditions)
		}
	}

	v, err := r.View(t.Context(), "default", "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = v.Named(t.Context(), "d.g.io", "")
	wantReason(t, err, CRDNotEstablished)
	_, err = v.OfKind(t.Context(), "g.io", "C", "") // only its short names are taken, yet it is not established
	wantReason(t, err, CRDNotEstablished)
	_, err = v.OfKind(t.Context(), "g.io", "Nothing", "")
	wantReason(t, err, CRDNotFound)
	_, err = v.Named(t.Context(), "nothing.g.io", "")
	wantReason(t, err, CRDNotFound)
	leads := func(want string) {
		t.Helper()
		c, _ := r.snapshot.Load().catalogs.Get("default")
		g := c.group("g.io")
		if d := c.established(&g, "Foo"); d == nil || d.name != want {
			t.Errorf("kind Foo leads to %v, want %s", d, want)
		}
	}
	leads("foos.g.io")
	if _, err := r.Delete(t.Context(), "default", "foos.g.io", ""); err != nil {
		t.Fatal(err)
	}
	leads("d.g.io") // its names are free now
	back := add("g.io", engine.Names{Plural: "foos", Kind: "Foo"})
	leads("d.g.io")
	if back.Established {
		t.Error("the newcomer took the kind")
	}
}

// A CRD that changes its names to those of another must not take them from it; it stays established under those it has.
func TestRenamingTakesNoName(t *testing.T) {
	r := newRegistry(t, newMapStore(), &clock{now: time.Unix(1000, 0)})
	mustRegister(t, r, "default", testRevision("1", "g.io", engine.Names{Plural: "olds", Kind: "Old", ShortNames: []string{"o"}}))
	mustRegister(t, r, "default", testRevision("2", "g.io", engine.Names{Plural: "youngs", Kind: "Young", ShortNames: []string{"y"}}))
	d := mustRegister(t, r, "default", testRevision("3", "g.io", engine.Names{Plural: "youngs", Kind: "Young", ShortNames: []string{"o"}}))
	if !d.Established || fmt.Sprint(d.Desired.Names.ShortNames, d.Status.AcceptedNames.ShortNames) != "[o] [y]" || d.condition("NamesAccepted").Reason != "ShortNamesConflict" {
		t.Errorf("%+v", d)
	}
	if d, _ := r.CRD(t.Context(), "default", "olds.g.io", "", ""); d.condition("NamesAccepted").Status != "True" {
		t.Errorf("%+v", d)
	}
	// When the other one gives it up, it is taken in the same commit.
	sequence := r.snapshot.Load().sequence
	mustRegister(t, r, "default", testRevision("4", "g.io", engine.Names{Plural: "olds", Kind: "Old", ShortNames: []string{"ol"}}))
	after, _ := r.CRD(t.Context(), "default", "youngs.g.io", "", "")
	if fmt.Sprint(after.Status.AcceptedNames.ShortNames) != "[o]" || after.condition("NamesAccepted").Status != "True" || after.Etag == d.Etag || after.Generation != d.Generation {
		t.Errorf("%+v", after)
	}
	if r.snapshot.Load().sequence != sequence+1 {
		t.Error("it took more than a commit")
	}
}

// condition returns a CRD's condition, an empty one if there is none.
func (c *CRD) condition(name string) engine.Condition {
	for _, condition := range c.Status.Conditions {
		if string(condition.Type) == name {
			return condition
		}
	}
	return engine.Condition{}
}

func TestTokens(t *testing.T) {
	r := newRegistry(t, newMapStore(), nil)
	mine := r.tag.token(1)
	for _, tc := range []struct {
		name, token string
		want        Reason
	}{
		{"none", "", ""},
		{"now", r.tag.token(0), ""},
		{"garbage", "!!!", TokenInvalid},
		{"too short", mine[:8], TokenInvalid},
		{"something behind it", mine + "AA", TokenInvalid},
		{"another store's", tagOf("other").token(0), TokenInvalid},
	} {
		_, err := r.View(t.Context(), "default", tc.token)
		t.Run(tc.name, func(t *testing.T) { wantReason(t, err, tc.want) })
	}
	for _, sequence := range []uint64{0, 1, 127, 128, 1 << 40, 1<<64 - 1} {
		if got, err := r.tag.parse(r.tag.token(sequence)); got != sequence || err != nil {
			t.Errorf("%d came back as %d, %v", sequence, got, err)
		}
	}
}

func TestWaitingForAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t, newMapStore(), nil)
		next := r.tag.token(1)
		start := time.Now()
		_, err := r.View(t.Context(), "default", next)
		wantReason(t, err, ReplicaBehind)
		if waited := time.Since(start); waited != r.MaxWait {
			t.Errorf("without a deadline it waited %v, want %v", waited, r.MaxWait)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		_, err = r.View(ctx, "default", next)
		wantReason(t, err, ReplicaBehind)
		if waited := time.Since(start); waited != time.Second-answerMargin {
			t.Errorf("with a deadline of 1s it waited %v", waited)
		}
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if _, err := r.CRD(t.Context(), "default", "foos.g.io", "", next); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		mustRegister(t, r, "default", testRevision("1", "g.io", engine.Names{Plural: "foos"}))
		wg.Wait()
		cancelled, stop := context.WithCancel(t.Context())
		wg.Go(func() {
			if _, err := r.View(cancelled, "default", r.tag.token(2)); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
		synctest.Wait()
		stop()
		wg.Wait()
	})
}

func TestListsAreOneSnapshot(t *testing.T) {
	c := &clock{now: time.Unix(1000, 0)}
	r := newRegistry(t, newMapStore(), c)
	for i := range 25 {
		mustRegister(t, r, "default", testRevision(fmt.Sprint(i), "g.io", engine.Names{Plural: fmt.Sprintf("p%02d", i)}))
	}
	page, err := r.CRDs(t.Context(), "default", Page{Size: 10}, "")
	if err != nil || len(page.CRDs) != 10 || page.Next == "" || page.CRDs[0].Manifest != nil {
		t.Fatalf("%+v, %v", page, err)
	}
	// Writes in between do not show.
	if _, err := r.Delete(t.Context(), "default", "p15.g.io", ""); err != nil {
		t.Fatal(err)
	}
	mustRegister(t, r, "default", testRevision("new", "g.io", engine.Names{Plural: "p15a"}))
	token := page.Token
	all := page.CRDs
	for page.Next != "" {
		if page, err = r.CRDs(t.Context(), "default", Page{Size: 10, Token: page.Next, WithManifest: true}, ""); err != nil {
			t.Fatal(err)
		}
		if page.Token != token {
			t.Error("the pages are of two states")
		}
		all = append(all, page.CRDs...)
	}
	if len(all) != 25 || all[15].Name != "p15.g.io" || all[24].Manifest == nil {
		t.Errorf("%d CRDs listed", len(all))
	}

	// By bytes: every manifest has 14 or 15.
	page, err = r.CRDs(t.Context(), "default", Page{WithManifest: true, MaxBytes: 40}, "")
	if err != nil || len(page.CRDs) != 2 || page.Next == "" {
		t.Errorf("%d CRDs, %v", len(page.CRDs), err)
	}
	if page, err = r.CRDs(t.Context(), "default", Page{WithManifest: true, MaxBytes: 1}, ""); err != nil || len(page.CRDs) != 1 {
		t.Errorf("%d CRDs, %v", len(page.CRDs), err)
	}

	next := page.Next
	_, err = r.CRDs(t.Context(), "never", Page{}, "")
	wantReason(t, err, CatalogNotFound)
	_, err = r.CRDs(t.Context(), "default", Page{Size: -1}, "")
	wantReason(t, err, InvalidArgument)
	for _, bad := range []string{"!", "e30", next[:len(next)-4], token} {
		_, err = r.CRDs(t.Context(), "default", Page{Token: bad}, "")
		wantReason(t, err, TokenInvalid)
	}
	_, err = r.Catalogs(t.Context(), Page{Token: next}, "") // another list's
	wantReason(t, err, TokenInvalid)

	// A state that is not the newest is kept for a while only.
	mustRegister(t, r, "default", testRevision("newer", "g.io", engine.Names{Plural: "q"}))
	if _, err = r.CRDs(t.Context(), "default", Page{Token: next}, ""); err != nil {
		t.Error(err)
	}
	c.advance(pinnedFor + time.Second)
	_, err = r.CRDs(t.Context(), "default", Page{Token: next}, "")
	wantReason(t, err, WatchExpired)
	if _, err := r.Sweep(t.Context()); err != nil || len(r.pins.list) != 0 {
		t.Errorf("after a sweep %d old states are kept, %v", len(r.pins.list), err)
	}
}

// A pin that is renewed while a sweep runs is kept.
func TestPinRenewedBesideSweep(t *testing.T) {
	r := newRegistry(t, newMapStore(), nil)
	s, now := r.snapshot.Load(), time.Unix(1000, 0)
	for range 1000 {
		r.pins.update(s, now)
		now = now.Add(pinnedFor + time.Second)
		var wg sync.WaitGroup
		wg.Go(func() { r.pins.update(nil, now) })
		wg.Go(func() { r.pins.update(s, now) })
		wg.Wait()
		if r.pins.get(s.sequence, now) != s {
			t.Fatal("the sweep dropped a renewed pin")
		}
	}
}

func TestPageSizes(t *testing.T) {
	r := newRegistry(t, newMapStore(), nil)
	for i := range 1100 {
		if _, _, err := r.CreateCatalog(t.Context(), fmt.Sprintf("c%04d", i), 0); err != nil {
			t.Fatal(err)
		}
	}
	for size, want := range map[int]int{0: 100, 1: 1, 1000: 1000, 1001: 1000, 1 << 30: 1000} {
		if page, err := r.Catalogs(t.Context(), Page{Size: size}, ""); err != nil || len(page.Catalogs) != want {
			t.Errorf("size %d: %d listed, %v", size, len(page.Catalogs), err)
		}
	}
}

func TestStoreFailures(t *testing.T) {
	store := newMapStore()
	r := newRegistry(t, store, nil)
	rev := testRevision("1", "g.io", engine.Names{Plural: "foos"})
	boom := fmt.Errorf("writing /secret/registry.db: %w", &fs.PathError{Op: "write", Path: "/secret/registry.db", Err: syscall.ENOSPC})
	store.fail = func(Transaction) error { return boom }
	_, err := register(t, r, "default", rev, Precondition{})
	wantReason(t, err, StoreUnavailable)
	if !errors.Is(err, boom) || !strings.Contains(err.Error(), "no space left on device") || strings.Contains(err.Error(), "/secret") {
		t.Errorf("got %v", err)
	}
	if n := r.Counts(); n.CRDs != 0 {
		t.Error("a failed write shows")
	}
	// The outcome was unknown: what the store has now counts, here a write that did get through.
	store.fail = nil
	other := newRegistry(t, store, nil)
	mustRegister(t, other, "default", rev)
	if _, err := register(t, r, "default", rev, Precondition{CreateOnly: true}); err == nil {
		t.Error("the store's contents were not read again")
	}
}

// A caller that has gone away does not block others.
func TestCancelledWrites(t *testing.T) {
	r := newRegistry(t, newMapStore(), nil)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 {
		if _, _, err := r.CreateCatalog(gone, "pr", 0); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	}
	soon, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	if _, _, err := r.CreateCatalog(soon, "pr", 0); err != nil {
		t.Error(err)
	}
}

// Two registries over one store, as two replicas: each write that was planned on an old picture is planned again.
func TestConflictsAreRetried(t *testing.T) {
	store := newMapStore()
	a, b := newRegistry(t, store, nil), newRegistry(t, store, nil)
	mustRegister(t, a, "default", testRevision("1", "g.io", engine.Names{Plural: "foos"}))
	if d := mustRegister(t, b, "default", testRevision("2", "g.io", engine.Names{Plural: "foos"})); d.Generation != 2 {
		t.Errorf("%+v", d)
	}
	_, err := register(t, a, "default", testRevision("3", "g.io", engine.Names{Plural: "foos"}), Precondition{CreateOnly: true})
	wantReason(t, err, CRDExists)

	if _, _, err := a.CreateCatalog(t.Context(), "pr", 0); err != nil {
		t.Fatal(err)
	}
	mustRegister(t, b, "default", testRevision("4", "g.io", engine.Names{Plural: "foos"})) // b learns of pr
	mustRegister(t, b, "pr", testRevision("5", "g.io", engine.Names{Plural: "foos"}))
	_, _, err = a.DeleteCatalog(t.Context(), "pr", false, "") // a believes it empty
	wantReason(t, err, CatalogNotEmpty)
	if _, _, err = b.DeleteCatalog(t.Context(), "pr", true, ""); err != nil {
		t.Error(err)
	}
	_, err = register(t, a, "pr", testRevision("6", "g.io", engine.Names{Plural: "foos"}), Precondition{})
	wantReason(t, err, CatalogNotFound)
	store.fail = func(Transaction) error { return ErrConflict }
	a.MaxWrite = 20 * time.Millisecond
	_, err = register(t, a, "default", testRevision("7", "g.io", engine.Names{Plural: "foos"}), Precondition{})
	wantReason(t, err, StoreUnavailable)
}

func TestDamagedStores(t *testing.T) {
	good := newMapStore()
	r := newRegistry(t, good, nil)
	mustRegister(t, r, "default", testRevision("1", "g.io", engine.Names{Plural: "foos"}))
	for _, tc := range []struct {
		name, key string
		value     []byte
		want      string
	}{
		{"unknown kind", "watch/x", nil, "does not know"},
		{"too many names", "crd/default/a/b", nil, "does not know"},
		{"orphan", "crd/gone/foos.g.io", good.entries["crd/default/foos.g.io"].Value, `catalog "gone"`},
		{"missing revision", "crd/default/bars.g.io", good.entries["crd/default/foos.g.io"].Value, "lacks its revision sha256:1"},
		{"cut off", "crd/default/foos.g.io", []byte{200, 1, '{'}, "CRD foos.g.io in catalog default: the record is truncated"},
		{"no JSON", "catalog/x", []byte{1, '{'}, "catalog x: decoding the record"},
		{"no revisions", "crd/default/foos.g.io", []byte{2, '{', '}'}, "has no revision"},
	} {
		store := newMapStore()
		for k, e := range good.entries {
			store.entries[k] = e
		}
		store.entries[tc.key] = Entry{Key: tc.key, Value: tc.value, Version: 9}
		_, err := New(t.Context(), store, Options{Programs: r.Programs})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func TestPackedManifests(t *testing.T) {
	for _, manifest := range []string{"", "{}", strings.Repeat(`{"description":"a string"}`, 10_000)} {
		p := pack([]byte(manifest))
		if got, err := p.unpack(); string(got) != manifest || err != nil || p.size() != len(manifest) {
			t.Errorf("%d bytes came back as %d, %v", len(manifest), len(got), err)
		}
		if _, err := p[:len(p)/2].unpack(); err == nil && len(manifest) > 2 {
			t.Errorf("half of %d bytes unpack", len(p))
		}
	}
}

// Readers and writers at once, for the race detector; every reader sees whole states.
func TestConcurrentUse(t *testing.T) {
	r := newRegistry(t, newMapStore(), nil)
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			for i := range 30 {
				rev := testRevision(fmt.Sprint(w, i), "g.io", engine.Names{Plural: fmt.Sprintf("p%d", w)})
				if _, err := register(t, r, "default", rev, Precondition{}); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			for range 100 {
				page, err := r.CRDs(t.Context(), "default", Page{WithManifest: true}, "")
				if err != nil {
					t.Error(err)
				}
				for _, d := range page.CRDs {
					if _, err := r.CRD(t.Context(), "default", d.Name, d.Revision, page.Token); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if n := r.Counts(); n.CRDs != 3 || n.Revisions != 90 {
		t.Errorf("%+v", n)
	}
}
