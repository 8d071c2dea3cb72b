package registry

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine"
)

// widget is a CRD with the names, versions and annotations that a test needs; the last version is the storage version.
func widget(kind, extra string, versions ...string) engine.Document {
	text := fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com, annotations: {note: "%s"}}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: %s}
  versions:
`, extra, kind)

	for i, v := range versions {
		text += fmt.Sprintf("  - {name: %s, served: true, storage: %t, schema: {openAPIV3Schema: {type: object}}}\n", v, i == len(versions)-1)
	}
	return engine.YAML([]byte(text))
}

func mustAccept(t *testing.T, r *Registry, manifest engine.Document, want Outcome) Registration {
	t.Helper()
	done, err := r.Register(t.Context(), "default", manifest, Precondition{})
	if err != nil || done.Outcome != want {
		t.Fatalf("%s, %+v, %v; want %s", done.Outcome, done.Report, err, want)
	}
	return done
}

// A manifest of a name that is registered is judged as its update, and its status goes on.
func TestUpdates(t *testing.T) {
	r := newRegistry(t, newTestStore(), &clock{now: time.Unix(1000, 0)})
	first := mustAccept(t, r, widget("Widget", "", "v1"), Created)
	if first.Report.Update || first.CRD.Generation != 1 || first.CRD.Status.AcceptedNames.Kind != "Widget" {
		t.Errorf("%+v, %+v", first.Report, first.CRD)
	}
	if c := first.CRD.condition("Established"); c.Status != "True" || !c.LastTransitionTime.Time.Equal(time.Unix(1000, 0)) {
		t.Errorf("%+v", c)
	}
	rejected := mustAccept(t, r, widget("Gadget", "", "v1"), Rejected)
	if !rejected.Report.Update || rejected.CRD != nil || rejected.Token != "" || !strings.Contains(rejected.Report.Rejection.Message, "field is immutable") {
		t.Errorf("%+v", rejected.Report.Rejection)
	}
	// A failed precondition is reported first, also for a CRD that would be rejected.
	_, err := r.Register(t.Context(), "default", widget("Gadget", "", "v1"), Precondition{CreateOnly: true})
	wantReason(t, err, CRDExists)
	list, _, err := r.RegisterAll(t.Context(), "default", []Submission{{Manifest: widget("Gadget", "", "v1"), Precondition: Precondition{Etag: "stale"}}})
	if err != nil {
		t.Fatal(err)
	}
	wantReason(t, list[0].Err, EtagMismatch)
	mustAccept(t, r, widget("Widget", "", "v1"), Unchanged)
	// Metadata alone is another revision, and not another generation.
	if d := mustAccept(t, r, widget("Widget", "other", "v1"), Updated).CRD; d.Generation != 1 || d.Revision == first.CRD.Revision || d.Etag == first.CRD.Etag {
		t.Errorf("%+v", d)
	}
	if d := mustAccept(t, r, widget("Widget", "", "v1", "v2"), Updated).CRD; d.Generation != 2 || fmt.Sprint(d.Status.StoredVersions) != "[v1 v2]" {
		t.Errorf("%+v", d)
	}
	// What was stored may not vanish before it is migrated.
	rejected = mustAccept(t, r, widget("Widget", "", "v2"), Rejected)
	if v := rejected.Report.Violations; len(v) != 1 || v[0].Field != "status.storedVersions[0]" {
		t.Errorf("%+v", v)
	}
	if checked, err := r.Check(t.Context(), "default", Submission{Manifest: widget("Widget", "", "v2")}, ""); err != nil || checked.Outcome != Rejected {
		t.Errorf("%+v, %v", checked, err)
	}

	done, err := r.SetStoredVersions(t.Context(), "default", "widgets.example.com", []string{"v2"}, "")
	d := done.CRD
	if err != nil || done.Token == "" || done.Outcome != Updated || fmt.Sprint(d.Status.StoredVersions) != "[v2]" || d.Generation != 2 {
		t.Fatalf("%+v, %v", d, err)
	}
	same, err := r.SetStoredVersions(t.Context(), "default", "widgets.example.com", []string{"v2"}, d.Etag)
	if err != nil || same.Outcome != Unchanged || same.Token != done.Token || same.CRD.Etag != d.Etag {
		t.Errorf("%+v, %v", same, err)
	}
	mustAccept(t, r, widget("Widget", "", "v2"), Updated)
	whole, err := r.CRD(t.Context(), "default", "widgets.example.com", "", "")
	if err != nil || !strings.Contains(string(whole.StatusJSON), `"storedVersions":["v2"]`) || !strings.Contains(string(whole.StatusJSON), `"lastTransitionTime":"1970-01-01T00:16:40Z"`) {
		t.Errorf("%s, %v", whole.StatusJSON, err)
	}
}

// The generation is that of the report: API servers compare specs before they write defaults in their own way.
func TestGeneration(t *testing.T) {
	r := newRegistry(t, newTestStore(), nil)
	manifest := func(note, number string) engine.Document { // JSON, in which 1.0 is not 1
		return engine.JSON([]byte(`{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": {"name": "widgets.example.com", "annotations": {"note": "` + note + `"}},
			"spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"}, "versions": [{"name": "v1", "served": true, "storage": true,
				"schema": {"openAPIV3Schema": {"type": "object", "properties": {"n": {"type": "number", "default": ` + number + `}}}}}]}}`))
	}
	for _, tc := range []struct {
		note, number string
		want         int64
	}{{"a", "1", 1}, {"b", "1", 1}, {"c", "1.0", 2}, {"d", "2", 3}} {
		if done := mustAccept(t, r, manifest(tc.note, tc.number), cmp.Or(map[string]Outcome{"a": Created}[tc.note], Updated)); done.CRD.Generation != tc.want || done.Report.Generation != tc.want {
			t.Errorf("%+v: %d, %d", tc, done.CRD.Generation, done.Report.Generation)
		}
	}
}

// A verdict against what is no longer registered is not written: it is made again.
func TestOutdatedCandidate(t *testing.T) {
	r := newRegistry(t, newTestStore(), nil)
	c, _ := r.snapshot.Load().catalog("default")
	gadget, err := r.compile(t.Context(), c, Submission{Manifest: widget("Gadget", "", "v1")})
	if err != nil || gadget.revision == nil {
		t.Fatalf("%+v, %v", gadget, err)
	}
	mustAccept(t, r, widget("Widget", "", "v1"), Created)
	if _, err := r.writeCandidate(t.Context(), "default", gadget, Precondition{}); !errors.Is(err, errOutdated) {
		t.Errorf("got %v", err)
	}
	// In a race each is judged against what is there in the end: no two kinds.
	for range 5 {
		if _, err := r.Delete(t.Context(), "default", "widgets.example.com", Precondition{}); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		outcomes := make([]Outcome, 6)
		for i := range outcomes {
			wg.Go(func() {
				done, err := r.Register(t.Context(), "default", widget([]string{"Widget", "Gadget"}[i%2], "", "v1"), Precondition{})
				if err != nil {
					t.Error(err)
				}
				outcomes[i] = done.Outcome
			})
		}
		wg.Wait()
		count := map[Outcome]int{}
		for _, o := range outcomes {
			count[o]++
		}
		if count[Created] != 1 || count[Unchanged] != 2 || count[Rejected] != 3 {
			t.Errorf("%v", count)
		}
	}
}

// A CRD that only an older server could have stored is registered with the condition that says so, and evaluated as it
// would be.
func TestNonStructural(t *testing.T) {
	store := newTestStore()
	r := newRegistry(t, store, nil)
	manifest := engine.YAML([]byte(`
apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata: {name: crontabs.stable.example.com}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, kind: CronTab}
  version: v1
  validation: {openAPIV3Schema: {properties: {spec: {properties: {replicas: {type: integer, maximum: 9}}}}}}
`))

	done := mustAccept(t, r, manifest, Created)
	if c := done.CRD.condition("NonStructuralSchema"); c.Status != "True" || c.Reason != "Violations" || !done.CRD.Established {
		t.Errorf("%+v", done.CRD.Status.Conditions)
	}
	if again := mustAccept(t, r, manifest, Unchanged); !again.Report.Update {
		t.Errorf("%+v", again.Report)
	}
	restarted := newRegistry(t, store, nil)
	v, err := restarted.View(t.Context(), "default", "")
	if err != nil {
		t.Fatal(err)
	}
	if d, err := v.OfKind(t.Context(), "stable.example.com", "CronTab", ""); err != nil || allowed(t, d) {
		t.Errorf("%v", err)
	}
	if d, err := restarted.CRD(t.Context(), "default", "crontabs.stable.example.com", "", ""); err != nil || d.condition("NonStructuralSchema").Status != "True" {
		t.Errorf("%+v, %v", d, err)
	}
	// In a batch too, the second manifest is judged as an update of the first, although both are compiled at once. As a
	// creation it is rejected.
	v1 := engine.YAML([]byte(strings.NewReplacer("v1beta1", "v1", "version: v1\n", "preserveUnknownFields: true\n",
		"  validation: {open", "  versions: [{name: v1, served: true, storage: true, schema: {open", "9}}}}}}", "8}}}}}}}]").Replace(
		string(manifest.YAML))))
	if checked, err := newRegistry(t, newTestStore(), nil).Check(t.Context(), "default", Submission{Manifest: v1}, ""); err != nil || checked.Outcome != Rejected {
		t.Errorf("%+v, %v", checked, err)
	}
	batch, _, err := newRegistry(t, newTestStore(), nil).RegisterAll(t.Context(), "default", []Submission{{Manifest: manifest}, {Manifest: v1}})
	if err != nil || batch[0].Registration.Outcome != Created || batch[1].Registration.Outcome != Updated {
		t.Errorf("%+v, %v", batch, err)
	}
	// An update to a structural schema takes the condition away.
	if d := mustAccept(t, r, crontabs(10), Updated).CRD; d.condition("NonStructuralSchema").Type != "" {
		t.Errorf("%+v", d.Status.Conditions)
	}
}
