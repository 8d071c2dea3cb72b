package tests

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/kubeserver"
	"github.com/crdeval/crdeval/engine/testenv"
)

// held is one CRD on both sides. Both continue from the same status.
type held struct {
	crd      *apiextensionsv1.CustomResourceDefinition
	registry *oracle.Registered
	ours     kubeserver.CRDStatus
	// Ours, too: the canonical manifest and the generation.
	manifest   []byte
	generation int64
}

// world contains the CRDs of one group.
type world struct {
	t     *testing.T
	group string
	crds  map[string]*held
	now   time.Time
	runs  map[string]int
}

func (w *world) names() []string {
	var names []string
	for name := range w.crds {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		a, b := w.crds[names[i]].ours, w.crds[names[j]].ours
		if !a.Created.Equal(b.Created) {
			return a.Created.Before(b.Created)
		}
		return a.Name < b.Name
	})
	return names
}

// few are the names for which CRDs compete.
var few = []string{"as", "bs", "cs", "a", "b", "c", "ab"}

func kindOf(r generate.Rand) string {
	return generate.Pick(r, []string{"A", "B", "C", "AList", "BList"})
}

// draw returns a manifest for a plural, at v1 or v1beta1.
func (w *world) draw(r generate.Rand, plural string) []byte {
	names := jsontree.Obj("plural", plural, "kind", kindOf(r))
	if r.Chance(50) {
		names.Set("singular", generate.Pick(r, few))
	}
	if r.Chance(40) {
		names.Set("listKind", kindOf(r))
	}
	if r.Chance(40) {
		short := jsontree.Arr()
		for range r.IntN(3) {
			short.Items = append(short.Items, jsontree.Str(generate.Pick(r, few)))
		}
		names.Set("shortNames", short)
	}
	if r.Chance(30) {
		names.Set("categories", generate.Pick(r, []*jsontree.Node{jsontree.Arr(), jsontree.Arr(jsontree.Str("all"))}).Clone())
	}
	schema := generate.Pick(r, []*jsontree.Node{jsontree.Obj("type", "object"), jsontree.Obj("type", "object", "properties", jsontree.Obj("a", jsontree.Obj("type", "string")))}).Clone()
	meta := jsontree.Obj("name", plural+"."+w.group)
	if r.Chance(70) {
		meta.Set("annotations", jsontree.Obj("api-approved.kubernetes.io", generate.Pick(r, []string{"https://github.com/x", "https://github.com/y", "unapproved, x", "unapproved", "bogus", ""})))
	}
	storage := generate.Pick(r, []string{"v1", "v2"})
	version := func(name string) *jsontree.Node {
		return jsontree.Obj("name", name, "served", true, "storage", name == storage, "schema", jsontree.Obj("openAPIV3Schema", schema.Clone()))
	}
	spec := jsontree.Obj("group", w.group, "scope", "Cluster", "names", names, "versions", jsontree.Arr(version("v1"), version("v2")))
	crd := jsontree.Obj("apiVersion", "apiextensions.k8s.io/v1", "kind", "CustomResourceDefinition", "metadata", meta, "spec", spec)
	if r.Chance(25) {
		spec.Set("conversion", generate.Webhook(r))
	}
	if r.Chance(30) { // as older servers stored it
		crd.Set("apiVersion", "apiextensions.k8s.io/v1beta1")
		spec.Delete("conversion")
		for _, v := range spec.Get("versions").Items {
			v.Delete("schema")
		}
		spec.Set("validation", jsontree.Obj("openAPIV3Schema", generate.Pick(r, []*jsontree.Node{schema, jsontree.Obj("type", "object", "properties", jsontree.Obj("a", jsontree.Obj())), jsontree.Obj("properties", jsontree.Obj("a", jsontree.Obj("items", jsontree.Obj("type", "string")), "b", jsontree.Obj()))}).Clone()))
	}
	return crd.JSON()
}

