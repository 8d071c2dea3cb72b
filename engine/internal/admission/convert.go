package admission

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/value"
)

// Converter calls a CRD's webhook. It returns one object as JSON for each object it is given.
type Converter func(ctx context.Context, crd string, webhook *apiextensionsv1.WebhookConversion, desired string,
	objects [][]byte) ([][]byte, error)

// CountError says that a webhook returned another number of objects than it was given.
type CountError struct{ Got, Want int }

// Error returns the text of an API server without its start.
func (e *CountError) Error() string {
	return fmt.Sprintf("returned %d objects, expected %d", e.Got, e.Want)
}

// convert converts the object to a version and coerces it to that version's schema. It does not default, and it rejects
// malformed metadata.
//
// Upstream: customresource_handler.go, schemaCoercingConverter.
func (p *pass) convert(target string) error {
	to := p.def.Find(target)
	switch {
	case p.of.Group != p.def.Group:
		return &Fault{Code: VersionNotFound, Text: fmt.Sprintf(
			"%v is unstructured and is not suitable for converting to %q", p.of.String(), p.def.Group+"/"+target)}
	case to == nil:
		return &Fault{Code: VersionNotFound, Text: fmt.Sprintf(
			"request to convert CR to an invalid group/version: %s/%s", p.def.Group, target)}
	case p.def.Find(p.of.Version) == nil:
		return &Fault{Code: VersionNotFound, Text: "request to convert CR from an invalid group/version: " +
			p.of.GroupVersion().String()}
	}
	if to.Name != p.of.Version || p.def.unreviewed() {
		if err := p.rewrite(to); err != nil {
			return err
		}
	}
	p.of.Version = to.Name
	if p.own = nil; p.matches {
		p.own = to
	}
	changes := p.r.WantChanges
	p.r.WantChanges = changes && p.r.Target != ""
	_, cause, err := p.shape(metadata.Options{}, false)
	p.r.WantChanges = changes
	switch {
	case err != nil:
		return err
	case cause != nil:
		return rejected(statusless(cause.Error()))
	}
	return nil
}

// renames reports whether a conversion changes only apiVersion.
func (d *Definition) renames() bool {
	return d.Conversion == nil || d.Conversion.Strategy != apiextensionsv1.WebhookConverter
}

// unreviewed reports whether the CRD's webhook knows no version of ConversionReview that API servers send. Then every
// conversion fails, even that of an object that has the target version. Updates of such CRDs are ratcheted.
func (d *Definition) unreviewed() bool {
	return !d.renames() && !slices.ContainsFunc(d.Conversion.Webhook.ConversionReviewVersions, func(v string) bool {
		return v == apiextensionsv1.SchemeGroupVersion.Version || v == apiextensionsv1beta1.SchemeGroupVersion.Version
	})
}

// equal reports whether an object of one version is converted to the other by changing apiVersion alone, or not at all.
func (d *Definition) equal(from, to *Version) bool {
	return d.renames() || from == to && !d.unreviewed()
}

