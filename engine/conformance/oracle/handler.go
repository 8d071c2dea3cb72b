package oracle

import (
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/registry/rest"
)

// handle reproduces what createHandler does to metadata between decoding and the strategy: it checks the namespace and
// removes repeated owner references. It does not clear system fields, because here the caller sets them. Requests to
// the API server's own handlers clear them.
func (d *Definition) handle(obj *unstructured.Unstructured, r Request, headers *headers) error {
	namespace := r.Namespace
	if d.CRD.Spec.Scope != apiextensionsv1.NamespaceScoped {
		namespace = ""
	} else if namespace == "" {
		namespace = obj.GetNamespace() // as in a matching URL
	}
	if err := rest.EnsureObjectNamespaceMatchesRequestNamespace(namespace, obj); err != nil {
		return err
	}
	owners := obj.GetOwnerReferences()
	if kept := dedup(owners, headers); len(kept) < len(owners) {
		obj.SetOwnerReferences(kept)
	}
	return nil
}

// tracked returns the object as it is validated: the field manager has already rewritten its managed fields. (The
// rewritten entries are valid. Entries of the request remain only if they claim fields that the object does not have;
// such entries are not generated.)
func tracked(obj *unstructured.Unstructured, r Request) *unstructured.Unstructured {
	if r.Handler && len(obj.GetManagedFields()) > 0 {
		obj = obj.DeepCopy()
		obj.SetManagedFields(nil)
	}
	return obj
}

// dedup reproduces dedupOwnerReferencesAndAddWarning (endpoints/handlers/rest.go).
func dedup(owners []metav1.OwnerReference, headers *headers) (kept []metav1.OwnerReference) {
	var dropped []string
	for _, ref := range owners {
		known := false
		for _, k := range kept {
			known = known || apiequality.Semantic.DeepEqual(k, ref)
		}
		if known {
			dropped = append(dropped, string(ref.UID))
		} else {
			kept = append(kept, ref)
		}
	}
	if len(dropped) == 0 {
		return owners
	}
	headers.add(fmt.Sprintf(handlers.DuplicateOwnerReferencesWarningFormat, strings.Join(dropped, ", ")))
	return kept
}
