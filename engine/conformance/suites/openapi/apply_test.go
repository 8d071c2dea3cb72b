package openapi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/publish"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/internal/definition"
	crdschema "github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/testenv"
)

// TestServerSideApply tracks the same writes twice with upstream's field manager: with the types that the API server's
// handler of custom resources derives, and with those of our document. Results and owners must be equal.
func TestServerSideApply(t *testing.T) {
	n := testenv.Volume(1000)
	c, err := corpus.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	real, err := generate.NewReal(c)
	if err != nil {
		t.Fatal(err)
	}
	var sum tally
	for k := uint64(0); sum.applies < n; k++ {
		sum.crd(t, &maker{Rand: generate.New("apply", 1, k), real: real}, fmt.Sprint("apply ", k))
		if t.Failed() {
			return
		}
	}
	t.Logf("%d applies (%d rejected, %d of them conflicts) and %d updates of objects of %d CRDs", sum.applies, sum.rejected, sum.conflicts, sum.updates, sum.crds)
	if sum.rejected > sum.applies/2 || sum.conflicts < sum.applies/100 || sum.crds < n/50 {
		t.Errorf("the applies have lost their balance")
	}
}

type tally struct{ crds, applies, updates, rejected, conflicts int }

// crd tracks writes to one object of one CRD. No other CRD of the process may have the revision.
func (sum *tally) crd(t *testing.T, m *maker, revision string) {
	m.group = "stable.example.com"
	manifest := m.manifest("CronTab")
	versions := manifest.At("spec", "versions").Items
	if m.Chance(70) {
		root := jsontree.Obj("type", "object", "properties", m.members(3))
		versions[0].Set("schema", jsontree.Obj("openAPIV3Schema", root))
	}
	if s := versions[0].Get("schema"); s != nil && m.Chance(80) {
		for _, v := range versions[1:] {
			v.Set("schema", s.Clone())
		}
	}
	decoded, err := definition.Decode(manifest.JSON())
	if err != nil {
		return
	}
	canonical, err := crdschema.Canonical(decoded.CRD)
	if err != nil {
		t.Fatal(err)
	}
	p, err := decode(canonical, revision)
	if err != nil {
		return
	}
	if report, err := engine.Check(t.Context(), engine.JSON(manifest.JSON()), engine.Options{}); err != nil || !report.Accepted {
		return
	}
	theirs, err := handlersModels(p.upstream)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := publish.OpenAPI{}.Models(t.Context(), p.ours)
	if err != nil {
		t.Fatal(err)
	}
	var ours spec3.OpenAPI
	if err := json.Unmarshal(doc.JSON, &ours); err != nil {
		t.Fatal(err)
	}
	var pair [2]managedfields.TypeConverter
	var errs [2]error
	for i, models := range []map[string]*spec.Schema{theirs, ours.Components.Schemas} {
		pair[i], errs[i] = managedfields.NewTypeConverter(models, p.upstream.Spec.PreserveUnknownFields)
	}
	if fmt.Sprint(errs[0]) != fmt.Sprint(errs[1]) {
		t.Fatalf("type converters: upstream's error %v, ours %v\n%s", errs[0], errs[1], manifest)
	}
	if errs[0] != nil {
		return
	}
	sum.crds++
	live := [2]runtime.Object{m.object(p.upstream, manifest), nil}
	live[1] = live[0].DeepCopyObject()
	for range 24 {
		o := m.object(p.upstream, manifest)
		owner, force, apply := generate.Pick(m.Rand, []string{"a", "b", "c"}), m.Chance(60), m.Chance(80)
		var next [2]runtime.Object
		var texts [2]string
		track := func(i int) {
			manager, err := managedfields.NewDefaultCRDFieldManager(pair[i], sameFields{}, sameFields{}, sameFields{}, o.GroupVersionKind(), o.GroupVersionKind().GroupVersion(), "", nil)
			if err != nil {
				t.Fatal(err)
			}
			at := live[i].DeepCopyObject()
			at.(*unstructured.Unstructured).SetAPIVersion(o.GetAPIVersion()) // converted to the request's version
			if apply {
				next[i], err = manager.Apply(at, o.DeepCopyObject(), owner, force)
			} else {
				written := o.DeepCopy()
				written.SetManagedFields(at.(*unstructured.Unstructured).GetManagedFields())
				next[i], err = manager.Update(at, written, owner)
			}
			texts[i] = fmt.Sprint(err)
			if err != nil {
				next[i] = live[i]
			}
			untimed(next[i])
		}
		track(0)
		track(1)
		// If several things are wrong and a field is not declared, upstream's error names random ones.
		const chance = "field not declared"
		if strings.Contains(texts[0], chance) && strings.Contains(texts[1], chance) || sorted(texts[0]) == sorted(texts[1]) {
			texts[1] = texts[0]
		}
		if texts[0] != texts[1] || !reflect.DeepEqual(next[0], next[1]) {
			t.Errorf("apply %v by %s of %v on %v\n  upstream %s %v\n  ours     %s %v\n  definition %s", apply, owner, o, live[0], texts[0], next[0], texts[1], next[1], manifest)
			return
		}
		live = next
		if !apply {
			sum.updates++
			continue
		}
		sum.applies++
		if texts[0] != "<nil>" {
			sum.rejected++
			if strings.Contains(texts[0], "conflict") {
				sum.conflicts++
			}
		}
	}
}

