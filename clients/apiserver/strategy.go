package apiserver

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/kubeserver"
)

// strategy finishes the writes to an endpoint: crdeval prepares and validates the object in one call. The verdict is in the outcome of the context, because a strategy can return only field errors.
type strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
	definition  Definition
	version     string
	subresource string // "" or status
	namespaced  bool
	hasStatus   bool // the version has the subresource status
	reset       map[fieldpath.APIVersion]*fieldpath.Set
	written     *writtenObjects
}

// outcome is the result of the last evaluation of a request. An update that meets a conflict is evaluated again.
type outcome struct {
	err         error
	warnings    []string
	unevaluated error        // why the evaluator could not decode the body or set defaults, nil if it could
	speculation *speculation // nil for none
}

type outcomeKey struct{}

// withOutcome returns a context for one request.
func withOutcome(ctx context.Context) context.Context {
	return context.WithValue(ctx, outcomeKey{}, &outcome{})
}

func outcomeOf(ctx context.Context) *outcome {
	if out, ok := ctx.Value(outcomeKey{}).(*outcome); ok {
		return out
	}
	return &outcome{err: apierrors.NewInternalError(errNoOutcome)}
}

func (s *strategy) NamespaceScoped() bool                         { return s.namespaced }
func (s *strategy) AllowCreateOnUpdate(context.Context) bool      { return false }
func (s *strategy) AllowUnconditionalUpdate(context.Context) bool { return false }
func (s *strategy) Canonicalize(runtime.Object)                   {}

func (s *strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set { return s.reset }

func (s *strategy) PrepareForCreate(ctx context.Context, obj runtime.Object) { s.finish(ctx, obj, nil) }

func (s *strategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	s.finish(ctx, obj, old)
}

func (s *strategy) Validate(ctx context.Context, _ runtime.Object) field.ErrorList {
	return s.fieldErrors(ctx)
}

func (s *strategy) ValidateUpdate(ctx context.Context, _, _ runtime.Object) field.ErrorList {
	return s.fieldErrors(ctx)
}

func (s *strategy) WarningsOnCreate(ctx context.Context, _ runtime.Object) []string {
	return outcomeOf(ctx).warnings
}

func (s *strategy) WarningsOnUpdate(ctx context.Context, _, _ runtime.Object) []string {
	return outcomeOf(ctx).warnings
}

// fieldErrors makes the store stop a rejected write. The caller of the store replaces the error by that of the outcome.
func (s *strategy) fieldErrors(ctx context.Context) field.ErrorList {
	if err := outcomeOf(ctx).err; err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return nil
}

// finish replaces obj by the object to store.
func (s *strategy) finish(ctx context.Context, obj, before runtime.Object) {
	out := outcomeOf(ctx)
	*out = outcome{unevaluated: out.unevaluated, err: out.unevaluated, speculation: out.speculation}
	if out.err != nil {
		return
	}
	u := obj.(*unstructured.Unstructured)
	old, _ := before.(*unstructured.Unstructured) // nil for a creation
	applies := out.speculation.appliesTo(s.subresource, u, old)
	s.prepare(u, old)
	if applies {
		out.warnings = out.speculation.warnings
		s.expectWrite(u, out.speculation.readsAsWritten)
		return
	}
	w, err := s.write(ctx, u, old)
	if err != nil {
		out.err = apierrors.NewInternalError(err)
		return
	}
	v, err := s.definition.Validate(ctx, w, kubeserver.WriteOptions{View: engine.ViewChanged, WithStatus: true})
	if err != nil {
		out.err = unevaluated(err)
		return
	}
	out.warnings = engine.KubernetesWarnings(v.Warnings)
	if out.err = rejected(v.Verdict); out.err != nil {
		return
	}
	if v.Object != nil {
		if err := unmarshal(v.Object, u); err != nil {
			out.err = apierrors.NewInternalError(err)
			return
		}
	}
	s.expectWrite(u, v.ReadsAsWritten)
}

// write returns the write of an object. old is nil for a creation.
func (s *strategy) write(ctx context.Context, u, old *unstructured.Unstructured) (engine.ObjectWrite, error) {
	text, err := marshal(u)
	if err != nil {
		return nil, err
	}
	namespace := genericapirequest.NamespaceValue(ctx)
	if old == nil {
		return engine.Create{Version: s.version, Object: engine.JSON(text), Namespace: namespace, Name: u.GetName()}, nil
	}
	before, err := marshal(withoutManagedFields(old))
	return engine.Update{
		Version: s.version, Object: engine.JSON(text), Old: engine.JSON(before), OldDecoded: true, Subresource: s.subresource,
		Namespace: namespace, Name: old.GetName(), // mutating admission can change that of the new object
	}, err
}

// expectWrite notes an object that will be stored, if it reads as it is written. It is then not decoded again.
func (s *strategy) expectWrite(u *unstructured.Unstructured, readsAsWritten bool) {
	if readsAsWritten {
		s.written.share(u)
		s.written.expect(u)
	}
}

// prepare sets the status and the generation, as the evaluator does before it validates. It then need not return the
// object.
//
// Upstream: registry/customresource/strategy.go and status_strategy.go, PrepareForCreate and PrepareForUpdate.
func (s *strategy) prepare(u, old *unstructured.Unstructured) {
	switch {
	case old == nil:
		if s.hasStatus {
			delete(u.Object, "status")
		}
		u.SetGeneration(1)
	case s.subresource == "status":
		status, ok := u.Object["status"]
		managed := u.GetManagedFields()
		u.Object = withoutManagedFields(old).Object
		setMember(u.Object, "status", status, ok)
		u.SetManagedFields(managed)
	default:
		if s.hasStatus {
			status, ok := old.Object["status"]
			setMember(u.Object, "status", status, ok)
		}
		generation := old.GetGeneration()
		if !sameContent(u.Object, old.Object) {
			generation++
		}
		u.SetGeneration(generation)
	}
}

// setMember sets a member of an object, or removes it.
func setMember(object map[string]any, name string, v any, set bool) {
	if set {
		object[name] = v
	} else {
		delete(object, name)
	}
}

// sameContent compares two objects without their metadata.
func sameContent(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for name, v := range a {
		other, ok := b[name]
		if name != "metadata" && (!ok || !equalValues(v, other)) {
			return false
		}
	}
	return true
}

// withoutManagedFields returns an object that shares all content except the managed fields. They do not matter in an
// old object, and are often longer than the rest.
func withoutManagedFields(u *unstructured.Unstructured) *unstructured.Unstructured {
	content := withOwnMetadata(u.Object)
	metadata, _ := content["metadata"].(map[string]any)
	delete(metadata, "managedFields")
	return &unstructured.Unstructured{Object: content}
}

var (
	_ rest.RESTCreateStrategy = &strategy{}
	_ rest.RESTUpdateStrategy = &strategy{}
	_ rest.RESTDeleteStrategy = &strategy{}
)
