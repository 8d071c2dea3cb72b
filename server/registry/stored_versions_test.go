package registry

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func TestSetStoredVersionsErrors(t *testing.T) {
	r := newRegistry(t, newTestStore(), nil)
	mustAccept(t, r, widget("Widget", "", "v1", "v2"), Created)
	_, err := r.SetStoredVersions(t.Context(), "default", "widgets.example.com", []string{"v2"}, "other")
	wantReason(t, err, EtagMismatch)
	if err == nil || !strings.Contains(err.Error(), "has etag") {
		t.Error(err)
	}
	_, err = r.SetStoredVersions(t.Context(), "default", "never.example.com", []string{"v1"}, "")
	wantReason(t, err, CRDNotFound)
	_, err = r.SetStoredVersions(t.Context(), "never", "widgets.example.com", []string{"v1"}, "")
	wantReason(t, err, CatalogNotFound)
}

// TestSetStoredVersionsAccepts: as in an API server, any list is accepted, but a version that the CRD does not have makes
// its updates fail.
func TestSetStoredVersionsAccepts(t *testing.T) {
	r := newRegistry(t, newTestStore(), nil)
	mustAccept(t, r, widget("Widget", "", "v1", "v2"), Created)
	for _, tc := range []struct {
		versions []string
		want     string
		update   Outcome
	}{
		{[]string{"v1"}, "[v1]", Updated}, // the update adds the storage version
		{nil, "[v2]", Updated},
		{[]string{"v3", "v3"}, "[v3 v3]", Rejected},
	} {
		done, err := r.SetStoredVersions(t.Context(), "default", "widgets.example.com", tc.versions, "")
		if err != nil || fmt.Sprint(done.CRD.Status.StoredVersions) != tc.want {
			t.Errorf("%v: %+v, %v", tc.versions, done.CRD, err)
		}
		if update := mustAccept(t, r, widget("Widget", tc.want, "v1", "v2"), tc.update); update.CRD != nil &&
			!slices.Contains(update.CRD.Status.StoredVersions, "v2") {
			t.Errorf("%v: after the update %v", tc.versions, update.CRD.Status.StoredVersions)
		}
	}
}

// TestCurrentManifestAddsStorageVersion: as in an API server, an update with the current manifest adds the storage
// version to the stored versions.
func TestCurrentManifestAddsStorageVersion(t *testing.T) {
	manifest := widget("Widget", "", "v1", "v2")
	for _, tc := range []struct {
		set  []string
		want string
		o    Outcome
	}{
		{[]string{"v1"}, "[v1 v2]", Updated},
		{[]string{"v1", "v1"}, "[v1 v1 v2]", Updated},
		{[]string{"v2"}, "[v2]", Unchanged},
		{[]string{"v2", "v1"}, "[v2 v1]", Unchanged},
		{nil, "[v2]", Unchanged},
		{[]string{"v3"}, "[v3]", Rejected},
	} {
		for _, way := range []string{"one", "all"} {
			r := newRegistry(t, newTestStore(), &clock{now: time.Unix(1000, 0)})
			first := mustAccept(t, r, manifest, Created)
			set, err := r.SetStoredVersions(t.Context(), "default", "widgets.example.com", tc.set, "")
			if err != nil {
				t.Fatal(err)
			}
			check, err := r.Check(t.Context(), "default", Submission{Manifest: manifest}, "")
			if err != nil || check.Outcome != tc.o || tc.o != Rejected && fmt.Sprint(check.CRD.Status.StoredVersions) != tc.want {
				t.Errorf("%v: check: %s, %+v, %v", tc.set, check.Outcome, check.CRD, err)
			}
			var done []Submitted
			switch way {
			case "all":
				done, _, err = r.RegisterAll(t.Context(), "default", []Submission{{Manifest: manifest}, {Manifest: manifest}})
			default:
				done = make([]Submitted, 2)
				for i := range done {
					done[i].Registration, done[i].Err = r.Register(t.Context(), "default", manifest, Precondition{})
				}
			}
			again := Unchanged
			if tc.o == Rejected {
				again = Rejected
			}
			if err != nil || done[0].Err != nil || done[1].Err != nil || done[0].Registration.Outcome != tc.o || done[1].Registration.Outcome != again {
				t.Fatalf("%v, %s: %+v, %v", tc.set, way, done, err)
			}
			now, err := r.CRD(t.Context(), "default", "widgets.example.com", "", "")
			if err != nil || fmt.Sprint(now.Status.StoredVersions) != tc.want || (now.Etag == set.CRD.Etag) != (tc.o != Updated) ||
				now.Revision != first.CRD.Revision || now.Generation != 1 {
				t.Errorf("%v, %s: %+v, %v", tc.set, way, now, err)
			}
		}
	}
}

// TestConversionKeepsStoredVersions: conversion rules are no part of a CRD in an API server, so that setting them is no
// update.
func TestConversionKeepsStoredVersions(t *testing.T) {
	r := newRegistry(t, newTestStore(), nil)
	mustAccept(t, r, widget("Widget", "", "v1", "v2"), Created)
	if _, err := r.SetStoredVersions(t.Context(), "default", "widgets.example.com", []string{"v1"}, ""); err != nil {
		t.Fatal(err)
	}
	done, err := r.SetConversion(t.Context(), "default", "widgets.example.com", ConversionChange{})
	if err != nil || done.Outcome != Unchanged || fmt.Sprint(done.CRD.Status.StoredVersions) != "[v1]" {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestStoredVersionsAccumulate(t *testing.T) {
	r := newRegistry(t, newTestStore(), nil)
	for i, storage := range []string{"v1alpha1", "v1", "v1alpha1"} {
		rev := testRevision(fmt.Sprint(i), "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "foos"})
		rev.summary.Desired.StorageVersion = storage
		mustRegister(t, r, "default", rev)
	}
	if d, _ := r.CRD(t.Context(), "default", "foos.g.io", "", ""); fmt.Sprint(d.Status.StoredVersions) != "[v1alpha1 v1]" || d.Desired.StorageVersion != "v1alpha1" {
		t.Errorf("%v, %s", d.Status.StoredVersions, d.Desired.StorageVersion)
	}
}
