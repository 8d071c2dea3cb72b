package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/value"
)

// anyElement stands for the elements of a list in a path. It is not UTF-8, so no name equals it.
const anyElement = "\xff"

// enterMeta updates the path from a resource to a schema within its metadata. It returns the previous path.
func (c *compiler) enterMeta(n *Node, name string) (before []string) {
	before = c.inMeta
	switch {
	case name == "metadata" && n.Flags&(Root|Embedded) != 0 && n.Flags&Logical == 0:
		c.inMeta = []string{name}
	case before != nil:
		c.inMeta = slices.Concat(before, []string{name})
	}
	return before
}

// defaultOfType removes a default of a resource's apiVersion or kind that is not a string, as upstream does when it
// prunes defaults. Such a default can only occur below additionalProperties.
func (c *compiler) defaultOfType(s *apiextensionsv1.JSONSchemaProps, name string) {
	if name != "apiVersion" && name != "kind" || !hasValue(s.Default) || c.o.ForDefaults || c.o.PreserveUnknown {
		return
	}
	if text := bytes.TrimLeft(s.Default.Raw, " \t\r\n"); text[0] != '"' {
		s.Default = nil
	}
}

// defaultInMeta returns s with its default coerced by ObjectMeta, which drops unknown fields and empty values. Upstream
// prunes such defaults within a resource around them, and removes empty ones (defaulting.PruneDefaults).
func (c *compiler) defaultInMeta(s *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if !hasValue(s.Default) || c.o.ForDefaults || c.o.PreserveUnknown {
		return s
	}
	text := s.Default.Raw
	for i := len(c.inMeta) - 1; i >= 0; i-- {
		if name := c.inMeta[i]; name == anyElement {
			text = append(append([]byte{'['}, text...), ']')
		} else {
			key, _ := json.Marshal(name) // cannot fail for a string
			text = append(append(append(append([]byte{'{'}, key...), ':'), text...), '}')
		}
	}
	d := value.Acquire()
	defer d.Release()
	node, err := d.Parse(text, value.Request, value.Limits{})
	if err != nil {
		c.fail(fmt.Errorf("default %.100q of the schema: %w", s.Default.Raw, err))
		return s
	}
	_, _, _ = metadata.Coerce(d, node, metadata.Options{Lenient: true}) // unreadable metadata is not changed
	for _, name := range c.inMeta {
		if name == anyElement {
			node = d.Index(node, 0)
		} else {
			node = d.Field(node, name)
		}
	}
	kept := *s
	kept.Default = nil
	if node != 0 {
		kept.Default = &apiextensionsv1.JSON{Raw: appendVerbatim(nil, d, node)}
	}
	return &kept
}
