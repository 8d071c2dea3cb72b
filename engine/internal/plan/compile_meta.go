package plan

import (
	"bytes"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// AnyElement stands for the elements of a list in a path of names. It is not UTF-8, so no name equals it.
const AnyElement = "\xff"

// Wrap returns a JSON text that has raw at the end of a path. more are further members of the outermost object.
func Wrap(raw []byte, path []string, more string) []byte {
	var head, tail []byte
	for _, name := range path {
		if name == AnyElement {
			head, tail = append(head, '['), append(tail, ']')
			continue
		}
		head = append(tree.AppendCanonicalString(append(head, '{'), name), ':')
		tail = append(tail, '}')
	}
	slices.Reverse(tail)
	if more != "" {
		tail = slices.Concat(tail[:len(tail)-1], []byte(more), tail[len(tail)-1:])
	}
	return slices.Concat(head, raw, tail)
}

// Follow returns the node at the end of a path, in the first element of each list, or 0.
func Follow(d *tree.Doc, node uint32, path []string) uint32 {
	for _, name := range path {
		if name == AnyElement {
			node = d.Index(node, 0)
		} else {
			node = d.Field(node, name)
		}
	}
	return node
}

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
	if name != "apiVersion" && name != "kind" || !schema.HasValue(s.Default) || c.o.ForDefaults || c.o.PreserveUnknown {
		return
	}
	if text := bytes.TrimLeft(s.Default.Raw, " \t\r\n"); text[0] != '"' {
		s.Default = nil
	}
}

// defaultInMeta returns s with its default coerced by ObjectMeta, which drops unknown fields and empty values. Upstream
// prunes such defaults within a resource around them, and removes empty ones (defaulting.PruneDefaults).
func (c *compiler) defaultInMeta(s *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if !schema.HasValue(s.Default) || c.o.ForDefaults || c.o.PreserveUnknown {
		return s
	}
	d := tree.Acquire()
	defer d.Release()
	node, err := d.Parse(Wrap(s.Default.Raw, c.inMeta, ""), tree.Request, tree.Limits{})
	if err != nil {
		c.fail(fmt.Errorf("default %.100q of the schema: %w", s.Default.Raw, err))
		return s
	}
	_, _, _ = metadata.Coerce(d, node, metadata.Options{Lenient: true}) // unreadable metadata is not changed
	node = Follow(d, node, c.inMeta)
	coerced := *s
	coerced.Default = nil
	if node != 0 {
		coerced.Default = &apiextensionsv1.JSON{Raw: d.AppendDecoded(nil, node)}
	}
	return &coerced
}