// sentMetadata edits the metadata of an object on its way between the strategy and the storage as API servers do before
// they convert it: storage has no resourceVersion, and an object that is created has a uid and a time.
//
// Upstream: storage/api_object_versioner.go, PrepareObjectForStorage; registry/rest/meta.go, FillObjectMetaSystemFields.
func (p *pass) sentMetadata(metadata map[string]any) {
	if !p.storing {
		return
	}
	delete(metadata, "resourceVersion")
	delete(metadata, "selfLink")
	if p.creating {
		metadata["uid"] = uidOfCreation
		metadata["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	}
}

// uidOfCreation is the uid of objects that are created, in requests to webhooks.
const uidOfCreation = "00000000-0000-4000-8000-000000000000"

// rewrite changes apiVersion, or calls the CRD's webhook.
func (p *pass) rewrite(to *Version) error {
	if p.def.renames() {
		p.put(p.root, "apiVersion", p.plainText(to.APIVersion))
		return nil
	}
	if p.def.Declared && !p.def.unreviewed() {
		return p.convertByRules(to)
	}
	limits := p.r.Limits.WithDefaults()
	reply, metadata, err := p.def.convertByWebhook(p.ctx, p.of, to.APIVersion, p.d.AppendDecoded(nil, p.root),
		limits.MaxBytes, p.sentMetadata)
	root := uint32(0)
	if err == nil {
		root, err = p.d.Parse(reply, value.Arena, value.Limits{MaxBytes: max(len(reply), 1), MaxDepth: limits.MaxDepth})
	}
	switch {
	case errors.As(err, new(*value.LimitError)):
		return about(exceeded(err), "converted object: ")
	case errors.As(err, new(*Fault)):
		return err
	case err != nil:
		return rejected(statusless(err.Error()))
	}
	p.d.Replace(p.root, root)
	p.d.MarkDirty(p.root)
	if metadata != nil {
		p.put(p.root, "metadata", p.parsed(metadata))
	}
	return nil
}

// head returns an object with the apiVersion, kind and metadata of an object, which are all that convertByWebhook checks:
// a decoded object can take twenty times the memory of its JSON. It returns what is not an object as it is.
func head(object []byte) []byte {
	d := value.Acquire() // not released by defer: after a panic it must not return to the pool
	root, err := d.ParseJSON(object, value.Limits{MaxBytes: max(len(object), 1)})
	if err != nil || d.Nodes[root].Kind != value.Object {
		d.Release()
		return object
	}
	text := []byte{'{'}
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		if field := d.Field(root, name); field != 0 {
			if len(text) > 1 {
				text = append(text, ',')
			}
			text = append(append(append(text, '"'), name...), `":`...)
			text = d.AppendDecoded(text, field)
		}
	}
	d.Release()
	return append(text, '}')
}

// convertByWebhook converts an object of another version to an apiVersion and checks the reply: it must be one object
// of at most maxBytes, of the requested version and the same kind, name, namespace and uid. metadata replaces that of
// the reply, unless it is nil: it is the object's, with the labels and annotations of the reply. edit changes the
// metadata that is sent. The error is a Fault with ConversionUnavailable or Deadline, a LimitError, or has the text of an
// API server's answer.
//
// Upstream: apiextensions-apiserver pkg/apiserver/conversion.
func (d *Definition) convertByWebhook(ctx context.Context, of schema.GroupVersionKind, to string,
	object []byte, maxBytes int, edit func(metadata map[string]any)) (reply, metadata []byte, err error) {
	unavailable := func(err error) error {
		return &Fault{Code: ConversionUnavailable, Text: err.Error(), Cause: err}
	}
	object, original, sent, err := request(object, to, edit)
	switch {
	case err != nil || sent == nil:
		return object, nil, err
	case d.unreviewed():
		return nil, nil, errors.New("no supported conversion review versions")
	case d.Converter == nil:
		return nil, nil, unavailable(fmt.Errorf("%s converts by a webhook, and no converter is configured: "+
			"objects of %v cannot be converted to %s", d.Name, of, to))
	}
	replies, err := d.Converter(ctx, d.Name, d.Conversion.Webhook, to, [][]byte{object})
	var count *CountError
	if err == nil && len(replies) != 1 {
		err = &CountError{Got: len(replies), Want: 1}
	}
	switch {
	case errors.As(err, &count):
		return nil, nil, fmt.Errorf("conversion webhook for %v %w", of, count)
	case err != nil && ctx.Err() != nil:
		return nil, nil, expired(ctx)
	case err != nil:
		return nil, nil, unavailable(fmt.Errorf("conversion webhook for %v failed: %w", of, err))
	case len(replies[0]) > maxBytes:
		return nil, nil, &value.LimitError{
			Name: "max_document_bytes", Limit: "document size", Unit: "bytes", Maximum: int64(maxBytes), Actual: int64(len(replies[0])),
			Advice: "return a smaller object from the webhook, or raise the size limit",
		}
	}
	var converted unstructured.Unstructured
	if err := converted.UnmarshalJSON(head(replies[0])); err != nil {
		return nil, nil, cmp.Or(converted.UnmarshalJSON(replies[0]), err) // the text contains the whole object
	}
	switch got := converted.GroupVersionKind(); {
	case got.GroupVersion().String() != to:
		err = fmt.Errorf("object at index 0: invalid groupVersion (expected %v, received %v)", to, got.GroupVersion())
	case got.Kind != of.Kind:
		err = fmt.Errorf("object at index 0: invalid kind (expected %v, received %v)", of.Kind, got.Kind)
	default:
		if err = sameIdentity(sent, &converted); err == nil {
			err = restoreMetadata(original, &converted)
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("conversion webhook for %v returned invalid %w", of, err)
	}
	metadata, err = utiljson.Marshal(converted.Object["metadata"])
	return replies[0], metadata, err
}

// request returns what is sent to a webhook for an object, and the metadata of the object and of what is sent. sent is
// nil for an object with only apiVersion and kind. Webhooks are not called for those.
func request(object []byte, to string, edit func(metadata map[string]any)) (
	text []byte, original, sent *unstructured.Unstructured, err error,
) {
	var u unstructured.Unstructured
	if err := u.UnmarshalJSON(object); err != nil {
		return nil, nil, nil, err
	}
	_, version := u.Object["apiVersion"]
	_, kind := u.Object["kind"]
	if version && kind && len(u.Object) == 2 {
		u.SetAPIVersion(to)
		text, err = utiljson.Marshal(u.Object)
		return text, nil, nil, err
	}
	original, sent = &unstructured.Unstructured{}, &unstructured.Unstructured{}
	original.Object, sent.Object = map[string]any{}, map[string]any{}
	if metadata, found := u.Object["metadata"]; found {
		original.Object["metadata"], sent.Object["metadata"] = metadata, metadata
		if metadata, ok := metadata.(map[string]any); ok {
			metadata = maps.Clone(metadata)
			edit(metadata)
			sent.Object["metadata"], u.Object["metadata"] = metadata, metadata
		}
	}
	text, err = utiljson.Marshal(u.Object) // prints 1.0 as 1, like an API server
	return text, original, sent, err
}

func sameIdentity(in, out *unstructured.Unstructured) error {
	for _, f := range []struct{ what, in, out string }{
		{"name", in.GetName(), out.GetName()},
		{"namespace", in.GetNamespace(), out.GetNamespace()},
		{"UID", string(in.GetUID()), string(out.GetUID())},
	} {
		if f.in != f.out {
			return fmt.Errorf("object: must have the same %s: %v != %v", f.what, f.in, f.out)
		}
	}
	return nil
}

// restoreMetadata restores the original's metadata except for labels and annotations.
func restoreMetadata(original, converted *unstructured.Unstructured) error {
	reply, found := converted.Object["metadata"]
	if !found {
		return errors.New("metadata: missing metadata in converted object")
	}
	theirs, ok := reply.(map[string]any)
	if !ok {
		return fmt.Errorf("metadata: invalid metadata of type %T in converted object", reply)
	}
	own, found := original.Object["metadata"]
	ours, ok := own.(map[string]any)
	switch {
	case !found:
		ours = map[string]any{}
	case !ok:
		return fmt.Errorf("metadata: invalid metadata of type %T in input object", own)
	}
	for _, name := range []string{"labels", "annotations"} {
		if err := restoreField(ours, theirs, name); err != nil {
			return fmt.Errorf("metadata: %w", err)
		}
	}
	converted.Object["metadata"] = ours
	return nil
}

// restoreField takes labels or annotations from a reply. They are validated only if they changed.
func restoreField(ours, theirs map[string]any, name string) error {
	reply := theirs[name]
	if reply == nil {
		delete(ours, name)
		return nil
	}
	after, ok := reply.(map[string]any)
	if !ok {
		return fmt.Errorf("invalid metadata.%s of type %T in converted object", name, reply)
	}
	before, ok := ours[name].(map[string]any)
	if !ok && ours[name] != nil {
		return fmt.Errorf("invalid metadata.%s of type %T in original object", name, ours[name])
	}
	changed := len(before) != len(after)
	texts := make(map[string]string, len(after))
	for _, k := range slices.Sorted(maps.Keys(after)) {
		v := after[k]
		text, ok := v.(string)
		if !ok {
			return fmt.Errorf("metadata.%s[%s] must be a string, but is %T in converted object", name, k, v)
		}
		texts[k] = text
		changed = changed || before[k] != v
	}
	if changed {
		errs := metav1validation.ValidateLabels
		at := field.NewPath("metadata", "labels")
		if name == "annotations" {
			errs, at = validation.ValidateAnnotations, field.NewPath("metadata", "annotation")
		}
		if found := errs(texts, at); len(found) > 0 {
			return found.ToAggregate()
		}
	}
	ours[name] = after
	return nil
}
