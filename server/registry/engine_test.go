package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
)

// crontabs is a CRD whose replicas may be at most maximum.
func crontabs(maximum int) engine.Document {
	return engine.YAML(fmt.Appendf(nil, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.stable.example.com, uid: left-out, annotations: {a: b}}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab, shortNames: [ct], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {replicas: {type: integer, maximum: %d}}}}
  - {name: v1beta1, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}
`, maximum))
}

const object = `{"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "a", "namespace": "b"}, "spec": {"replicas": 10}}`

// allowed says whether a definition allows the object.
func allowed(t *testing.T, d *engine.Definition) bool {
	t.Helper()
	v, err := d.Validate(t.Context(), engine.Item{Object: engine.JSON([]byte(object))}, engine.EvaluationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return v.Allowed
}

func TestRegister(t *testing.T) {
	store := newMapStore()
	r := newRegistry(t, store, nil)
	done, err := r.Register(t.Context(), "default", crontabs(10), Precondition{CreateOnly: true})
	if err != nil || !done.Report.Accepted || done.Token == "" {
		t.Fatalf("%+v, %v", done.Report, err)
	}
	c := done.CRD
	n := c.Desired.Names
	if c.Name != "crontabs.stable.example.com" || c.Desired.Group != "stable.example.com" || n.Kind != "CronTab" ||
		n.ListKind != "CronTabList" || n.Plural != "crontabs" || n.Singular != "crontab" ||
		fmt.Sprint(n.ShortNames, n.Categories, c.Status.StoredVersions) != "[ct] [all] [v1]" || c.Scope != "Namespaced" ||
		c.Desired.StorageVersion != "v1" || len(c.Versions) != 2 || c.Versions[0].Name != "v1" ||
		!strings.HasPrefix(c.Revision, "sha256:") || !c.Established || c.Manifest != nil {
		t.Errorf("%+v", c)
	}
	got, err := r.CRD(t.Context(), "default", c.Name, "", done.Token)
	if err != nil || !json.Valid(got.Manifest) || strings.Contains(string(got.Manifest), "left-out") || !strings.Contains(string(got.Manifest), `"CronTabList"`) {
		t.Errorf("%s, %v", got.Manifest, err)
	}
	again, err := r.Register(t.Context(), "default", crontabs(10), Precondition{})
	if err != nil || again.CRD.Etag != c.Etag || again.CRD.Generation != 1 || again.Token != done.Token || store.sequence != 1 {
		t.Errorf("the same again: %+v, %v", again.CRD, err)
	}
	next, err := r.Register(t.Context(), "default", crontabs(9), Precondition{Etag: c.Etag})
	if err != nil || next.CRD.Revision == c.Revision || next.CRD.Generation != 2 {
		t.Errorf("another: %+v, %v", next.CRD, err)
	}

	rejected, err := r.Register(t.Context(), "default", engine.YAML([]byte("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\nspec: {}\n")), Precondition{})
	if err != nil || rejected.Report.Accepted || len(rejected.Report.Violations) == 0 || rejected.CRD != nil || rejected.Token != "" {
		t.Errorf("%+v, %v", rejected, err)
	}
	var e *engine.Error
	if _, err := r.Register(t.Context(), "default", engine.JSON([]byte("{")), Precondition{}); !errors.As(err, &e) {
		t.Errorf("got %v", err)
	}
	_, err = r.Register(t.Context(), "never", crontabs(1), Precondition{})
	wantReason(t, err, CatalogNotFound)
	_, err = r.Register(t.Context(), "default", crontabs(1), Precondition{CreateOnly: true, Etag: "x"})
	wantReason(t, err, InvalidArgument)
	_, err = r.Register(t.Context(), "default", crontabs(1), Precondition{CreateOnly: true})
	wantReason(t, err, CRDExists)
	if store.sequence != 2 {
		t.Errorf("%d commits, want 2", store.sequence)
	}
}

func TestCheck(t *testing.T) {
	store := newMapStore()
	r := newRegistry(t, store, nil)
	done, err := r.Check(t.Context(), "default", crontabs(10), "")
	if err != nil || !done.Report.Accepted || done.Token != "" || done.CRD == nil || !done.CRD.Established || done.CRD.Etag != "" || done.CRD.Generation != 0 || !done.CRD.Created.IsZero() {
		t.Errorf("%+v, %v", done, err)
	}
	if store.sequence != 0 || r.Counts().CRDs != 0 {
		t.Error("checking registers")
	}
	// It reports names that another CRD has.
	mustRegister(t, r, "default", testRevision("1", "stable.example.com", engine.Names{Plural: "others", ShortNames: []string{"ct"}}))
	done, err = r.Check(t.Context(), "default", crontabs(10), "")
	if err != nil || done.CRD.Established || done.CRD.condition("NamesAccepted").Reason != "ShortNamesConflict" {
		t.Errorf("%+v, %v", done.CRD, err)
	}
	_, err = r.Check(t.Context(), "never", crontabs(10), "")
	wantReason(t, err, CatalogNotFound)
}

func TestViews(t *testing.T) {
	store := newMapStore()
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
	r := newRegistry(t, newMapStore(), nil)
	if _, _, err := r.CreateCatalog(t.Context(), "pr-1", 0); err != nil {
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

// A cache with no room at all still serves.
func TestTinyCache(t *testing.T) {
	programs := cache.New(cache.Options[string, *engine.Definition]{MaxBytes: 1, Weigh: (*engine.Definition).Size})
	defer func() { _ = programs.Close(context.Background()) }()
	r, err := New(t.Context(), newMapStore(), Options{Programs: programs})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Register(t.Context(), "default", crontabs(10), Precondition{}); err != nil {
		t.Fatal(err)
	}
	v, err := r.View(t.Context(), "default", "")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if d, err := v.Named(t.Context(), "crontabs.stable.example.com", ""); err != nil || !allowed(t, d) {
				t.Errorf("%v", err)
			}
		})
	}
	wg.Wait()
	if s := programs.Stats(); s.Entries != 0 || s.Oversized == 0 {
		t.Errorf("%+v", s)
	}
}

func BenchmarkResolve(b *testing.B) {
	programs := cache.New(cache.Options[string, *engine.Definition]{MaxBytes: 1 << 30, Weigh: (*engine.Definition).Size})
	r, err := New(b.Context(), newMapStore(), Options{Programs: programs})
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

// What waits for its turn to be judged ends with its caller, and those that come later have theirs. Long manifests
// stand in a line of their own.
func TestCompileSlots(t *testing.T) {
	r := newRegistry(t, newMapStore(), nil)
	for range cap(r.compiling) {
		r.compiling <- struct{}{}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := r.Check(ctx, "default", crontabs(10), ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Check: %v", err)
	}
	if _, err := r.Register(ctx, "default", crontabs(10), Precondition{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Register: %v", err)
	}
	_, err := r.Check(t.Context(), "never", crontabs(10), "")
	wantReason(t, err, CatalogNotFound) // without waiting for a slot

	long := crontabs(10)
	long.YAML = append(long.YAML, ("\n#" + strings.Repeat(" ", longManifest))...)
	if done, err := r.Check(t.Context(), "default", long, ""); err != nil || !done.Report.Accepted {
		t.Errorf("long: %+v, %v", done, err)
	}
	heavy := engine.YAML([]byte(strings.Replace(string(crontabs(10).YAML), "type: object", `type: object
        x-kubernetes-validations: [{rule: "`+strings.Repeat("[", 120)+strings.Repeat("]", 120)+`.size() > 0"}]`, 1)))
	for range cap(r.compilingLong) {
		r.compilingLong <- struct{}{}
	}
	soon, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if _, err := r.Check(soon, "default", long, ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("long: %v", err)
	}

	<-r.compiling
	later, end := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer end()
	if _, err := r.Check(later, "default", heavy, ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("heavy rules: %v", err)
	}
	<-r.compilingLong
	if done, err := r.Check(t.Context(), "default", heavy, ""); err != nil || done.Report.Rejection != nil {
		t.Errorf("heavy rules: %+v, %v", done, err)
	}
	for range 2 { // a place that was taken is given back
		if done, err := r.Check(t.Context(), "default", crontabs(10), ""); err != nil || !done.Report.Accepted {
			t.Errorf("%+v, %v", done, err)
		}
	}
}
