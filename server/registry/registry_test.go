package registry

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// condition returns a CRD's condition, or an empty one.
func (c *CRD) condition(name string) apiextensionsv1.CustomResourceDefinitionCondition {
	for _, condition := range c.Status.Conditions {
		if string(condition.Type) == name {
			return condition
		}
	}
	return apiextensionsv1.CustomResourceDefinitionCondition{}
}

func TestDamagedStores(t *testing.T) {
	good := newTestStore()
	r := newRegistry(t, good, nil)
	mustRegister(t, r, "default", testRevision("1", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "foos"}))
	for _, tc := range []struct {
		name, key string
		value     []byte
		want      string
	}{
		{"unknown kind", "watch/x", nil, "does not know"},
		{"too many names", "crd/default/a/b", nil, "does not know"},
		{"orphan", "crd/gone/foos.g.io", good.entries["crd/default/foos.g.io"].Value, `catalog "gone"`},
		{"missing revision", "crd/default/bars.g.io", good.entries["crd/default/foos.g.io"].Value, "lacks its revision sha256:1"},
		{"cut off", "crd/default/foos.g.io", []byte{200, 1, '{'}, "CRD foos.g.io in catalog default: the record is truncated"},
		{"no JSON", "catalog/x", []byte{1, '{'}, "catalog x: decoding the record"},
		{"no revisions", "crd/default/foos.g.io", []byte{2, '{', '}'}, "has no revision"},
	} {
		store := newTestStore()
		for k, e := range good.entries {
			store.entries[k] = e
		}
		store.entries[tc.key] = Entry{Key: tc.key, Value: tc.value, Version: 9}
		_, err := New(t.Context(), store, Options{Programs: r.Programs})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// Readers and writers at once, for the race detector; every reader sees whole states.
func TestConcurrentUse(t *testing.T) {
	r := newRegistry(t, newTestStore(), nil)
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			for i := range 30 {
				rev := testRevision(fmt.Sprint(w, i), "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: fmt.Sprintf("p%d", w)})
				if _, err := register(t, r, "default", rev, Precondition{}); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			for range 100 {
				page, err := r.CRDs(t.Context(), "default", Page{WithManifest: true}, "")
				if err != nil {
					t.Error(err)
				}
				for _, d := range page.CRDs {
					if _, err := r.CRD(t.Context(), "default", d.Name, d.Revision, page.Token); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if n := r.Counts(); n.CRDs != 3 || n.Revisions != 90 {
		t.Errorf("%+v", n)
	}
}
