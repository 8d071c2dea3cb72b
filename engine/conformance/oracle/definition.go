package oracle

import (
	"fmt"
	"sort"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/crdserverscheme"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Definition serves the objects of one CustomResourceDefinition, prepared as by crdHandler.getOrCreateServingInfoFor.
type Definition struct {
	CRD       *apiextensionsv1.CustomResourceDefinition
	schemas   map[string]*structuralschema.Structural
	versions  map[string]*version
	converter runtime.ObjectConvertor
	kind      schema.GroupKind
	server    func() (*server, error)
	// unserved is true if upstream cannot prepare to serve the objects and answers every request with an error.
	unserved bool
}

// version contains what upstream prepares for each served or stored version.
type version struct {
	gvk      schema.GroupVersionKind
	strategy rest.RESTCreateStrategy
	update   rest.RESTUpdateStrategy
	status   rest.RESTUpdateStrategy
	warnings []string // of a deprecated version
	served   bool
	// hasStatus is true if the status subresource exists.
	hasStatus bool
}

// Compile prepares a registered CRD for its objects: structural schemas with pruned defaults, validators, strategies,
// converter.
func Compile(r *Registered) (*Definition, error) {
	crd := r.V1
	d := &Definition{
		CRD:      crd,
		schemas:  map[string]*structuralschema.Structural{},
		versions: map[string]*version{},
		kind:     schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind},
		server:   sync.OnceValues(func() (*server, error) { return newServer(crd) }),
	}
	for _, v := range crd.Spec.Versions {
		s, err := structural(crd, v.Name)
		d.unserved = d.unserved || err != nil
		d.schemas[v.Name] = s
	}
	for _, v := range crd.Spec.Versions {
		if !v.Storage && !v.Served {
			continue
		}
		compiled, err := d.compileVersion(v)
		if err != nil {
			return nil, fmt.Errorf("version %s: %w", v.Name, err)
		}
		d.versions[v.Name] = compiled
	}
	c := crd.Spec.Conversion
	if c == nil {
		return d, nil
	}
	factory, err := conversion.NewCRConverterFactory(nil, nil)
	if err != nil {
		return nil, err
	}
	_, converter, err := factory.NewConverter(crd)
	if c.Strategy == apiextensionsv1.NoneConverter {
		d.converter = converter
		return d, err
	}
	d.unserved = d.unserved || err != nil
	return d, nil
}

// CallingWebhook returns a definition whose Converted calls the webhook of the CRD. Others have no converter, so that no
// case calls a host by accident.
func (d *Definition) CallingWebhook() (*Definition, error) {
	factory, err := conversion.NewCRConverterFactory(nil, nil)
	if err != nil {
		return nil, err
	}
	calling := *d
	_, calling.converter, err = factory.NewConverter(d.CRD)
	return &calling, err
}

// serve sends a request to the server of the definition.
func (d *Definition) serve(r Request) Answer {
	s, err := d.server()
	if err != nil {
		return Answer{Rejection: &Rejection{Code: 500, Reason: Unworded}, DecodeError: err.Error()}
	}
	return s.serve(d.CRD, r)
}

// Versions lists the served versions by name.
func (d *Definition) Versions() []string {
	var names []string
	for _, v := range d.CRD.Spec.Versions {
		if v.Served {
			names = append(names, v.Name)
		}
	}
	sort.Strings(names)
	return names
}

// structural builds the schema of a version, or nil for a version without one.
func structural(crd *apiextensionsv1.CustomResourceDefinition, name string) (*structuralschema.Structural, error) {
	props, err := schemaProps(crd, name)
	if props == nil || err != nil {
		return nil, err
	}
	s, err := structuralschema.NewStructural(props)
	if crd.Spec.PreserveUnknownFields {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	s = s.DeepCopy()
	return s, structuraldefaulting.PruneDefaults(s)
}

func schemaProps(crd *apiextensionsv1.CustomResourceDefinition, name string) (*apiextensions.JSONSchemaProps, error) {
	v1, err := apihelpers.GetSchemaForVersion(crd, name)
	if v1 == nil || err != nil {
		return nil, err
	}
	internal := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(v1, internal, nil); err != nil {
		return nil, err
	}
	return internal.OpenAPIV3Schema, nil
}

func (d *Definition) compileVersion(v apiextensionsv1.CustomResourceDefinitionVersion) (*version, error) {
	props, err := schemaProps(d.CRD, v.Name)
	if err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return nil, err
	}
	var status *apiextensions.CustomResourceSubresourceStatus
	var statusValidator validation.SchemaValidator
	var scale *apiextensions.CustomResourceSubresourceScale
	if sub := v.Subresources; sub != nil {
		if sub.Status != nil {
			status = &apiextensions.CustomResourceSubresourceStatus{}
			if props != nil {
				if statusProps, ok := props.Properties["status"]; ok {
					if statusValidator, _, err = validation.NewSchemaValidator(&statusProps); err != nil {
						return nil, err
					}
				}
			}
		}
		if sub.Scale != nil {
			scale = &apiextensions.CustomResourceSubresourceScale{}
			if err := apiextensionsv1.Convert_v1_CustomResourceSubresourceScale_To_apiextensions_CustomResourceSubresourceScale(sub.Scale, scale, nil); err != nil {
				return nil, err
			}
		}
	}
	gvk := d.kind.WithVersion(v.Name)
	strategy := customresource.NewStrategy(crdserverscheme.NewUnstructuredObjectTyper(), d.CRD.Spec.Scope == apiextensionsv1.NamespaceScoped,
		gvk, validator, statusValidator, d.schemas[v.Name], status, scale, v.SelectableFields)
	return &version{
		gvk:      gvk,
		warnings: deprecation(d.CRD, v),
		served:   v.Served,
		strategy: strategy,
		update:   strategy,
		status:   customresource.NewStatusStrategy(strategy),

		hasStatus: status != nil,
	}, nil
}
