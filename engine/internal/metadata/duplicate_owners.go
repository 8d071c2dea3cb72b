package metadata

import (
	"fmt"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The warnings about repeated owner references, in a request and after mutating admission.
const (
	duplicateOwners = ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, " +
		"and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: %v"
	duplicateOwnersLate = ".metadata.ownerReferences contains duplicate entries after mutating admission happens; API server dedups owner " +
		"references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: %v"
)

// DedupOwners returns the owner references without repeated ones, and the API server's warning, or "". late means after
// mutating admission. API servers do this for every object, including CRDs.
//
// Upstream: endpoints/handlers/rest.go, dedupOwnerReferencesAndAddWarning.
func DedupOwners(owners []metav1.OwnerReference, late bool) (distinct []metav1.OwnerReference, warning string) {
	var dropped []string
	for _, o := range owners {
		if slices.ContainsFunc(distinct, func(d metav1.OwnerReference) bool { return apiequality.Semantic.DeepEqual(d, o) }) {
			dropped = append(dropped, string(o.UID))
		} else {
			distinct = append(distinct, o)
		}
	}
	if len(dropped) == 0 {
		return owners, ""
	}
	format := duplicateOwners
	if late {
		format = duplicateOwnersLate
	}
	return distinct, fmt.Sprintf(format, strings.Join(dropped, ", "))
}
