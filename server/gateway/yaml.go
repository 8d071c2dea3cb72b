package gateway

import (
	"bytes"
	"fmt"

	"github.com/crdeval/crdeval/engine/value"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// decode gives the body to v. A YAML body that is a document as a whole stays YAML; any other is turned into JSON first.
func (b *body) decode(v any) error {
	if !b.yaml {
		return unmarshal(b.data, v, b.lists)
	}
	if len(bytes.TrimSpace(b.data)) == 0 {
		return errEmptyBody
	}
	if v, ok := v.(**crdevalv1.Document); ok {
		*v = &crdevalv1.Document{Content: &crdevalv1.Document_Yaml{Yaml: b.data}}
		return nil
	}
	if err := b.boundYAML(); err != nil {
		return err
	}
	converted, source, err := value.YAMLToJSON(b.data, b.limits)
	if err != nil {
		return err
	}
	if err := source.StrictError(); err != nil {
		// The JSON no longer has the duplicates, so nobody behind could report them as the request asks for.
		return fmt.Errorf("the body gives keys twice: %w", err)
	}
	b.source = source
	return unmarshal(converted, v, b.lists)
}