// sorted sorts the lines of an error, whose order is random in upstream.
func sorted(text string) string {
	return strings.Join(slices.Sorted(strings.SplitSeq(text, "\n")), "\n")
}

// handlersModels returns the types that upstream's handler derives from a CRD (customresource_handler.go,
// buildOpenAPIModelsForApply), without those of the server itself.
func handlersModels(crd *apiextensionsv1.CustomResourceDefinition) (map[string]*spec.Schema, error) {
	var docs []*spec3.OpenAPI
	for _, v := range crd.Spec.Versions {
		doc, err := builder.BuildOpenAPIV3(crd, v.Name, builder.Options{})
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	merged, err := builder.MergeSpecsV3(docs...)
	if err != nil {
		return nil, err
	}
	return merged.Components.Schemas, nil
}

// object returns an object of a version of the CRD, always with the same name.
func (m *maker) object(crd *apiextensionsv1.CustomResourceDefinition, manifest *jsontree.Node) *unstructured.Unstructured {
	i := m.IntN(len(crd.Spec.Versions))
	o := jsontree.Obj("apiVersion", crd.Spec.Group+"/"+crd.Spec.Versions[i].Name, "kind", crd.Spec.Names.Kind, "metadata", jsontree.Obj("name", "x", "labels", jsontree.Obj("l"+fmt.Sprint(m.IntN(3)), "v")))
	if s := manifest.At("spec", "versions").Items[i].At("schema", "openAPIV3Schema"); s != nil {
		for _, member := range generate.Value(m.Rand, s, 5).Members {
			if o.Get(member.Key) == nil && m.Chance(80) {
				o.Set(member.Key, member.Value)
			}
		}
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(o.JSON()); err != nil {
		u.SetUnstructuredContent(map[string]any{"apiVersion": crd.Spec.Group + "/" + crd.Spec.Versions[i].Name, "kind": crd.Spec.Names.Kind, "metadata": map[string]any{"name": "x"}})
	}
	return u
}

// untimed removes the times from the managed fields, because they are those of the run.
func untimed(o runtime.Object) {
	u := o.(*unstructured.Unstructured)
	list := u.GetManagedFields()
	for i := range list {
		list[i].Time = &metav1.Time{}
	}
	u.SetManagedFields(list)
}

// sameFields converts between versions with the same fields, like the strategy None. It adds no defaults.
type sameFields struct{}

func (sameFields) Convert(_, _, _ any) error { return fmt.Errorf("unused") }

func (sameFields) ConvertToVersion(in runtime.Object, gv runtime.GroupVersioner) (runtime.Object, error) {
	u := in.DeepCopyObject().(*unstructured.Unstructured)
	kind, ok := gv.KindForGroupVersionKinds([]schema.GroupVersionKind{u.GroupVersionKind()})
	if !ok {
		return nil, fmt.Errorf("no kind for %v", gv)
	}
	u.SetGroupVersionKind(kind)
	return u, nil
}

func (sameFields) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

func (sameFields) Default(runtime.Object) {}

func (sameFields) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u, nil
}
