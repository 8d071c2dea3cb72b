package registry

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine"
)

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
