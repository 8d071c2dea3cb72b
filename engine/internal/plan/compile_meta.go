package plan

import (
	"bytes"
	"encoding/json"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/internal/value"
)

// anyElement in a way through metadata stands for the elements of a list; no name is like it, since it is not UTF-8.
const anyElement = "\xff"

// enterMeta keeps the way from a resource, the root or an embedded one, to the schema of a part of its metadata; outside of
// metadata the way is nil. It returns the way as it was, to be put back.
func (c *compiler) enterMeta(n *Node, name string) (before []string) {
	before = c.inMeta
	switch {
	case name == "metadata" && n.Flags&(Root|Embedded) != 0 && n.Flags&Junctor == 0:
		c.inMeta = []string{name}
	case before != nil:
		c.inMeta = slices.Concat(before, []string{name})
	}
	return before
}

// defaultOfType forgets the default of a resource's apiVersion or kind that is no string, as upstream does when it prunes
// defaults. Only below additionalProperties, where defaults are not judged, can there be one.
func (c *compiler) defaultOfType(s *apiextensionsv1.JSONSchemaProps, name string) {
	if name != "apiVersion" && name != "kind" || !hasValue(s.Default) || c.o.ForDefaults || c.o.PreserveUnknown {
		return
	}
	if text := bytes.TrimLeft(s.Default.Raw, " \t\r\n"); text[0] != '"' {
		s.Default = nil
	}
}

// defaultInMeta gives s with its default as it comes out of ObjectMeta, which keeps neither unknown fields nor empty values:
// upstream prunes such defaults within a resource made around them (defaulting.PruneDefaults), and forgets those of which
// nothing is left.
func (c *compiler) defaultInMeta(s *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if !hasValue(s.Default) || c.o.ForDefaults || c.o.PreserveUnknown {
		return s
	}
	text := s.Default.Raw
	for i := len(c.inMeta) - 1; i >= 0; i-- {
		if name := c.inMeta[i]; name == anyElement {
			text = append(append([]byte{'['}, text...), ']')
		} else {
			key, _ := json.Marshal(name) // a string cannot fail
			text = append(append(append(append([]byte{'{'}, key...), ':'), text...), '}')
		}
	}
	d := value.Acquire()
	defer d.Release()
	node, err := d.Parse(text, value.Request, value.Limits{})
	if err != nil {
		c.fail("default %.100q of the schema: %w", s.Default.Raw, err)
		return s
	}
	_, _, _ = metadata.Coerce(d, node, metadata.Options{Lenient: true}) // what cannot be read at all stays as it is
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
