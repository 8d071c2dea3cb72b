package metadata

import (
	"context"
	"math"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// ValidateCommon validates the metadata of a root object on update like that of any resource: the object, then the
// change. ValidateUpdate finds some errors again; upstream does not deduplicate them.
//
// Upstream: apiserver, registry/rest/update.go, validateCommonFields.
func ValidateCommon(m, old *metav1.ObjectMeta, namespaced bool) (whole, change field.ErrorList) {
	at := field.NewPath("metadata")
	whole = validation.ValidateObjectMetaAccessor(m, namespaced, pathSegment, at)
	inKeyOrder(whole, m, at)
	change = validation.ValidateObjectMetaAccessorUpdate(m, old, at)
	inKeyOrder(change, m, at)
	return whole, change
}

// ValidateUpdate validates the metadata of a root object on update as a custom resource's strategy does.
//
// Upstream: registry/customresource/validator.go, validateObjectMetaUpdateDeclaratively.
func ValidateUpdate(m, old *metav1.ObjectMeta, namespaced bool) field.ErrorList {
	at := field.NewPath("metadata")
	errs := validation.ValidateObjectMetaDeclaratively(context.Background(), operation.Update, m, old, namespaced, nil,
		at, true)
	inKeyOrder(errs, m, at)
	return errs
}

// PlainUpdate reports without allocating whether an update of old's metadata to this one is plainly valid, so that
// ValidateCommon and ValidateUpdate find no error in the prepared metadata. Prepared metadata has old's generation.
// It also has old's uid, time stamps and grace period where it has no values of its own. Both must be coerced.
func PlainUpdate(d *tree.Doc, meta, old uint32, r Rules) bool {
	if meta == 0 || old == 0 || d.Nodes[old].Kind != tree.Object || !Plain(d, meta, r) ||
		!sameMember(d, meta, old, "name") || !sameMember(d, meta, old, "namespace") {
		return false
	}
	for _, key := range [...]string{"uid", "deletionGracePeriodSeconds"} {
		if d.Field(meta, key) != 0 && !sameMember(d, meta, old, key) {
			return false
		}
	}
	for _, key := range [...]string{"creationTimestamp", "deletionTimestamp"} { // old's always stay
		if d.Field(meta, key) != 0 && d.Field(old, key) == 0 {
			return false
		}
	}
	c := d.Field(old, "generation") // it is incremented
	if d.Field(meta, "resourceVersion") == 0 || c == 0 || d.Int(c) < 0 || d.Int(c) == math.MaxInt64 {
		return false
	}
	// An object that is being deleted takes no new finalizers.
	return d.Field(old, "deletionTimestamp") == 0 || d.Field(meta, "finalizers") == 0 ||
		sameMember(d, meta, old, "finalizers")
}

// sameMember reports whether the fields of two objects are equal or both absent.
func sameMember(d *tree.Doc, a, b uint32, key string) bool {
	x, y := d.Field(a, key), d.Field(b, key)
	return x == 0 && y == 0 || x != 0 && y != 0 && tree.Equal(d, x, d, y)
}
