package tests

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/search"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/testenv"
)

// TestSamples checks that package sample makes valid objects of the corpus' CRDs: of each at least half, of most nearly
// all, without and with repairs.
func TestSamples(t *testing.T) {
	c, err := corpus.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	const n = 20
	stride := max(1, 7/testenv.Volume(1)) // one of seven CRDs, with a larger volume all of them
	generated, valid, plain, versions := 0, 0, 0, 0
	for i, crd := range c.CRDs {
		always := slices.Contains([]string{"Prometheus", "HTTPRoute", "Certificate", "HostedCluster"}, crd.Kind)
		if !always && i%stride != 0 {
			continue
		}
		d, _, err := engine.Compile(t.Context(), engine.JSON(crd.Doc), engine.Options{})
		if err != nil {
			t.Fatalf("%s: %v", crd.Name, err)
		}
		if d == nil {
			continue // an API server rejects it
		}
		m, err := definition.Decode(d.Manifest())
		if err != nil {
			t.Fatal(err)
		}
		v := schema.Storage(m.CRD)
		if !v.Served {
			continue
		}
		g := sample.New(schema.Of(v), sample.Options{
			APIVersion: d.Group() + "/" + v.Name, Kind: d.Kind(), Namespaced: d.Scope() == apiextensionsv1.NamespaceScoped})
		found := 0
		versions++
		for k := range uint64(n) {
			judged := 0
			run := search.Valid(g, uint64(i)<<32+k, func(o *sample.Tree) ([]sample.Fault, error) {
				judged++
				return faultsOf(t, d, o.JSON())
			})
			result, err := run.Run()
			switch {
			case err != nil:
				t.Fatalf("%s %s: %v", crd.Name, v.Name, err)
			case result.Pair.Object != nil:
				found++
				if judged == 1 {
					plain++
				}
			}
		}
		generated, valid = generated+n, valid+found
		if found < n/2 {
			t.Errorf("%s %s: only %d of %d objects are valid", crd.Name, v.Name, found, n)
		}
	}
	t.Logf("%d of %d objects of %d versions are valid, %d of them without a repair", valid, generated, versions, plain)
	if versions < 20 || valid*100 < generated*95 || plain*100 < generated*60 {
		t.Errorf("%d of %d objects of %d versions are valid, %d of them without a repair", valid, generated, versions, plain)
	}
}

// faultsOf validates an object with its status and with defaults.
func faultsOf(t *testing.T, d *engine.Definition, object []byte) (faults []sample.Fault, err error) {
	full, err := d.Default(t.Context(), engine.JSON(object), engine.TransformOptions{})
	if err != nil {
		return nil, err
	}
	verdict, err := d.Validate(t.Context(), engine.Create{Object: engine.JSON(full.Object)}, engine.ValidateOptions{AsGiven: true})
	if err != nil {
		return nil, err
	}
	root, err := sample.Parse(full.Object)
	if err != nil {
		return nil, err
	}
	for _, v := range verdict.Violations {
		f := sample.Fault{Path: pathOf(root, v.Pointer)}
		if v.Rule != nil {
			f.Rule = v.Rule.Text
		}
		faults = append(faults, f)
	}
	return faults, nil
}

// pathOf returns the path of a JSON pointer into an object.
func pathOf(at *sample.Tree, pointer string) (path tree.Path) {
	for _, part := range strings.Split(pointer, "/")[1:] {
		step := tree.Name(strings.NewReplacer("~1", "/", "~0", "~").Replace(part))
		if i, err := strconv.Atoi(part); err == nil && at != nil && at.Kind == tree.Array {
			step = tree.At(i)
		}
		path = append(path, step)
		if at != nil {
			at = at.Follow(tree.Path{step})
		}
	}
	return path
}
