package kubeserver

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/violation"
)

// IsCause reports whether violations of a type are causes in the details of the API server's Status.
func IsCause(kind string) bool { return !violation.IsReason(field.ErrorType(kind)) }
