package main

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/convert"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/input"
)

// transformer returns objects at other versions.
type transformer interface {
	registrar
	// convert converts objects to a version, and validates the results there. A failed call is an error.
	convert(ctx context.Context, version string, objects []*workspace.Manifest) ([]transformed, error)
	// read returns objects as an API server reads them from its storage, at a version.
	read(ctx context.Context, version string, objects []*workspace.Manifest) ([]transformed, error)
	// storages returns the storage versions of registered CRDs.
	storages(ctx context.Context) ([]storedCRD, error)
	setStoredVersion(ctx context.Context, crd, version string) error
}

// transformed is an object at another version, or the reason why it was not converted.
type transformed struct {
	object   []byte             // JSON
	err      error              // why object is nil
	rejected bool               // err is the answer of an API server
	reasons  []engine.Violation // of the rejection
	pruned   []engine.FieldChange
	verdict  *engine.Verdict // on the object at the version; nil: not validated
}

// storedCRD is a registered CRD with its storage version.
type storedCRD struct {
	schema.GroupKind
	name, version, revision string
}

// errNoCRD is the error of an object whose kind has no CRD.
var errNoCRD = errors.New("there is no CRD of this kind")

// validAtTarget are the options for validating a converted object.
var validAtTarget = engine.ValidateOptions{CompleteMetadata: true, FieldValidation: engine.FieldValidationIgnore}

func (l *local) convert(ctx context.Context, version string, objects []*workspace.Manifest) ([]transformed, error) {
	return l.transform(ctx, objects, func(d *engine.Definition, m *workspace.Manifest) (t transformed) {
		done, err := d.Convert(ctx, m.Document, version, engine.TransformOptions{})
		if err != nil {
			return transformed{err: err}
		}
		t = transformed{object: done.Object, pruned: done.Pruned}
		if workspace.VersionOf(m.APIVersion) != version {
			// A version that is not served has no verdict.
			t.verdict, _ = d.Validate(ctx, engine.Create{Object: engine.JSON(done.Object)}, validAtTarget)
		}
		return t
	})
}

func (l *local) read(ctx context.Context, version string, objects []*workspace.Manifest) ([]transformed, error) {
	return l.transform(ctx, objects, func(d *engine.Definition, m *workspace.Manifest) transformed {
		done, err := d.Read(ctx, m.Document, engine.ReadOptions{TargetVersion: version})
		if err != nil {
			return transformed{err: err}
		}
		return transformed{object: done.Object}
	})
}

// transform calls a function with each object and its CRD.
func (l *local) transform(
	ctx context.Context, objects []*workspace.Manifest, f func(*engine.Definition, *workspace.Manifest) transformed,
) (all []transformed, _ error) {
	for t := range input.InOrder(objects, func(m *workspace.Manifest) transformed {
		crd := l.catalog.OfKind(workspace.GroupOf(m.APIVersion), m.Kind)
		if crd == nil {
			return transformed{err: errNoCRD}
		}
		t := f(crd.Definition, m)
		if t.err != nil {
			if e := (*engine.Error)(nil); errors.As(t.err, &e) {
				t.reasons = e.Violations
			}
			t.rejected, t.err = transformError(ctx, crd.Definition, t.err)
		}
		return t
	}) {
		all = append(all, t)
	}
	if ctx.Err() != nil {
		return nil, input.ErrInterrupted
	}
	return all, nil
}

// transformError returns the error of an object, and whether it is the answer of an API server.
func transformError(ctx context.Context, d *engine.Definition, err error) (rejected bool, _ error) {
	e := (*engine.Error)(nil)
	if !errors.As(err, &e) {
		return false, localError(ctx, err)
	}
	fails := e.Reason == engine.ReasonConversionFailed || e.Reason == engine.ReasonConversionUnavailable
	switch {
	case e.Rejection != nil:
		return true, errors.New(e.Rejection.Message)
	case fails && !convert.IsDeclared(d):
		const advice = "add valid conversion rules to --crds, or use --server"
		return false, fmt.Errorf("%s converts with a webhook: %s", d.Name(), advice)
	}
	return false, localError(ctx, err)
}

func (*local) storages(context.Context) ([]storedCRD, error) { return nil, nil }

func (*local) setStoredVersion(context.Context, string, string) error {
	return errors.New("stored versions can only be set with --server or in a cluster")
}
