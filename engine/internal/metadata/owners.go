package metadata

import (
	"fmt"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The warnings about what a client sent, and about what mutating admission made of it.
const (
	duplicateOwners = ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, " +
		"and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: %v"
	duplicateOwnersLate = ".metadata.ownerReferences contains duplicate entries after mutating admission happens; API server dedups owner " +
		"references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: %v"
)

// DedupOwners returns the owner references without those that repeat an earlier one, and the warning that the API server
// gives of them, "" if nothing is repeated. It does so to whatever is created, CRDs included.
//
// Upstream: endpoints/handlers/rest.go, dedupOwnerReferencesAndAddWarning.
func DedupOwners(owners []metav1.OwnerReference) (kept []metav1.OwnerReference, warning string) {
	return dedupOwners(owners, duplicateOwners)
}

// DedupOwnersLate is DedupOwners of what mutating admission made of an object: only the warning is another.
func DedupOwnersLate(owners []metav1.OwnerReference) (kept []metav1.OwnerReference, warning string) {
	return dedupOwners(owners, duplicateOwnersLate)
}

func dedupOwners(owners []metav1.OwnerReference, format string) (kept []metav1.OwnerReference, warning string) {
	var dropped []string
	for _, o := range owners {
		if slices.ContainsFunc(kept, func(k metav1.OwnerReference) bool { return apiequality.Semantic.DeepEqual(k, o) }) {
			dropped = append(dropped, string(o.UID))
		} else {
			kept = append(kept, o)
		}
	}
	if len(dropped) == 0 {
		return owners, ""
	}
	return kept, fmt.Sprintf(format, strings.Join(dropped, ", "))
}
