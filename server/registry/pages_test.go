package registry

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func TestListsAreOneSnapshot(t *testing.T) {
	c := &clock{now: time.Unix(1000, 0)}
	r := newRegistry(t, newTestStore(), c)
	for i := range 25 {
		mustRegister(t, r, "default", testRevision(fmt.Sprint(i), "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: fmt.Sprintf("p%02d", i)}))
	}
	page, err := r.CRDs(t.Context(), "default", Page{Size: 10}, "")
	if err != nil || len(page.CRDs) != 10 || page.Next == "" || page.CRDs[0].Manifest != nil {
		t.Fatalf("%+v, %v", page, err)
	}
	// Writes in between do not show.
	if _, err := r.Delete(t.Context(), "default", "p15.g.io", Precondition{}); err != nil {
		t.Fatal(err)
	}
	mustRegister(t, r, "default", testRevision("new", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "p15a"}))
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

	// By memory.
	for memory, want := range map[int64]int{35: 2, 10: 0} {
		short := errors.New("no memory")
		page, err := r.CRDs(t.Context(), "default", Page{WithManifest: true, Grow: func(n int64) error {
			if memory -= n; memory < 0 {
				return short
			}
			return nil
		}}, "")
		if len(page.CRDs) != want || (want == 0) != errors.Is(err, short) || (want == 0) != (page.Next == "") {
			t.Errorf("%d CRDs, %v", len(page.CRDs), err)
		}
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
	mustRegister(t, r, "default", testRevision("newer", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "q"}))
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
	r := newRegistry(t, newTestStore(), nil)
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
	r := newRegistry(t, newTestStore(), nil)
	for i := range 1100 {
		if _, _, err := r.CreateCatalog(t.Context(), fmt.Sprintf("c%04d", i), ""); err != nil {
			t.Fatal(err)
		}
	}
	for size, want := range map[int]int{0: 100, 1: 1, 1000: 1000, 1001: 1000, 1 << 30: 1000} {
		if page, err := r.Catalogs(t.Context(), Page{Size: size}, ""); err != nil || len(page.Catalogs) != want {
			t.Errorf("size %d: %d listed, %v", size, len(page.Catalogs), err)
		}
	}
}
