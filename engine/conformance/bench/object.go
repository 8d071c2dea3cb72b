package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// object is an object of the benchmarks and its CRD.
type object struct {
	name   string
	body   []byte                                    // valid
	faulty []byte                                    // the same kind of object with ten field errors
	text   []byte                                    // the CRD's original manifest in JSON
	crd    *apiextensionsv1.CustomResourceDefinition // decoded and defaulted, with accepted names
}

// objects lists the objects of the benchmarks: files in testdata/bench, and the sources of their CRDs. Without a
// module, the CRD is a file in the same folder.
var objects = []struct{ name, module, crd string }{
	{"crontab", "", "crontab-crd.yaml"},
	{"httproute-small", "sigs.k8s.io/gateway-api", "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml"},
	{"httproute-large", "sigs.k8s.io/gateway-api", "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml"},
	{"prometheus", "github.com/prometheus-operator/prometheus-operator", "example/prometheus-operator-crd-full/monitoring.coreos.com_prometheuses.yaml"},
	{"certificate", "github.com/cert-manager/cert-manager", "deploy/crds/cert-manager.io_certificates.yaml"},
}

// load reads object i of objects from folder.
func load(folder string, i int) (*object, error) {
	spec := objects[i]
	body, err := os.ReadFile(filepath.Join(folder, spec.name+".json"))
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	faulty, err := os.ReadFile(filepath.Join(folder, spec.name+"-faulty.json"))
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	var manifest []byte
	if spec.module != "" {
		manifest, err = corpus.Definition(spec.module, spec.crd)
	} else if manifest, err = os.ReadFile(filepath.Join(folder, spec.crd)); err == nil {
		manifest, err = yaml.YAMLToJSON(manifest)
	}
	if err != nil {
		return nil, fmt.Errorf("bench: the definition of %s: %w", spec.name, err)
	}
	return newObject(spec.name, manifest, body, faulty)
}

// newObject registers the CRD of an object.
func newObject(name string, manifest, body, faulty []byte) (*object, error) {
	registered, answer := oracle.Register(manifest, false)
	if !answer.Accepted() {
		return nil, fmt.Errorf("bench: upstream rejects the definition of %s: %+v", name, answer)
	}
	return &object{name: name, body: body, faulty: faulty, text: manifest, crd: registered.V1}, nil
}

// bare returns the object with a CRD without rules.
func (o *object) bare() *object {
	b := *o
	b.crd = o.crd.DeepCopy()
	for v := range b.crd.Spec.Versions {
		if s := b.crd.Spec.Versions[v].Schema; s != nil {
			withoutRules(s.OpenAPIV3Schema)
		}
	}
	return &b
}

// alone returns the object with a CRD that has only the object's version.
func (o *object) alone() (*object, error) {
	v, err := o.version()
	if err != nil {
		return nil, err
	}
	one := *v.DeepCopy()
	one.Storage, one.Served = true, true
	b := *o
	b.crd = o.crd.DeepCopy()
	b.crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{one}
	return &b, nil
}

// manifest returns the CRD as a user registers it.
func (o *object) manifest() ([]byte, error) {
	crd := o.crd.DeepCopy()
	crd.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
	return json.Marshal(crd)
}

// version returns the object's version.
func (o *object) version() (*apiextensionsv1.CustomResourceDefinitionVersion, error) {
	var head struct {
		APIVersion string `json:"apiVersion"`
	}
	if err := json.Unmarshal(o.body, &head); err != nil {
		return nil, fmt.Errorf("bench: %s: %w", o.name, err)
	}
	for i := range o.crd.Spec.Versions {
		if v := &o.crd.Spec.Versions[i]; o.crd.Spec.Group+"/"+v.Name == head.APIVersion {
			return v, nil
		}
	}
	return nil, fmt.Errorf("bench: %s is of %s, which its definition does not have", o.name, head.APIVersion)
}

// withoutRules removes x-kubernetes-validations from a schema.
func withoutRules(s *apiextensionsv1.JSONSchemaProps) {
	if s == nil {
		return
	}
	s.XValidations = nil
	for name, p := range s.Properties {
		withoutRules(&p)
		s.Properties[name] = p
	}
	if s.Items != nil {
		withoutRules(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		withoutRules(s.AdditionalProperties.Schema)
	}
	withoutRules(s.Not)
	for _, list := range [][]apiextensionsv1.JSONSchemaProps{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range list {
			withoutRules(&list[i])
		}
	}
}
