package registry

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func TestRetention(t *testing.T) {
	for _, tc := range []struct {
		name string
		ages []time.Duration // of each revision's registration, oldest first
		size int             // of each revision, compressed
		kept int
	}{
		{"few and old", slices.Repeat([]time.Duration{100 * time.Hour}, 10), 1, 10},
		{"many and old", slices.Repeat([]time.Duration{100 * time.Hour}, 15), 1, 10},
		{"many of today", slices.Repeat([]time.Duration{time.Hour}, 50), 1, 50},
		{"exactly a day is still kept", slices.Repeat([]time.Duration{24 * time.Hour}, 15), 1, 15},
		// The second one came two days ago and was current until an hour ago.
		{"old, but current until today", append([]time.Duration{50 * time.Hour, 48 * time.Hour}, slices.Repeat([]time.Duration{time.Hour}, 20)...), 1, 21},
		{"one", []time.Duration{1000 * time.Hour}, 9 << 20, 1},
		{"as many as possible", slices.Repeat([]time.Duration{time.Hour}, 101), 1, 100},
		{"more than one commit may drop", slices.Repeat([]time.Duration{time.Hour}, 1000), 1, 1000 - maxDropped},
		{"large ones of today", slices.Repeat([]time.Duration{time.Hour}, 50), 256 << 10, 17},
		{"large ones, fewer than ten", slices.Repeat([]time.Duration{time.Hour}, 9), 1 << 20, 5},
		{"the current one is larger than all", slices.Repeat([]time.Duration{time.Hour}, 3), 5 << 20, 1},
	} {
		now := time.Unix(1e9, 0)
		var refs []revisionRef
		var revisions []*revision
		for _, age := range tc.ages {
			refs = append(refs, revisionRef{Since: now.Add(-age)})
			revisions = append(revisions, &revision{content: make(packed, tc.size)})
		}
		if dropped := retain(refs, revisions, unlimited, now); dropped != len(refs)-tc.kept {
			t.Errorf("%s: %d of %d dropped; want %d kept", tc.name, dropped, len(refs), tc.kept)
		}
	}
}

// TestRegistrationsBoundRevisions registers many large revisions within a minute. Each write keeps the bounds.
func TestRegistrationsBoundRevisions(t *testing.T) {
	for _, size := range []int{100, 109 << 10, 3 << 20} {
		store := newTestStore()
		r := newRegistry(t, store, nil)
		for i := range 150 {
			rev := testRevision(fmt.Sprint(i), "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "foos"})
			rev.content = make(packed, size)
			mustRegister(t, r, "default", rev)
			n, stored := r.Counts(), 0
			for key, e := range store.entries {
				if strings.HasPrefix(key, revisionPrefix) {
					stored += len(e.Value)
				}
			}
			if most := int64(MaxRevisionBytes + size); n.Revisions > MaxRevisions || n.ManifestBytes > most || stored > int(most)+n.Revisions<<10 {
				t.Fatalf("%d bytes: %d registrations keep %d revisions of %d bytes; the store has %d", size, i+1, n.Revisions, n.ManifestBytes, stored)
			}
		}
		if n := r.Counts().Revisions; n < 2 {
			t.Errorf("%d bytes: %d revisions kept, want the previous one, too", size, n)
		}
	}
}

func TestSweep(t *testing.T) {
	c := &clock{now: time.Unix(1e9, 0)}
	store := newTestStore()
	r := newRegistry(t, store, c)
	var last *CRD
	for i := range 25 {
		last = mustRegister(t, r, "default", testRevision(fmt.Sprint(i), "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "foos"}))
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
