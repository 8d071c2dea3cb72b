package kubeserver

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// IsCause reports whether violations of a type are causes in the details of the API server's Status.
func IsCause(kind string) bool { return !violation.IsReason(field.ErrorType(kind)) }

// WarningTexts returns the texts of the Warning headers of an answer.
func WarningTexts(list []engine.Warning) []string {
	if len(list) == 0 {
		return nil
	}
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = list[i].Text
	}
	return texts
}
