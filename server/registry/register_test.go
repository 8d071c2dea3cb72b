package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
)

func TestRegister(t *testing.T) {
	store := newTestStore()
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
	store := newTestStore()
	r := newRegistry(t, store, nil)
	done, err := r.Check(t.Context(), "default", Submission{Manifest: crontabs(10)}, "")
	if err != nil || !done.Report.Accepted || done.Token != "" || done.CRD == nil || !done.CRD.Established || done.CRD.Etag != "" || done.CRD.Generation != 0 || !done.CRD.Created.IsZero() {
		t.Errorf("%+v, %v", done, err)
	}
	if store.sequence != 0 || r.Counts().CRDs != 0 {
		t.Error("checking registers")
	}
	// It reports names that another CRD has.
	mustRegister(t, r, "default", testRevision("1", "stable.example.com", apiextensionsv1.CustomResourceDefinitionNames{Plural: "others", ShortNames: []string{"ct"}}))
	done, err = r.Check(t.Context(), "default", Submission{Manifest: crontabs(10)}, "")
	if err != nil || done.CRD.Established || done.CRD.condition("NamesAccepted").Reason != "ShortNamesConflict" {
		t.Errorf("%+v, %v", done.CRD, err)
	}
	_, err = r.Check(t.Context(), "never", Submission{Manifest: crontabs(10)}, "")
	wantReason(t, err, CatalogNotFound)
}

func TestRegistrationsAndPreconditions(t *testing.T) {
	c := &clock{now: time.Unix(1000, 0)}
	store := newTestStore()
	r := newRegistry(t, store, c)
	one, two := testRevision("1", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "foos"}), testRevision("2", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "foos"})
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

	_, err = r.Delete(t.Context(), "default", "foos.g.io", Precondition{Etag: first.Etag})
	wantReason(t, err, EtagMismatch)
	if _, err = r.Delete(t.Context(), "default", "foos.g.io", Precondition{Etag: third.Etag}); err != nil {
		t.Error(err)
	}
	_, err = r.Delete(t.Context(), "default", "foos.g.io", Precondition{})
	wantReason(t, err, CRDNotFound)
	if _, ok := store.entries[catalogKey("default")]; !ok || len(store.entries) != 1 {
		t.Errorf("left behind: %v", store.entries)
	}
	if reborn := mustRegister(t, r, "default", one); reborn.Etag == first.Etag || reborn.Generation != 1 {
		t.Errorf("%+v", reborn)
	}
}
