package registry

import (
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine"
)

// storedWidget returns a CRD as another API server stores it; changes are pairs of texts.
func storedWidget(changes ...string) engine.Document {
	return engine.YAML([]byte(strings.NewReplacer(changes...).Replace(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com, uid: 11111111-2222-4333-8444-555555555555, resourceVersion: "41", generation: 7, creationTimestamp: "2026-01-02T03:04:05Z"}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  preserveUnknownFields: true
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {properties: {spec: {x-kubernetes-preserve-unknown-fields: true}}}}}
status:
  acceptedNames: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  storedVersions: [v0, v1]
  conditions: [{type: Established, status: "True", reason: Other, message: theirs, lastTransitionTime: "2026-01-02T03:04:06Z"}]
`)))
}

func submit(t *testing.T, r *Registry, s Submission) (Registration, error) {
	t.Helper()
	done, _, err := r.RegisterAll(t.Context(), "default", []Submission{s})
	if err != nil {
		t.Fatal(err)
	}
	return done[0].Registration, done[0].Err
}

func mustSubmit(t *testing.T, r *Registry, s Submission, want Outcome) *CRD {
	t.Helper()
	done, err := submit(t, r, s)
	if err != nil || done.Outcome != want {
		t.Fatalf("%s, %+v, %v; want %s", done.Outcome, done.Report, err, want)
	}
	return done.CRD
}

// TestRegisterAsStored: what another server stores is taken as it is, also after the store was loaded again.
func TestRegisterAsStored(t *testing.T) {
	store := newTestStore()
	r := newRegistry(t, store, &clock{now: time.Unix(1000, 0)})
	first := mustSubmit(t, r, Submission{Manifest: storedWidget(), AsStored: true}, Created)
	check := func(when string, c *CRD) {
		t.Helper()
		if c.Generation != 7 || !c.AsStored || string(c.Metadata.UID) != "11111111-2222-4333-8444-555555555555" ||
			c.Metadata.ResourceVersion != "41" || c.Created.Format(time.RFC3339) != "2026-01-02T03:04:05Z" || !c.Established ||
			len(c.Status.StoredVersions) != 2 || len(c.Status.Conditions) != 1 || c.Status.Conditions[0].Message != "theirs" {
			t.Errorf("%s: %+v", when, c)
		}
	}
	check("registered", first)
	again := mustSubmit(t, r, Submission{Manifest: storedWidget(), AsStored: true}, Unchanged)
	if again.Etag != first.Etag {
		t.Error("registering the same CRD changed the etag")
	}
	reloaded, err := newRegistry(t, store, nil).CRD(t.Context(), "default", "widgets.example.com", "", "")
	if err != nil {
		t.Fatal(err)
	}
	check("loaded", reloaded)

	other := mustSubmit(t, r, Submission{Manifest: storedWidget("theirs", "changed"), AsStored: true}, Updated)
	if other.Revision != first.Revision || other.Etag == first.Etag || other.Status.Conditions[0].Message != "changed" {
		t.Errorf("another status: %+v", other)
	}
	if c := mustSubmit(t, r, Submission{Manifest: storedWidget(`"41"`, `"42"`), AsStored: true}, Updated); c.Metadata.ResourceVersion != "42" {
		t.Errorf("another resourceVersion: %+v", c)
	}
	// Only a name that is free is accepted, but the status of the other server does not change.
	mustAccept(t, r, engine.YAML([]byte(strings.NewReplacer("widgets", "gadgets").Replace(string(widget("Widget", "", "v1").YAML)))), Created)
	if c, err := r.CRD(t.Context(), "default", "gadgets.example.com", "", ""); err != nil || c.Status.AcceptedNames.Kind != "" {
		t.Errorf("a kind of another CRD was accepted: %+v, %v", c, err)
	}
	// A registration of its own makes the registry set the status.
	own := mustAccept(t, r, widget("Widget", "", "v0", "v1"), Updated).CRD
	if own.AsStored || own.Generation != 8 || own.Status.AcceptedNames.Plural != "widgets" || len(own.Status.Conditions) != 1 {
		t.Errorf("%+v", own)
	}
}

// TestTerminating: objects of a CRD that is being deleted cannot be created, also after the store was loaded and after
// the CRD was updated.
func TestTerminating(t *testing.T) {
	store := newTestStore()
	r := newRegistry(t, store, nil)
	deleted := storedWidget("generation: 7", `generation: 7, deletionTimestamp: "2026-01-03T00:00:00Z", deletionGracePeriodSeconds: 0`)
	c := mustSubmit(t, r, Submission{Manifest: deleted, AsStored: true}, Created)
	if c.Metadata.DeletionTimestamp == nil || c.Metadata.DeletionGracePeriodSeconds == nil {
		t.Errorf("%+v", c.Metadata)
	}
	creation := func(when string, r *Registry, want bool) {
		t.Helper()
		view, err := r.View(t.Context(), "default", "")
		if err != nil {
			t.Fatal(err)
		}
		d, err := view.OfKind(t.Context(), "example.com", "Widget", "")
		if err != nil {
			t.Fatal(err)
		}
		object := engine.JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","namespace":"b"}}`))
		v, err := d.Admit(t.Context(), engine.Create{Object: object}, engine.AdmitOptions{})
		if err != nil || v.Allowed != want {
			t.Errorf("%s: %+v, %v", when, v, err)
		}
		if !want && v.Rejection.Code != 403 {
			t.Errorf("%s: %+v", when, v.Rejection)
		}
	}
	creation("registered", r, false)
	creation("loaded", newRegistry(t, store, nil), false)
	mustAccept(t, r, widget("Widget", "", "v0", "v1"), Updated)
	creation("updated", r, false)
	mustSubmit(t, r, Submission{Manifest: storedWidget("11111111", "99999999"), AsStored: true}, Updated)
	creation("created again", r, true)
}

