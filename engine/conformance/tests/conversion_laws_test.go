package tests

import (
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/convert"
	"github.com/crdeval/crdeval/engine/testenv"
)

// TestLawsOfRandomRules checks that the laws of conversions hold for random rules between a schema of the corpus and a
// changed copy of it. The rules are correct by construction.
func TestLawsOfRandomRules(t *testing.T) {
	c, err := corpus.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	cases, converted, rejected := testenv.Volume(25), 0, 0
	for n := range cases {
		r := generate.New("conversion rules", 1, uint64(n))
		source := generate.Pick(r, c.CRDs)
		if len(source.Doc) > 300_000 {
			continue // they take seconds
		}
		manifest, rules := changedVersion(t, r, source.Doc)
		d, _, err := engine.Compile(t.Context(), engine.JSON(manifest), engine.Options{Conversion: engine.YAML([]byte(rules))})
		if err != nil {
			t.Fatalf("%s: %v\n%s", source.Name, err, rules)
		}
		if d == nil { // a rule or a default mentions a field that was renamed
			rejected++
			continue
		}
		if found := convert.ReportOf(d).Violations; len(found) > 0 {
			if rejected++; !strings.Contains(found[0].Message, "the limit of Kubernetes for all annotations") {
				t.Errorf("case %d, %s: %v\n%s", n, source.Name, found, rules)
			}
			continue
		}
		laws, err := convert.Test(t.Context(), d, 20, uint64(n))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range laws {
			converted += l.Objects
			// Items that differ only in what a conversion loses become equal items of a set.
			if x := l.Counterexample; x != nil && !l.Excepted && !strings.Contains(x.Text, "must be unique") {
				t.Errorf("case %d, %s: %s %v: %s\n%s\n%s\n%s\n%s", n, source.Name, l.Law, l.Between, x.Text, x.Object, x.Converted, x.Back, rules)
			}
		}
	}
	t.Logf("%d of %d cases rejected, %d objects", rejected, cases, converted)
	if rejected*2 > cases || converted < cases*50 {
		t.Errorf("the generator is off: %d of %d cases rejected, %d objects", rejected, cases, converted)
	}
}

// changedVersion returns a CRD with the first version of another one, and a changed copy of that, and the rules between
// them.
func changedVersion(t *testing.T, r generate.Rand, doc []byte) (manifest []byte, rules string) {
	t.Helper()
	crd, err := jsontree.Parse(doc)
	if err != nil {
		t.Fatal(err)
	}
	crd.Delete("status")
	meta, spec := crd.Get("metadata"), crd.Get("spec")
	name, _ := meta.Get("name").Text()
	meta.Set("annotations", jsontree.Obj("api-approved.kubernetes.io", "https://github.com/kubernetes/kubernetes/pull/1"))
	old := spec.Get("versions").Items[0]
	for _, key := range []string{"deprecated", "deprecationWarning", "additionalPrinterColumns", "selectableFields"} {
		old.Delete(key)
	}
	if sub := old.Get("subresources"); sub != nil {
		sub.Delete("scale")
	}
	old.Set("name", "v1beta1").Set("served", true).Set("storage", true)
	schema, lines := generate.Converted(r, old.At("schema", "openAPIV3Schema"), r.Between(1, 12))
	changed := old.Clone().Set("name", "v1").Set("storage", false).Set("schema", jsontree.Obj("openAPIV3Schema", schema))
	spec.Set("versions", jsontree.Arr(old, changed))
	spec.Set("conversion", jsontree.Obj("strategy", "Webhook", "webhook", jsontree.Obj("conversionReviewVersions", jsontree.Arr(jsontree.Str("v1")),
		"clientConfig", jsontree.Obj("service", jsontree.Obj("namespace", "a", "name", "b")))))
	if len(lines) == 0 {
		lines = []string{"  []"}
	}
	return crd.JSON(), "crd: " + name + "\nbetween: [v1beta1, v1]\nrules:\n" + strings.Join(lines, "\n") + "\n"
}
