package oracle

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Previous is the stored CRD of a case.
type Previous struct {
	// Manifest is its source, at v1 or v1beta1. Today's validation may reject it.
	Manifest json.RawMessage `json:"manifest"`
	// Established and Unaccepted are its conditions. Unaccepted means that its names conflict with those of other CRDs.
	Established bool `json:"established,omitempty"`
	Unaccepted  bool `json:"unaccepted,omitempty"`
	// Bare means that no controller has processed it: it has neither conditions nor accepted names.
	Bare bool `json:"bare,omitempty"`
	// Generation is its metadata.generation.
	Generation int64 `json:"generation,omitempty"`
	// StoredVersions replaces the stored versions after its creation, unless it is nil.
	StoredVersions []string `json:"storedVersions,omitempty"`
	// Status replaces all of these.
	Status *apiextensionsv1.CustomResourceDefinitionStatus `json:"status,omitempty"`
}

// PreviousOf returns a Previous for a manifest and the status in it.
func PreviousOf(manifest []byte) (*Previous, error) {
	crd, _, _, err := decodeCRD(manifest, false)
	if err != nil {
		return nil, err
	}
	v1, err := stored(crd)
	if err != nil {
		return nil, err
	}
	return &Previous{Manifest: manifest, Status: &v1.Status}, nil
}

// AtV1 converts a manifest to v1, as it is stored.
func AtV1(manifest []byte) ([]byte, error) {
	crd, _, _, err := decodeCRD(manifest, false)
	if err != nil {
		return nil, err
	}
	v1, err := stored(crd)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v1)
}

// Keep stores the CRD. It returns nil if nothing can be stored: the manifest cannot be decoded or has no name.
func (p *Previous) Keep() *Registered {
	if p == nil {
		return nil
	}
	crd, _, _, err := prepared(p.Manifest, false)
	if err != nil || crd.Name == "" {
		return nil
	}
	r, err := registered(crd)
	if err != nil {
		return nil
	}
	state := r.Fresh(p.Established)
	if p.Unaccepted {
		for i := range state.Status.Conditions {
			if c := &state.Status.Conditions[i]; c.Type == apiextensionsv1.NamesAccepted {
				c.Status, c.Reason = apiextensionsv1.ConditionFalse, "KindConflict"
			}
		}
		state.Status.AcceptedNames.Kind = "Former"
	}
	if p.Bare {
		state.Status.AcceptedNames, state.Status.Conditions = apiextensionsv1.CustomResourceDefinitionNames{}, nil
	}
	if p.Status != nil {
		state.Status = *p.Status
	}
	state.Generation = max(p.Generation, 1)
	if p.StoredVersions != nil {
		state.Status.StoredVersions = p.StoredVersions
	}
	kept, err := r.Keep(state)
	if err != nil {
		return nil
	}
	return kept
}
