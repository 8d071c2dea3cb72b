package oracle

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
)

// witness is the admission of the oracle's server: it changes nothing, and keeps what a mutating webhook would be sent.
type witness struct{}

// witnessed is what it saw of a request.
type witnessed struct{ object, old json.RawMessage }

type witnessKey struct{}

// Handles implements admission.Interface.
func (witness) Handles(operation admission.Operation) bool {
	return operation == admission.Create || operation == admission.Update
}

// Admit implements admission.MutationInterface.
func (witness) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	seen := ctx.Value(witnessKey{}).(*witnessed)
	seen.object, seen.old = printed(a.GetObject()), printed(a.GetOldObject())
	return nil
}

func printed(o runtime.Object) json.RawMessage {
	if o == nil {
		return nil
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil
	}
	return text
}