// write creates or updates a CRD on both sides. It returns false if upstream rejects it.
func (w *world) write(r generate.Rand, plural string) (name string, ok bool) {
	doc := w.draw(r, plural)
	name = plural + "." + w.group
	old := w.crds[name]
	var registered *oracle.Registered
	var answer oracle.Answer
	options := engine.Options{}
	if old == nil {
		registered, answer = oracle.Register(doc, false)
	} else {
		kept, err := old.registry.Keep(oracle.State{Generation: old.crd.Generation, Status: old.crd.Status})
		if err != nil {
			w.t.Fatal(err)
		}
		registered, answer = oracle.RegisterUpdate(kept, doc, false)
		options.Existing = func(string) *engine.Existing {
			return &engine.Existing{Manifest: old.manifest, Generation: old.generation, Status: old.ours.Status}
		}
	}
	d, report, err := engine.Compile(context.Background(), engine.JSON(doc), options)
	if err != nil {
		w.t.Fatal(err)
	}
	if report.Accepted != answer.Accepted() {
		w.t.Fatalf("accepted: upstream %v %v, ours %v %v\n%s", answer.Accepted(), answer.Errors, report.Accepted, report.Violations, doc)
	}
	if !report.Accepted {
		return name, false
	}
	next := &held{crd: registered.Stored.DeepCopy(), registry: registered, manifest: d.Manifest(), generation: report.Generation}
	next.ours = kubeserver.CRDStatus{Name: name, Created: w.now, Desired: kubeserver.DesiredStatusOf(d), Status: kubeserver.DesiredStatusOf(d).AddStoredVersion(apiextensionsv1.CustomResourceDefinitionStatus{})}
	if old == nil {
		next.crd.Status = apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: answer.StoredVersions} // before any controller has processed it
	} else {
		next.ours.Created = old.ours.Created
		next.ours.Status = kubeserver.DesiredStatusOf(d).AddStoredVersion(old.ours.Status)
	}
	// A registry stores the status as JSON.
	text, err := json.Marshal(next.ours.Desired)
	if err != nil {
		w.t.Fatal(err)
	}
	next.ours.Desired = kubeserver.DesiredStatus{}
	if err := json.Unmarshal(text, &next.ours.Desired); err != nil {
		w.t.Fatal(err)
	}
	w.crds[name] = next
	return name, true
}

// statusText returns the compared part of a status. Conditions have no order, and of their times it matters only
// whether they changed.
func statusText(s *apiextensionsv1.CustomResourceDefinitionStatus, since time.Time) string {
	type condition struct {
		Type, Status, Reason, Message string
		Observed                      int64
		Moved                         bool
	}
	var list []condition
	for _, c := range s.Conditions {
		list = append(list, condition{string(c.Type), string(c.Status), c.Reason, c.Message, c.ObservedGeneration, !c.LastTransitionTime.Time.Before(since)})
	}
	slices.SortFunc(list, func(a, b condition) int { return bytes.Compare([]byte(a.Type), []byte(b.Type)) })
	names, stored := s.AcceptedNames, s.StoredVersions
	out, _ := json.Marshal(map[string]any{"names": names, "stored": stored, "observed": s.ObservedGeneration, "conditions": list})
	return string(out)
}

