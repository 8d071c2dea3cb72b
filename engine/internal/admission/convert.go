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

	"github.com/crdeval/crdeval/engine/conversionwebhook"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Converter calls a CRD's webhook. It returns one object as JSON for each object it is given.
type Converter func(ctx context.Context, crd string, webhook *apiextensionsv1.WebhookConversion, desired string,
	objects [][]byte) ([][]byte, error)

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
	if p.matches() {
		p.own = to
	}
	changes := p.r.WantChanges && p.r.Target != ""
	_, failed, err := p.shape(shaping{changes: changes, nulls: changes})
	if err != nil || failed == nil {
		return err
	}
	return p.rejected(statusless(failed.Error()), failed.reasons...)
}

// ConvertItem converts an object to a version by the webhook or the rules of the CRD, without coercing it. of is the type
// that the object declares, of the group of the CRD. The error is a *Fault.
//
// Upstream: apiserver pkg/endpoints/handlers/response.go, asTable.
func (d *Definition) ConvertItem(
	ctx context.Context, limits tree.Limits, of schema.GroupVersionKind, to *Version, object []byte,
) (converted []byte, err error) {
	_, err = d.run(ctx, &Request{Body: object, Limits: limits}, func(p *pass) error {
		if err := p.parse(); err != nil {
			return exceeded(err)
		}
		p.of = of
		if to.Name != of.Version || d.unreviewed() {
			if err := p.rewrite(to); err != nil {
				return err
			}
		}
		converted = p.printed()
		return nil
	})
	return converted, err
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
	err := p.convertByWebhook(to.APIVersion)
	switch {
	case errors.As(err, new(*tree.LimitError)):
		return about(exceeded(err), "converted object: ")
	case err == nil, errors.As(err, new(*Fault)):
		return err
	}
	return p.rejected(statusless(err.Error()))
}

// head decodes the apiVersion, kind and metadata of an object, which are all that convertByWebhook needs: a decoded object
// can take twenty times the memory of its JSON. text is the JSON of the object, for errors. A nil text is the tree.
func (p *pass) head(object uint32, text []byte) (*unstructured.Unstructured, error) {
	part := []byte{'{'}
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		if field := p.d.Field(object, name); field != 0 {
			if len(part) > 1 {
				part = append(part, ',')
			}
			part = append(append(append(part, '"'), name...), `":`...)
			part = p.d.AppendDecoded(part, field)
		}
	}
	u := &unstructured.Unstructured{}
	err := u.UnmarshalJSON(append(part, '}'))
	if err != nil {
		if text == nil {
			text = p.d.AppendDecoded(nil, object)
		}
		err = cmp.Or(u.UnmarshalJSON(text), err) // with the whole object in the text
	}
	return u, err
}

// convertByWebhook converts the tree to an apiVersion and checks the reply: it must be one object of at most the limit
// of bytes, of the requested version and the same kind, name, namespace and uid. It gets the metadata of the tree, with
// the labels and annotations of the reply. The error is a Fault with ConversionFailed, ConversionUnavailable or
// Deadline, a LimitError, or has the text of an API server's answer. After an error the tree is unusable.
//
// Upstream: apiextensions-apiserver pkg/apiserver/conversion.
func (p *pass) convertByWebhook(to string) error {
	original, err := p.head(p.root, nil)
	if err != nil {
		return err
	}
	if p.d.Nodes[p.root].Live == 2 && p.d.Field(p.root, "apiVersion") != 0 && p.d.Field(p.root, "kind") != 0 {
		p.put(p.root, "apiVersion", p.plainText(to)) // webhooks are not called for such objects
		return nil
	}
	if p.def.unreviewed() {
		return errors.New("no supported conversion review versions")
	}
	sent := original
	if metadata, ok := original.Object["metadata"].(map[string]any); ok && p.storing {
		metadata = maps.Clone(metadata)
		p.sentMetadata(metadata)
		sent = &unstructured.Unstructured{Object: map[string]any{"metadata": metadata}}
		text, err := utiljson.Marshal(metadata)
		if err != nil {
			return err
		}
		p.put(p.root, "metadata", p.parsed(text))
	}
	reply, err := p.callWebhook(to, p.d.AppendJSON(nil, p.root))
	if err != nil {
		return err
	}
	limits := p.r.Limits.WithDefaults()
	root, err := p.d.Parse(reply, tree.Arena, tree.Limits{MaxBytes: max(len(reply), 1), MaxDepth: limits.MaxDepth})
	if err != nil {
		if !errors.As(err, new(*tree.LimitError)) && !errors.Is(err, tree.ErrStopped) {
			err = cmp.Or(new(unstructured.Unstructured).UnmarshalJSON(reply), err)
		}
		return err
	}
	converted, err := p.head(root, reply)
	if err != nil {
		return err
	}
	switch got := converted.GroupVersionKind(); {
	case got.GroupVersion().String() != to:
		err = fmt.Errorf("object at index 0: invalid groupVersion (expected %v, received %v)", to, got.GroupVersion())
	case got.Kind != p.of.Kind:
		err = fmt.Errorf("object at index 0: invalid kind (expected %v, received %v)", p.of.Kind, got.Kind)
	default:
		if err = sameIdentity(sent, converted); err == nil {
			err = restoreMetadata(original, converted)
		}
	}
	if err != nil {
		return fmt.Errorf("conversion webhook for %v returned invalid %w", p.of, err)
	}
	metadata, err := utiljson.Marshal(converted.Object["metadata"])
	if err != nil {
		return err
	}
	p.d.Replace(p.root, root)
	p.put(p.root, "metadata", p.parsed(metadata))
	return nil
}

// callWebhook sends an object to the webhook and returns the converted one. Errors are those of convertByWebhook.
func (p *pass) callWebhook(to string, object []byte) ([]byte, error) {
	if p.def.Converter == nil {
		return nil, p.def.unconverted(ConversionUnavailable, p.of.Version, to, fmt.Errorf("%s converts by a webhook, "+
			"and no converter is configured: objects of %v cannot be converted to %s", p.def.Name, p.of, to))
	}
	replies, err := p.def.Converter(p.ctx, p.def.Name, p.def.Conversion.Webhook, to, [][]byte{object})
	var count *conversionwebhook.CountError
	if err == nil && len(replies) != 1 {
		err = &conversionwebhook.CountError{Got: len(replies), Want: 1}
	}
	switch {
	case errors.As(err, &count):
		return nil, fmt.Errorf("conversion webhook for %v %w", p.of, count)
	case err != nil && p.ctx.Err() != nil:
		return nil, expired(p.ctx)
	case errors.Is(err, conversionwebhook.ErrFailed):
		return nil, p.def.unconverted(ConversionFailed, p.of.Version, to, fmt.Errorf("%s%w", webhookFailed(p.of), err))
	case err != nil:
		return nil, p.def.unconverted(ConversionUnavailable, p.of.Version, to, fmt.Errorf("%s%w", webhookFailed(p.of), err))
	}
	if limit := p.r.Limits.WithDefaults().MaxBytes; len(replies[0]) > limit {
		return nil, &tree.LimitError{
			Name: "max_document_bytes", Limit: "document size", Unit: "bytes", Maximum: int64(limit), Actual: int64(len(replies[0])),
			Advice: "return a smaller object from the webhook, or raise the size limit",
		}
	}
	return replies[0], nil
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
