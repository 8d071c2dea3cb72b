package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// serverMetadata are the fields of metadata that a server sets.
var serverMetadata = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields", "namespace",
	"resourceVersion", "selfLink", "uid",
}

// Canonical returns the CRD as JSON in its canonical form: apiextensions.k8s.io/v1, keys sorted, without status and without the
// metadata that a server sets. A CRD that was decoded from it has the same canonical form. Numbers are printed as the API server
// stores them, which loses what it loses: a default of 1.0 is 1 from then on.
//
// The error is one of encoding: JSON that a Go program put into a default, an enum or an example and that is none.
func Canonical(crd *apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	clean := *crd
	clean.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
	clean.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	doc, err := json.Marshal(&clean)
	if err != nil {
		return nil, fmt.Errorf("CRD %s cannot be written as JSON: %w", crd.Name, err)
	}
	tree := map[string]any{}
	if err := json.Unmarshal(doc, &tree); err != nil {
		return nil, fmt.Errorf("CRD %s cannot be brought into canonical form: %w", crd.Name, err)
	}
	delete(tree, "status")
	if metadata, ok := tree["metadata"].(map[string]any); ok {
		for _, name := range serverMetadata {
			delete(metadata, name)
		}
	}
	return json.Marshal(tree)
}

// Revision returns "sha256:" and the hex digest of a canonical form and of whatever else shapes its meaning, part by part.
// Equal revisions mean equal answers to every question.
func Revision(canonical []byte, parts ...string) string {
	h := sha256.New()
	h.Write(canonical)
	for _, p := range parts {
		// The length keeps neighbouring parts apart.
		_, _ = io.WriteString(h, fmt.Sprintf("\x00%d:%s", len(p), p))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