// reconcile compares the statuses on both sides after a change of the CRD first, or after a deletion if first is "".
func (w *world) reconcile(r generate.Rand, first string) {
	names := w.names()
	if i := slices.Index(names, first); i > 0 {
		names = append([]string{first}, slices.Delete(slices.Clone(names), i, i+1)...)
	}
	since := time.Now().Add(-time.Second).Truncate(time.Second)
	past := since.Add(-time.Hour)
	var claimants []kubeserver.CRDStatus
	for _, name := range names {
		h := w.crds[name]
		for _, s := range []*apiextensionsv1.CustomResourceDefinitionStatus{&h.crd.Status, &h.ours.Status} {
			for i := range s.Conditions {
				s.Conditions[i].LastTransitionTime.Time = past
			}
		}
		claimants = append(claimants, h.ours)
	}
	slices.Reverse(claimants) // their order must not matter
	changed := kubeserver.ReconcileStatus(claimants, first, time.Now())
	got := map[string]string{}
	for i := range claimants {
		c := &claimants[i]
		got[c.Name] = statusText(&c.Status, since)
		if was := statusText(&w.crds[c.Name].ours.Status, since); was != got[c.Name] && !slices.Contains(changed, c.Name) {
			w.t.Fatalf("%s: changed is %v\nfrom %s\nto   %s", c.Name, changed, was, got[c.Name])
		}
		w.crds[c.Name].ours.Status = c.Status
	}
	var last map[string]string
	for try := range 2000 { // upstream's messages also depend on the order of Go maps
		var crds []*apiextensionsv1.CustomResourceDefinition
		for _, name := range names {
			crds = append(crds, w.crds[name].crd)
		}
		server, err := NewServer(crds)
		if err != nil {
			w.t.Fatal(err)
		}
		order := rand.New(rand.NewPCG(r.Uint64(), uint64(try)))
		if try%2 == 0 {
			order = nil // our order
		}
		if err := server.Reconcile(names, order); err != nil {
			w.t.Fatal(err)
		}
		last = map[string]string{}
		for _, name := range names {
			crd, err := server.Get(name)
			if err != nil {
				w.t.Fatal(err)
			}
			last[name] = statusText(&crd.Status, since)
		}
		if fmt.Sprint(last) != fmt.Sprint(got) {
			continue
		}
		w.runs[fmt.Sprintf("orders tried %d", min(try, 3))]++
		for _, name := range names {
			crd, _ := server.Get(name)
			w.crds[name].crd = crd.DeepCopy()
		}
		return
	}
	for _, name := range names {
		if last[name] != got[name] {
			w.t.Errorf("%s after a change to %q:\nupstream %s\nours     %s\nspec %+v", name, first, last[name], got[name], w.crds[name].crd.Spec.Names)
		}
	}
	w.t.FailNow()
}

// TestStatuses creates, changes and deletes CRDs of one group, and compares their statuses after each change.
func TestStatuses(t *testing.T) {
	runs := map[string]int{}
	for seed := range uint64(testenv.Volume(50)) {
		r := generate.New("settle", 1, seed)
		w := &world{t: t, group: generate.Pick(r, []string{"example.com", "example.com", "example.k8s.io"}), crds: map[string]*held{}, now: time.Now().Add(-time.Hour), runs: runs}
		for range 14 {
			w.now = w.now.Add(time.Duration(r.IntN(2)) * time.Second)
			plural := generate.Pick(r, few[:5])
			name := plural + "." + w.group
			if w.crds[name] != nil && r.Chance(25) {
				delete(w.crds, name)
				runs["deleted"]++
				w.reconcile(r, "")
				continue
			}
			update := w.crds[name] != nil
			name, ok := w.write(r, plural)
			if !ok {
				runs["rejected"]++
				continue
			}
			if update {
				runs["updated"]++
			} else {
				runs["created"]++
			}
			w.reconcile(r, name)
			for _, h := range w.crds {
				for _, c := range h.ours.Status.Conditions {
					runs[fmt.Sprintf("%s %s %s", c.Type, c.Status, c.Reason)]++
				}
			}
		}
	}
	for _, each := range []string{
		"created", "updated", "deleted", "Established True InitialNamesAccepted", "Established False NotAccepted", "Established False InvalidCABundle", "NonStructuralSchema True Violations",
		"NamesAccepted True NoConflicts", "NamesAccepted False KindConflict", "NamesAccepted False ListKindConflict", "NamesAccepted False PluralConflict", "NamesAccepted False ShortNamesConflict",
		"NamesAccepted False SingularConflict", "KubernetesAPIApprovalPolicyConformant False InvalidAnnotation", "KubernetesAPIApprovalPolicyConformant False MissingAnnotation",
		"KubernetesAPIApprovalPolicyConformant False UnapprovedAnnotation", "KubernetesAPIApprovalPolicyConformant True ApprovedAnnotation",
	} {
		if runs[each] == 0 {
			t.Errorf("%q never came up", each)
		}
	}
	t.Log(runs)
}
