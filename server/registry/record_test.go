package registry

import (
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// FuzzEntries: whatever a store has, reading it is an answer or an error, and what was read can be described, reconciled
// and listed.
func FuzzEntries(f *testing.F) {
	store := newTestStore()
	r := newRegistry(f, store, &clock{now: time.Unix(1000, 0)})
	mustRegister(f, r, "default", testRevision("1", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "foos", ShortNames: []string{"f"}}))
	crd, rev := store.entries[crdKey("default", "foos.g.io")].Value, store.entries[revisionKey("default", "foos.g.io", "sha256:1")].Value
	f.Add(crd, rev)
	f.Add(crd[:len(crd)-9], rev)
	for _, record := range []string{
		`null`, `{"revisions":[{}]}`, `{"revisions":[{"digest":"sha256:1"}]}`, `{"revisions":[{"digest":"sha256:1"},{"digest":"sha256:1"}],"status":{}}`,
		`{"revisions":[{"digest":"sha256:1"}],"status":{"conditions":[{}],"acceptedNames":{"shortNames":["","a","a"]}}}`,
	} {
		for _, summary := range []string{`null`, `{}`, `{"desired":{"group":"h.io"}}`, `{"conversionBytes":1}`, `{"conversionBytes":-1}`, `{"group":"x.k8s.io"}`} {
			f.Add(append([]byte{byte(len(record))}, record...), append([]byte{byte(len(summary))}, summary...))
		}
	}
	f.Fuzz(func(t *testing.T, crd, rev []byte) {
		s, err := loadState(State{Sequence: 2, Entries: []Entry{
			{Key: crdKey("default", "foos.g.io"), Value: crd, Version: 1},
			{Key: revisionKey("default", "foos.g.io", "sha256:1"), Value: rev, Version: 2},
		}})
		if err != nil {
			return
		}
		c, err := s.catalog(DefaultCatalog)
		if err != nil {
			t.Fatal(err)
		}
		for name, d := range c.crds.All() {
			if got := d.describe(d.current()); got.Name != name {
				t.Errorf("%+v", got)
			}
			_, _ = d.describeWithManifest(d.current()) // the manifest may be damaged
			p, err := c.registration(&candidate{name: name, revision: foos("2"), generation: 2}, 0, unlimited, time.Unix(2000, 0))
			if err != nil {
				t.Fatal(err)
			}
			for i := range p.Put {
				p.Put[i].Version = 3
			}
			next, _, err := s.apply(Commit{Sequence: 3, Put: p.Put, Delete: p.Delete})
			if err != nil {
				t.Fatal(err)
			}
			if c, err := next.catalog(DefaultCatalog); err != nil || c.crds.Len() != 1 || next.catalogs.Len() != 1 {
				t.Errorf("%+v, %v", c, err)
			}
			if _, err := c.deletion(d, 0, time.Unix(2000, 0)); err != nil {
				t.Error(err)
			}
		}
	})
}
