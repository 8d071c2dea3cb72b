package registry

import (
	"testing"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
)

func TestViews(t *testing.T) {
	store := newTestStore()
	r := newRegistry(t, store, nil)
	ten, err := r.Register(t.Context(), "default", crontabs(10), Precondition{})
	if err != nil {
		t.Fatal(err)
	}
	before, err := r.View(t.Context(), "default", ten.Token)
	if err != nil {
		t.Fatal(err)
	}
	nine, err := r.Register(t.Context(), "default", crontabs(9), Precondition{})
	if err != nil {
		t.Fatal(err)
	}
	after, err := r.View(t.Context(), "default", nine.Token)
	if err != nil {
		t.Fatal(err)
	}
	// Also from a registry that has compiled nothing.
	restarted := newRegistry(t, store, nil)
	cold, err := restarted.View(t.Context(), "default", nine.Token)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name     string
		view     View
		revision string
		allowed  bool
	}{
		{"an old view is not changed", before, "", true},
		{"the current one", after, "", false},
		{"a kept revision", after, ten.CRD.Revision, true},
		{"built again", cold, "", false},
		{"a kept revision, built again", cold, ten.CRD.Revision, true},
	} {
		for how, find := range map[string]func() (*engine.Definition, error){
			"by name": func() (*engine.Definition, error) {
				return tc.view.Named(t.Context(), "crontabs.stable.example.com", tc.revision)
			},
			"by kind": func() (*engine.Definition, error) {
				return tc.view.OfKind(t.Context(), "stable.example.com", "CronTab", tc.revision)
			},
		} {
			d, err := find()
			if err != nil {
				t.Errorf("%s, %s: %v", tc.name, how, err)
				continue
			}
			if got := allowed(t, d); got != tc.allowed {
				t.Errorf("%s, %s: allowed %t", tc.name, how, got)
			}
		}
	}
	if s := restarted.Programs.Stats(); s.Builds != 2 || s.Entries != 2 {
		t.Errorf("each program is built once: %+v", s)
	}
	if s := r.Programs.Stats(); s.Builds != 0 {
		t.Errorf("what was registered was compiled already: %+v", s)
	}
	_, err = after.Named(t.Context(), "crontabs.stable.example.com", "sha256:none")
	wantReason(t, err, RevisionNotFound)
	_, err = r.View(t.Context(), "never", "")
	wantReason(t, err, CatalogNotFound)
}

// Equal CRDs of two catalogs share a program; a revision is found in its own catalog alone.
func TestCatalogsShareProgramsNotRevisions(t *testing.T) {
	r := newRegistry(t, newTestStore(), nil)
	if _, _, err := r.CreateCatalog(t.Context(), "pr-1", ""); err != nil {
		t.Fatal(err)
	}
	var views []View
	for _, catalog := range []string{"default", "pr-1"} {
		if _, err := r.Register(t.Context(), catalog, crontabs(10), Precondition{}); err != nil {
			t.Fatal(err)
		}
		v, err := r.View(t.Context(), catalog, "")
		if err != nil {
			t.Fatal(err)
		}
		views = append(views, v)
	}
	a, err := views[0].Named(t.Context(), "crontabs.stable.example.com", "")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := views[1].Named(t.Context(), "crontabs.stable.example.com", ""); err != nil || b.Revision() != a.Revision() || r.Programs.Stats().Entries != 1 {
		t.Errorf("%v, %+v", err, r.Programs.Stats())
	}
	other, err := r.Register(t.Context(), "pr-1", crontabs(9), Precondition{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = views[0].Named(t.Context(), "crontabs.stable.example.com", other.CRD.Revision)
	wantReason(t, err, RevisionNotFound)
}

func BenchmarkResolve(b *testing.B) {
	programs := cache.New(cache.Options[string, *engine.Definition]{MaxBytes: 1 << 30, Weigh: (*engine.Definition).Size})
	r, err := New(b.Context(), newTestStore(), Options{Programs: programs})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := r.Register(b.Context(), "default", crontabs(10), Precondition{}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		v, err := r.View(b.Context(), "default", "")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := v.OfKind(b.Context(), "stable.example.com", "CronTab", ""); err != nil {
			b.Fatal(err)
		}
	}
}
