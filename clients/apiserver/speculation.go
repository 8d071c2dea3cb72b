package apiserver

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crdeval/crdeval/engine"
)

// speculation is the validation of a write in the call of the evaluator that decodes its body. The strategy uses it if
// neither admission nor another writer has changed an object since, and calls the evaluator again otherwise.
type speculation struct {
	decoded        []byte // the object that is valid
	subresource    string
	oldVersion     string // the resourceVersion of the old object, "" for a creation
	warnings       []string
	readsAsWritten bool
}

// speculate returns the write of a request with this body. It returns nil if the old object or the target of the request
// are unknown.
func (d bodyDecoder) speculate(body engine.Document) (*speculation, engine.ObjectWrite) {
	info, ok := genericapirequest.RequestInfoFrom(d.ctx)
	if !ok || d.store == nil {
		return nil, nil
	}
	switch info.Verb {
	case "create":
		return &speculation{}, engine.Create{Version: d.kind.Version, Object: body, Namespace: info.Namespace}
	case "update", "patch":
		old := d.store.cachedObject(d.ctx, info.Namespace, info.Name)
		if old == nil {
			return nil, nil
		}
		text, err := marshal(withoutManagedFields(old))
		if err != nil {
			return nil, nil
		}
		return &speculation{subresource: info.Subresource, oldVersion: old.GetResourceVersion()}, engine.Update{
			Version: d.kind.Version, Object: body, Old: engine.JSON(text), OldDecoded: true, Subresource: info.Subresource,
			Namespace: info.Namespace, Name: info.Name,
		}
	}
	return nil, nil
}

// cachedObject returns an object of the watch cache, which may be outdated and must not be changed. It returns nil for
// an object that is not in the cache.
func (s *objectStore) cachedObject(ctx context.Context, namespace, name string) *unstructured.Unstructured {
	lazy, ok := s.Storage.Storage.(*lazyCache)
	if !ok {
		return nil
	}
	key, err := s.KeyFunc(genericapirequest.WithNamespace(ctx, namespace), name)
	if err != nil {
		return nil
	}
	return lazy.object(ctx, key)
}

// Fields of metadata that a server sets or checks between decoding a body and the strategy.
var (
	setOnUpdate = []string{"namespace", "generation", "managedFields"}
	setOnCreate = slices.Concat(setOnUpdate, removedOnCreate, []string{"uid", "creationTimestamp"})
	// removedOnCreate are absent before admission.
	removedOnCreate = []string{"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"}
)

// appliesTo reports whether the speculation is about the write of an object, before it is prepared. old is nil for a
// creation.
func (s *speculation) appliesTo(subresource string, u, old *unstructured.Unstructured) bool {
	if s == nil || s.subresource != subresource || (old == nil) != (s.oldVersion == "") {
		return false
	}
	ignored := setOnCreate
	if old != nil {
		if ignored = setOnUpdate; s.oldVersion != old.GetResourceVersion() {
			return false
		}
	}
	metadata, ok := u.Object["metadata"].(map[string]any)
	return ok && isSetByServer(metadata, old == nil) && isUnchanged(s.decoded, u, ignored)
}

// isSetByServer reports whether the ignored fields of metadata have values as a server sets and stores them. Admission
// can set others.
func isSetByServer(metadata map[string]any, creation bool) bool {
	if namespace, ok := metadata["namespace"]; ok {
		if _, ok := namespace.(string); !ok {
			return false
		}
	}
	if creation && slices.ContainsFunc(removedOnCreate, func(name string) bool {
		_, ok := metadata[name]
		return ok
	}) {
		return false
	}
	managed, ok := metadata["managedFields"]
	if !ok {
		return true
	}
	entries, ok := managed.([]any)
	return ok && len(entries) > 0 && !slices.ContainsFunc(entries, func(e any) bool { return !isManagedFieldsEntry(e) })
}

// isManagedFieldsEntry reports whether a value is a metav1.ManagedFieldsEntry as it is stored.
func isManagedFieldsEntry(value any) bool {
	entry, ok := value.(map[string]any)
	for name, v := range entry {
		text, isText := v.(string)
		switch name {
		case "fieldsV1":
			_, ok = v.(map[string]any)
		case "time":
			const layout = "2006-01-02T15:04:05Z"
			_, err := time.Parse(layout, text)
			ok = err == nil && len(text) == len(layout) // without a fraction of a second
		case "manager", "operation", "apiVersion", "fieldsType", "subresource":
			ok = isText && text != ""
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return ok
}
