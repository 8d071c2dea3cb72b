package registry

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/kubeserver"
)

// Settling looks at those that wait and at what they wait for. It comes to what settling the whole group comes to.
func TestPartialReconciliation(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	c := &clock{now: time.Unix(1000, 0)}
	store := newTestStore()
	r := newRegistry(t, store, c)
	whole := map[string]*kubeserver.CRDStatus{}
	reconcile := func(first string) {
		var group []kubeserver.CRDStatus
		for _, claimant := range whole {
			group = append(group, *claimant)
		}
		kubeserver.ReconcileStatus(group, first, c.now)
		for i := range group {
			*whole[group[i].Name] = group[i]
		}
	}
	word := func() string { return fmt.Sprintf("w%d", random.IntN(12)) }
	for i := range 600 {
		c.advance(time.Second)
		plural := fmt.Sprintf("p%d", random.IntN(10))
		name := plural + ".g.io"
		if random.IntN(4) == 0 {
			if whole[name] == nil {
				continue
			}
			if _, err := r.Delete(t.Context(), "default", name, Precondition{}); err != nil {
				t.Fatal(err)
			}
			delete(whole, name)
			reconcile("")
		} else {
			n := apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Singular: word(), Kind: word(), ListKind: word()}
			for range random.IntN(4) {
				n.ShortNames = append(n.ShortNames, word())
			}
			rev := testRevision(fmt.Sprint(i), "g.io", n)
			rev.summary.Desired.InvalidCABundle = random.IntN(5) == 0
			mustRegister(t, r, "default", rev)
			if whole[name] == nil {
				whole[name] = &kubeserver.CRDStatus{Name: name, Created: c.now.UTC()}
			}
			whole[name].Desired = rev.summary.Desired
			whole[name].Status = rev.summary.Desired.AddStoredVersion(whole[name].Status)
			reconcile(name)
		}
		catalog, _ := r.snapshot.Load().catalogs.Get("default")
		for name, want := range whole {
			got, _ := catalog.crds.Get(name)
			if got == nil || !reflect.DeepEqual(*normal(got.record.Status), *normal(&want.Status)) {
				t.Fatalf("step %d: %s has %+v, want %+v", i, name, got.record.Status, want.Status)
			}
		}
		if catalog.crds.Len() != len(whole) {
			t.Fatalf("%d CRDs, want %d", catalog.crds.Len(), len(whole))
		}
	}
	// A start builds the same indexes as the commits one after the other.
	restarted := newRegistry(t, store, c)
	if restarted.Counts() != r.Counts() {
		t.Errorf("%+v, and %+v after a start", r.Counts(), restarted.Counts())
	}
	before, _ := r.snapshot.Load().catalogs.Get("default")
	after, _ := restarted.snapshot.Load().catalogs.Get("default")
	g, h := before.group("g.io"), after.group("g.io")
	if g.waiting.Len() != h.waiting.Len() {
		t.Errorf("%d CRDs wait, and %d after a start", g.waiting.Len(), h.waiting.Len())
	}
	for i, want := range []map[string]string{maps.Collect(h.resources.All()), maps.Collect(h.kinds.All())} {
		if got := []map[string]string{maps.Collect(g.resources.All()), maps.Collect(g.kinds.All())}[i]; !maps.Equal(got, want) {
			t.Errorf("the holders of names are %v, want %v", got, want)
		}
	}
}

// normal is a status as it comes back from JSON: nil and empty are one, times are local.
func normal(s *apiextensionsv1.CustomResourceDefinitionStatus) *apiextensionsv1.CustomResourceDefinitionStatus {
	out := s.DeepCopy()
	for i := range out.Conditions {
		out.Conditions[i].LastTransitionTime.Time = time.Unix(out.Conditions[i].LastTransitionTime.Unix(), 0)
	}
	if len(out.AcceptedNames.ShortNames) == 0 {
		out.AcceptedNames.ShortNames = nil
	}
	return out
}

// More CRDs than one commit changes get their names in several; no commit grows beyond what stores take.
func TestReconciliationInSeveralCommits(t *testing.T) {
	store := newTestStore()
	r := newRegistry(t, store, &clock{now: time.Unix(1000, 0)})
	largest := 0
	store.fail = func(tx Transaction) error {
		largest = max(largest, len(tx.Expect)+len(tx.Put)+len(tx.Delete)+len(tx.DeletePrefix))
		return nil
	}
	const n = 50
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("s%d", i))
	}
	mustRegister(t, r, "default", testRevision("holder", "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: "holders", ShortNames: all}))
	for i := range n {
		if d := mustRegister(t, r, "default", testRevision(fmt.Sprint(i), "g.io", apiextensionsv1.CustomResourceDefinitionNames{Plural: fmt.Sprintf("p%d", i), ShortNames: all[i : i+1]})); d.Established {
			t.Errorf("%s is established", d.Name)
		}
	}
	if _, err := r.Delete(t.Context(), "default", "holders.g.io", Precondition{}); err != nil {
		t.Fatal(err)
	}
	page, err := r.CRDs(t.Context(), "default", Page{}, "")
	if err != nil || len(page.CRDs) != n {
		t.Fatalf("%d, %v", len(page.CRDs), err)
	}
	for _, d := range page.CRDs {
		if !d.Established || len(d.Status.AcceptedNames.ShortNames) != 1 {
			t.Errorf("%s: %+v", d.Name, d.Status.Conditions)
		}
	}
	if largest == 0 || largest >= 64 {
		t.Errorf("a commit had %d operations", largest)
	}
}
