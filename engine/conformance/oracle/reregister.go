package oracle

import (
	"context"
	"encoding/json"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
)

// State is what a server knows of a stored CRD besides its spec and metadata.
type State struct {
	// Generation starts at 1.
	Generation int64
	// Status is set by the controllers. It includes the storage versions of the past.
	Status apiextensionsv1.CustomResourceDefinitionStatus
}

// Fresh is the state of a CRD after its creation and the first run of the controllers.
func (r *Registered) Fresh(established bool) State {
	status := r.Stored.Status
	status.AcceptedNames = r.Stored.Spec.Names
	status.Conditions = conditions(established)
	return State{Generation: 1, Status: status}
}

// Keep stores a CRD with a state, valid or not: an older server may have stored what today's validation rejects.
func (r *Registered) Keep(s State) (*Registered, error) {
	held := r.Stored.DeepCopy()
	held.Generation, held.Status = s.Generation, *s.Status.DeepCopy()
	identify(held)
	internal := &apiextensions.CustomResourceDefinition{}
	if err := scheme.Convert(held.DeepCopy(), internal, nil); err != nil {
		return nil, err
	}
	out, err := registered(internal)
	if err != nil {
		return nil, err
	}
	// Reading returns Stored, whatever conversion and defaulting change on the way.
	out.Internal = &apiextensions.CustomResourceDefinition{}
	return out, scheme.Convert(out.Stored.DeepCopy(), out.Internal, nil)
}

// kept is what an older server stored for a v1beta1 CRD, including all that only v1beta1 can express. Its names are
// accepted; it is not served yet.
func kept(crd *apiextensions.CustomResourceDefinition) *Registered {
	old := crd.DeepCopy()
	identify(old)
	old.Status.AcceptedNames = old.Spec.Names
	old.Status.Conditions = []apiextensions.CustomResourceDefinitionCondition{
		{Type: apiextensions.NamesAccepted, Status: apiextensions.ConditionTrue}, {Type: apiextensions.Established, Status: apiextensions.ConditionFalse},
	}
	return &Registered{Internal: old}
}

// identify sets the metadata that a server sets.
func identify(crd metav1.Object) {
	crd.SetUID("4f9c3f9c-0000-4000-8000-000000000000")
	crd.SetResourceVersion("7")
	crd.SetCreationTimestamp(metav1.Time{Time: time.Date(2020, 2, 2, 2, 2, 2, 0, time.UTC)})
}

// RegisterUpdate replaces a stored CRD by a manifest, like a PUT with the uid and resourceVersion of the stored CRD:
// decoding, defaults, conversion, rest.BeforeUpdate with the strategy's PrepareForUpdate and validation, warnings.
// manifest is v1 or v1beta1, in JSON, or in YAML if yaml is true. A manifest with another name creates another CRD.
//
// The first result is nil if the manifest cannot be decoded.
func RegisterUpdate(old *Registered, manifest []byte, yaml bool) (*Registered, Answer) {
	crd, headers, _, err := received(manifest, yaml)
	if err != nil {
		return nil, Answer{Rejection: rejectionOf(err), DecodeError: err.Error()}
	}
	if crd.Name != old.Internal.Name {
		return Register(manifest, yaml)
	}
	crd.SetUID(old.Internal.GetUID())
	crd.SetResourceVersion(old.Internal.GetResourceVersion())
	return old.update(crd, headers)
}

// update runs the strategy of an update.
func (r *Registered) update(crd *apiextensions.CustomResourceDefinition, headers *headers) (*Registered, Answer) {
	ctx := context.Background()
	old := r.Internal.DeepCopy()
	before(ctx, crdStrategy, crd, old)
	// As on creation, rejections include warnings.
	headers.addSorted(crdStrategy.WarningsOnUpdate(ctx, crd, old))
	return answered(crd, rest.ValidateUpdate(ctx, crd, old, crdStrategy), headers)
}

// UpdateStatus answers an update of the status of a stored CRD: the last step of a migration to another storage
// version.
func UpdateStatus(old *Registered, status apiextensionsv1.CustomResourceDefinitionStatus) (field.ErrorList, error) {
	next := old.Stored.DeepCopy()
	next.Status = *status.DeepCopy()
	crd := &apiextensions.CustomResourceDefinition{}
	if err := scheme.Convert(next, crd, nil); err != nil {
		return nil, err
	}
	ctx := context.Background()
	before(ctx, crdStatusStrategy, crd, old.Internal.DeepCopy())
	return rest.ValidateUpdate(ctx, crd, old.Internal.DeepCopy(), crdStatusStrategy), nil
}

// serverFields are the metadata fields that a server sets. A CRD has no namespace.
var serverFields = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields", "namespace", "resourceVersion", "selfLink", "uid",
}

// AsRead returns the canonical form of a CRD that was stored as doc. Reading changes little: a default of -0 becomes 0,
// and null items disappear.
func AsRead(doc []byte) (json.RawMessage, error) {
	crd, err := read(doc)
	if err != nil {
		return nil, err
	}
	return Canonical(crd)
}

// Canonical returns the JSON of a stored CRD without its status and without the fields that a server sets.
func Canonical(crd *apiextensionsv1.CustomResourceDefinition) (json.RawMessage, error) {
	doc, err := json.Marshal(crd)
	if err != nil {
		return nil, err
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(doc, &m); err != nil {
		return nil, err
	}
	delete(m, "status")
	var meta map[string]json.RawMessage
	if err := json.Unmarshal(m["metadata"], &meta); err != nil {
		return nil, err
	}
	for _, name := range serverFields {
		delete(meta, name)
	}
	if m["metadata"], err = json.Marshal(meta); err != nil {
		return nil, err
	}
	if doc, err = json.Marshal(m); err != nil {
		return nil, err
	}
	return canonical(doc), nil
}
