package bench

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// ours is the engine's internal pipeline, which can omit the validation of an object's own metadata.
type ours struct {
	definition *admission.Definition
	version    string
}

func newOurs(o *object) (*ours, error) {
	v, err := o.version()
	if err != nil {
		return nil, err
	}
	crd, err := stored(o)
	if err != nil {
		return nil, err
	}
	d := admission.Describe(crd, nil)
	if err := compileOurs(crd, d); err != nil {
		return nil, err
	}
	return &ours{definition: d, version: v.Name}, nil
}

// stored returns the CRD as the engine stores it.
func stored(o *object) (*apiextensionsv1.CustomResourceDefinition, error) {
	manifest, err := o.manifest()
	if err != nil {
		return nil, err
	}
	d, report, err := engine.Compile(context.Background(), engine.JSON(manifest), engine.Options{})
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, fmt.Errorf("bench: the engine rejects the definition of %s: %+v", o.name, report.Violations)
	}
	m, err := definition.Decode(d.Manifest())
	if err != nil {
		return nil, err
	}
	return m.CRD, nil
}

// compileOurs compiles the versions of a CRD, equal schemas once, as engine.Compile does after its checks.
func compileOurs(crd *apiextensionsv1.CustomResourceDefinition, d *admission.Definition) error {
	for i := range crd.Spec.Versions {
		s, version := schema.Of(&crd.Spec.Versions[i]), d.Versions[i]
		for j := range i {
			if other := d.Versions[j]; other.HasStatus == version.HasStatus && reflect.DeepEqual(schema.Of(&crd.Spec.Versions[j]), s) {
				version.Plan = other.Plan
				break
			}
		}
		if version.Plan != nil {
			continue
		}
		var err error
		if version.Plan, err = plan.Compile(s, plan.Options{
			PreserveUnknown: crd.Spec.PreserveUnknownFields, StatusSubresource: version.HasStatus, Rules: plan.RulesOfResource,
		}); err != nil {
			return err
		}
	}
	return nil
}

// structural is a create without the validation of the object's own metadata, up to the object's new bytes.
func (o *ours) structural(body []byte) ([]byte, error) {
	return o.accepted(&admission.Request{Version: o.version, Body: body, Handler: true, SkipMetadata: true, WantObject: true})
}

// create is the whole create.
func (o *ours) create(body []byte) (written, error) {
	return o.admit(&admission.Request{Version: o.version, Body: body, Handler: true, Whole: true, WantObject: true})
}

func (o *ours) admit(r *admission.Request) (written, error) {
	out, err := o.definition.Admit(context.Background(), r)
	switch {
	case err != nil:
		return written{}, err
	case out.Rejection != nil:
		return written{}, errors.New(out.Rejection.Message)
	case len(out.Strict) > 0:
		return written{}, fmt.Errorf("%d unknown fields", len(out.Strict))
	}
	return written{stored: out.Stored, answered: out.Object}, nil
}

func (o *ours) accepted(r *admission.Request) ([]byte, error) {
	out, err := o.definition.Write(context.Background(), r)
	switch {
	case err != nil:
		return nil, err
	case out.Rejection != nil:
		return nil, errors.New(out.Rejection.Message)
	case len(out.Strict) > 0:
		return nil, fmt.Errorf("%d unknown fields", len(out.Strict))
	}
	return out.Object, nil
}

// rejected is the whole create of an object with field errors: these and the response to a client.
func (o *ours) rejected(body []byte) ([]violation.Violation, *admission.Rejection, error) {
	out, err := o.definition.Write(context.Background(), &admission.Request{Version: o.version, Body: body, Handler: true})
	switch {
	case err != nil:
		return nil, nil, err
	case len(out.Violations) == 0:
		return nil, nil, fmt.Errorf("no field errors: %+v", out.Rejection)
	}
	return out.Violations, out.Rejection, nil
}