// TestFence: a writer with an older NotOlderThan changes nothing, also after the CRD was deleted.
func TestFence(t *testing.T) {
	store := newTestStore()
	r := newRegistry(t, store, nil)
	at := func(fence int64, changes ...string) Submission {
		return Submission{Manifest: storedWidget(changes...), AsStored: true, Precondition: Precondition{NotOlderThan: fence}}
	}
	outdated := func(when string, r *Registry, s Submission, kept string) {
		t.Helper()
		_, err := submit(t, r, s)
		wantReason(t, err, CRDOutdated)
		if e, ok := err.(*Error); !ok || e.Metadata["not_older_than"] != kept { //nolint:errorlint // not wrapped
			t.Errorf("%s: %v", when, err)
		}
	}
	mustSubmit(t, r, at(20), Created)
	mustSubmit(t, r, at(20), Unchanged)
	outdated("an older spec", r, at(19, "v1,", "v2,"), "20")
	outdated("the same spec", r, at(19), "20")
	outdated("loaded", newRegistry(t, store, nil), at(19), "20")
	if c := mustSubmit(t, r, at(25), Updated); c.NotOlderThan != 25 {
		t.Errorf("%+v", c)
	}
	if c := mustSubmit(t, r, at(0, "theirs", "unfenced"), Updated); c.NotOlderThan != 25 {
		t.Errorf("a write without a fence changed it: %+v", c)
	}
	_, err := r.Delete(t.Context(), "default", "widgets.example.com", Precondition{NotOlderThan: 24})
	wantReason(t, err, CRDOutdated)
	if _, err := r.Delete(t.Context(), "default", "widgets.example.com", Precondition{NotOlderThan: 30}); err != nil {
		t.Fatal(err)
	}
	outdated("deleted", r, at(29), "30")
	outdated("deleted and loaded", newRegistry(t, store, nil), at(29), "30")
	if c := mustSubmit(t, r, at(31), Created); c.NotOlderThan != 31 {
		t.Errorf("%+v", c)
	}
	if c, _ := r.snapshot.Load().catalog("default"); len(c.record.Deleted) != 0 {
		t.Errorf("the fence of the deletion is kept: %+v", c.record.Deleted)
	}
	_, err = submit(t, r, at(-1))
	wantReason(t, err, InvalidArgument)
}

// TestDeletedFencesAreBounded: the last deletions count.
func TestDeletedFencesAreBounded(t *testing.T) {
	var c catalogRecord
	for i := range int64(maxDeleted + 2) {
		c = c.withFence(strings.Repeat("a", int(i)+1), i+1)
	}
	c = c.withFence("a", 500) // again, as the last
	if len(c.Deleted) != maxDeleted || c.deletedFence("a") != 500 || c.deletedFence("aa") != 0 || c.deletedFence("aaaaa") != 5 {
		t.Errorf("%d: %+v", len(c.Deleted), c.Deleted[:4])
	}
}

// TestAsStoredErrors: errors name what is wrong, and nothing is stored.
func TestAsStoredErrors(t *testing.T) {
	r := newRegistry(t, newTestStore(), nil)
	_, err := submit(t, r, Submission{Manifest: storedWidget(), AsStored: true, Conversion: engine.JSON([]byte(`{}`))})
	wantReason(t, err, InvalidArgument)
	_, err = submit(t, r, Submission{Manifest: storedWidget("theirs", strings.Repeat("x", maxStatusBytes)), AsStored: true})
	wantReason(t, err, LimitExceeded)
	_, err = submit(t, r, Submission{Manifest: storedWidget("storage: true", "storage: false"), AsStored: true})
	if engine.ReasonOf(err) != engine.ReasonManifestUnreadable {
		t.Errorf("%v", err)
	}
	if _, err := r.CRD(t.Context(), "default", "widgets.example.com", "", ""); err == nil {
		t.Error("a rejected CRD was stored")
	}
}

// TestOwnMetadata: the registry's own CRDs have the metadata that an API server sets.
func TestOwnMetadata(t *testing.T) {
	r := newRegistry(t, newTestStore(), &clock{now: time.Unix(1000, 0)})
	first := mustAccept(t, r, widget("Widget", "", "v1"), Created).CRD
	second := mustAccept(t, r, widget("Widget", "x", "v1"), Updated).CRD
	if first.Metadata.UID == "" || first.Metadata.UID != second.Metadata.UID || first.Metadata.ResourceVersion == second.Metadata.ResourceVersion {
		t.Errorf("%+v, then %+v", first.Metadata, second.Metadata)
	}
}
