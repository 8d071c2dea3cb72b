package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/corpus"
)

// submission is a manifest, and the CRD registered under its name.
type submission struct {
	manifest []byte           // YAML
	existing *engine.Existing // nil: none
	stored   []byte           // the same as stored by upstream
}

// register compares registrations of a CRD, from the YAML bytes of its manifest until objects can be evaluated, on one
// core.
func register(o Options, name string, obj *object) (string, error) {
	manifest, err := kubectlYAML(obj.text)
	if err != nil {
		return "", err
	}
	return registerAll(o, name, []submission{{manifest: manifest}})
}

// registerUpdate is register for an update of a registered CRD that adds an optional property to each version.
func registerUpdate(o Options, name string, obj *object) (string, error) {
	s, err := updated(obj)
	if err != nil {
		return "", err
	}
	return registerAll(o, name, []submission{s})
}

// largest is the number of CRDs in register/largest.
const largest = 10

// registerLargest is register for the largest manifests of the corpus, one after the other.
func registerLargest(o Options, name string) (string, error) {
	manifests, err := largestManifests(o, name)
	if err != nil {
		return "", err
	}
	var list []submission
	for _, manifest := range manifests {
		list = append(list, submission{manifest: manifest})
	}
	return registerAll(o, name, list)
}

func largestManifests(o Options, name string) ([][]byte, error) {
	c, err := corpus.Load(o.Progress)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(c.CRDs, func(a, b corpus.CRD) int { return cmp.Compare(len(b.Doc), len(a.Doc)) })
	var manifests [][]byte
	for _, crd := range c.CRDs[:largest] {
		o.progress("%s: %s of %s, %s, %d bytes", name, crd.Name, crd.Module, crd.Path, len(crd.Doc))
		manifest, err := kubectlYAML(crd.Doc)
		if err != nil {
			return nil, err
		}
		manifests = append(manifests, manifest)
	}
	return manifests, nil
}

// kubectlYAML returns JSON as the YAML that kubectl prints.
func kubectlYAML(json []byte) ([]byte, error) { return yaml.JSONToYAML(json) }

// registerAll compares the registrations of all manifests together, after both sides returned the same for each.
func registerAll(o Options, name string, list []submission) (string, error) {
	them := newRegistrar()
	for _, s := range list {
		if err := sameRegistration(them, s); err != nil {
			return "", err
		}
	}
	a, b, err := compare(o, func() error {
		for _, s := range list {
			if _, _, err := registerOurs(s.manifest, s.existing); err != nil {
				return err
			}
		}
		return nil
	}, func() error {
		for _, s := range list {
			if _, _, err := them.register(s.manifest, s.stored); err != nil {
				return err
			}
		}
		return nil
	})
	return timeLine(name, a, b, runtime.GOMAXPROCS(0)), err
}

// sameRegistration checks that both sides accept a CRD with the same warnings.
func sameRegistration(them *registrar, s submission) error {
	_, report, err := registerOurs(s.manifest, s.existing)
	if err != nil {
		return err
	}
	theirs, _, err := them.register(s.manifest, s.stored)
	if err != nil {
		return err
	}
	warnings := engine.KubernetesWarnings(report.Warnings)
	if !slices.Equal(slices.Sorted(slices.Values(warnings)), slices.Sorted(slices.Values(theirs))) {
		return fmt.Errorf("ours warns of %q and upstream of %q", warnings, theirs)
	}
	if report.Update != (s.existing != nil) {
		return fmt.Errorf("ours takes it for an update: %v", report.Update)
	}
	return nil
}

// largestYAML is a limit above the default, because YAML is longer than the JSON that kubectl sends.
const largestYAML = 8 << 20

// registerOurs is what the engine does for a registration. The manifest is YAML.
func registerOurs(manifest []byte, existing *engine.Existing) (*engine.Definition, *engine.Report, error) {
	o := engine.Options{Limits: engine.Limits{MaxBytes: largestYAML}}
	if existing != nil {
		o.Existing = func(string) *engine.Existing { return existing }
	}
	d, report, err := engine.Compile(context.Background(), engine.YAML(manifest), o)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("ours: %w", err)
	case d == nil:
		return nil, nil, fmt.Errorf("ours: %s", report.Rejection.Message)
	}
	return d, report, nil
}

// updated registers an object's CRD with both sides and returns the update that adds a property at the root of each
// version's schema.
func updated(obj *object) (submission, error) {
	manifest, err := kubectlYAML(obj.text)
	if err != nil {
		return submission{}, err
	}
	d, _, err := registerOurs(manifest, nil)
	if err != nil {
		return submission{}, err
	}
	_, stored, err := newRegistrar().register(manifest, nil)
	if err != nil {
		return submission{}, err
	}
	var held apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(stored, &held); err != nil {
		return submission{}, err
	}
	held.Status.AcceptedNames = held.Spec.Names
	for _, condition := range []apiextensionsv1.CustomResourceDefinitionConditionType{apiextensionsv1.NamesAccepted, apiextensionsv1.Established} {
		held.Status.Conditions = append(held.Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{Type: condition, Status: apiextensionsv1.ConditionTrue})
	}
	s := submission{existing: &engine.Existing{Manifest: d.Manifest(), Generation: 1, Status: held.Status}}
	if s.stored, err = json.Marshal(&held); err != nil {
		return submission{}, err
	}
	if s.manifest, err = widened(obj.text); err == nil {
		s.manifest, err = kubectlYAML(s.manifest)
	}
	return s, err
}

// widened returns a manifest with one more property at the root of each schema.
func widened(manifest []byte) ([]byte, error) {
	var crd struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       map[string]any `json:"spec"`
	}
	if err := json.Unmarshal(manifest, &crd); err != nil {
		return nil, err
	}
	versions, _ := crd.Spec["versions"].([]any)
	for _, v := range versions {
		properties, ok, err := unstructured.NestedMap(v.(map[string]any), "schema", "openAPIV3Schema", "properties")
		if err != nil || !ok {
			return nil, fmt.Errorf("bench: a schema without properties: %w", err)
		}
		properties["added"] = map[string]any{"type": "string"}
		if err := unstructured.SetNestedMap(v.(map[string]any), properties, "schema", "openAPIV3Schema", "properties"); err != nil {
			return nil, err
		}
	}
	return json.Marshal(&crd)
}
