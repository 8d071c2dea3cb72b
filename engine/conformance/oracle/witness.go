package oracle

import (
	"context"
	"encoding/json"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apiserver/pkg/admission"
	kjson "sigs.k8s.io/json"
)

// witness is the admission chain of the oracle's server. It records what a mutating webhook would receive, and applies
// the mutation of the request.
type witness struct{}

// witnessed is the record of a request and its mutation.
type witnessed struct {
	object, old json.RawMessage
	mutated     json.RawMessage // the object after the mutation
	mutation    []byte
}

type witnessKey struct{}

// Handles implements admission.Interface.
func (witness) Handles(operation admission.Operation) bool {
	return operation == admission.Create || operation == admission.Update
}

// Admit implements admission.MutationInterface.
func (witness) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	seen := ctx.Value(witnessKey{}).(*witnessed)
	seen.object, seen.old = printed(a.GetObject()), printed(a.GetOldObject())
	seen.mutated = seen.object
	if seen.mutation == nil {
		return nil
	}
	// The patch is applied as in admission/plugin/webhook/mutating/dispatcher.go: to the printed object, which is then
	// defaulted again.
	mutated, err := jsonpatch.MergePatch(seen.object, seen.mutation)
	if err != nil {
		return err
	}
	seen.mutated = mutated
	switch object := a.GetObject().(type) {
	case *unstructured.Unstructured:
		var made unstructured.Unstructured
		decoder := jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, o.GetObjectCreater(), o.GetObjectTyper(), jsonserializer.SerializerOptions{})
		if _, _, err := decoder.Decode(mutated, nil, &made); err != nil {
			return apierrors.NewInternalError(err)
		}
		object.Object = made.Object
		o.GetObjectDefaulter().Default(object)
	case *autoscalingv1.Scale:
		var made autoscalingv1.Scale
		if err := kjson.UnmarshalCaseSensitivePreserveInts(mutated, &made); err != nil {
			return err
		}
		*object = made
	}
	return nil
}

// Mutate applies a merge patch to an object of stage DECODE as it is sent to a webhook.
func Mutate(object, patch []byte) ([]byte, error) {
	return jsonpatch.MergePatch(reprinted(object), patch)
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
