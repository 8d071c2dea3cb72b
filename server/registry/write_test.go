package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func TestStoreFailures(t *testing.T) {
	store := newTestStore()
	r := newRegistry(t, store, nil)
	rev := testRevision("1", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "foos"})
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
	r := newRegistry(t, newTestStore(), nil)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 {
		if _, _, err := r.CreateCatalog(gone, "pr", ""); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	}
	soon, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	if _, _, err := r.CreateCatalog(soon, "pr", ""); err != nil {
		t.Error(err)
	}
}

// Two registries over one store, as two replicas: each write that was planned on an old picture is planned again.
func TestConflictsAreRetried(t *testing.T) {
	store := newTestStore()
	a, b := newRegistry(t, store, nil), newRegistry(t, store, nil)
	mustRegister(t, a, "default", testRevision("1", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "foos"}))
	if d := mustRegister(t, b, "default", testRevision("2", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "foos"})); d.Generation != 2 {
		t.Errorf("%+v", d)
	}
	_, err := register(t, a, "default", testRevision("3", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "foos"}), Precondition{CreateOnly: true})
	wantReason(t, err, CRDExists)

	if _, _, err := a.CreateCatalog(t.Context(), "pr", ""); err != nil {
		t.Fatal(err)
	}
	mustRegister(t, b, "default", testRevision("4", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "foos"})) // b learns of pr
	mustRegister(t, b, "pr", testRevision("5", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "foos"}))
	_, _, err = a.DeleteCatalog(t.Context(), "pr", false, "") // a believes it empty
	wantReason(t, err, CatalogNotEmpty)
	if _, _, err = b.DeleteCatalog(t.Context(), "pr", true, ""); err != nil {
		t.Error(err)
	}
	_, err = register(t, a, "pr", testRevision("6", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "foos"}), Precondition{})
	wantReason(t, err, CatalogNotFound)
	store.fail = func(Transaction) error { return ErrConflict }
	a.MaxWrite = 20 * time.Millisecond
	_, err = register(t, a, "default", testRevision("7", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "foos"}), Precondition{})
	wantReason(t, err, StoreUnavailable)
}
