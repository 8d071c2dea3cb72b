package convert

import (
	"context"
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Converter calls a CRD's webhook. It returns one object as JSON for each object it is given.
type Converter func(ctx context.Context, crd string, webhook *apiextensionsv1.WebhookConversion, desired string,
	objects [][]byte) ([][]byte, error)

// Request is one object to convert by a webhook. Its version is not To.
type Request struct {
	CRD     string
	Webhook *apiextensionsv1.WebhookConversion
	// From and Kind are the type of the object, To is the requested apiVersion.
	From schema.GroupVersion
	Kind string
	To   string
	// Object is the object as JSON.
	Object []byte
}

// Unavailable is the error of a webhook that could not be called or did not answer.
type Unavailable struct{ cause error }

// Error returns the reason.
func (u *Unavailable) Error() string { return u.cause.Error() }

// Unwrap returns the cause.
func (u *Unavailable) Unwrap() error { return u.cause }

// Webhook converts an object and checks the reply: it must be one object of the requested version and the same kind,
// name, namespace and uid. Of its metadata only labels and annotations are used. The error is an *Unavailable, or has
// the text of an API server's answer.
func Webhook(ctx context.Context, by Converter, r Request) ([]byte, error) {
	what := r.From.WithKind(r.Kind)
	original, err := decode(r.Object)
	if err != nil {
		return nil, err
	}
	if isBare(original) {
		original.SetAPIVersion(r.To)
		return utiljson.Marshal(original.Object)
	}
	if by == nil {
		return nil, &Unavailable{fmt.Errorf("%s converts by a webhook, and no converter is configured: objects of %v cannot be converted to %s", r.CRD, what, r.To)}
	}
	replies, err := by(ctx, r.CRD, r.Webhook, r.To, [][]byte{r.Object})
	if err != nil {
		return nil, &Unavailable{fmt.Errorf("conversion webhook for %v failed: %w", what, err)}
	}
	if len(replies) != 1 {
		return nil, fmt.Errorf("conversion webhook for %v returned %d objects, expected 1", what, len(replies))
	}
	converted, err := decode(replies[0])
	if err != nil {
		return nil, err
	}
	got := converted.GroupVersionKind()
	switch {
	case got.GroupVersion().String() != r.To:
		return nil, fmt.Errorf("conversion webhook for %v returned invalid object at index 0: invalid groupVersion (expected %v, received %v)", what, r.To, got.GroupVersion())
	case got.Kind != r.Kind:
		return nil, fmt.Errorf("conversion webhook for %v returned invalid object at index 0: invalid kind (expected %v, received %v)", what, r.Kind, got.Kind)
	}
	if err := sameIdentity(original, converted); err != nil {
		return nil, fmt.Errorf("conversion webhook for %v returned invalid object: %w", what, err)
	}
	if err := restoreMetadata(original, converted); err != nil {
		return nil, fmt.Errorf("conversion webhook for %v returned invalid metadata: %w", what, err)
	}
	return utiljson.Marshal(converted.Object)
}

func decode(text []byte) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	return u, nil
}

// isBare reports whether an object has only apiVersion and kind. Upstream does not send those to webhooks.
func isBare(u *unstructured.Unstructured) bool {
	_, version := u.Object["apiVersion"]
	_, kind := u.Object["kind"]
	return len(u.Object) == 2 && version && kind
}

func sameIdentity(in, out *unstructured.Unstructured) error {
	for _, f := range []struct{ what, in, out string }{
		{"kind", in.GetKind(), out.GetKind()},
		{"name", in.GetName(), out.GetName()},
		{"namespace", in.GetNamespace(), out.GetNamespace()},
		{"UID", string(in.GetUID()), string(out.GetUID())},
	} {
		if f.in != f.out {
			return fmt.Errorf("must have the same %s: %v != %v", f.what, f.in, f.out)
		}
	}
	return nil
}

// restoreMetadata restores the original's metadata except for labels and annotations.
func restoreMetadata(original, converted *unstructured.Unstructured) error {
	reply, found := converted.Object["metadata"]
	if !found {
		return errors.New("missing metadata in converted object")
	}
	theirs, ok := reply.(map[string]any)
	if !ok {
		return fmt.Errorf("invalid metadata of type %T in converted object", reply)
	}
	own, found := original.Object["metadata"]
	ours, ok := own.(map[string]any)
	switch {
	case !found:
		ours = map[string]any{}
	case !ok:
		return fmt.Errorf("invalid metadata of type %T in input object", own)
	}
	for _, name := range []string{"labels", "annotations"} {
		if err := restoreField(ours, theirs, name); err != nil {
			return err
		}
	}
	converted.Object["metadata"] = ours
	return nil
}
