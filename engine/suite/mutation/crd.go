package mutation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/suite"
)

// crd is a CRD of a suite, with its mutants.
type crd struct {
	definition *engine.Definition
	file       string
	root       map[string]any // the canonical manifest
	versions   []*version
	mutants    []*mutant
}

// version is a version of a CRD.
type version struct {
	name   string
	index  int // in the CRD
	schema *schemaNode
	nodes  int

	subresources map[string]any
}

// schemaNode is a schema in a version.
type schemaNode struct {
	index   int
	pointer string         // in openAPIV3Schema
	field   string         // such as spec.jobs[*].name
	keys    map[string]any // of the schema

	properties map[string]*schemaNode
	additional *schemaNode
	items      *schemaNode
	branches   []*schemaNode // of allOf, anyOf, oneOf and not
}

// mutant is a change of a keyword of a schema.
type mutant struct {
	kind, before, after string
	version             *version
	node                *schemaNode
	keyword             string
	edits               map[string]any // new values of keywords, nil for those that are removed
	pointer             string         // of what changes, in openAPIV3Schema
	field               string         // whose values the change concerns
	rule                string         // the original rule, "" for other keywords
}

// newCRD reads a compiled CRD.
func newCRD(file string, d *engine.Definition) (*crd, error) {
	c := &crd{definition: d, file: file}
	decoder := json.NewDecoder(bytes.NewReader(d.Manifest()))
	decoder.UseNumber()
	if err := decoder.Decode(&c.root); err != nil {
		return nil, fmt.Errorf("%s: %w", d.Name(), err)
	}
	spec, _ := c.root["spec"].(map[string]any)
	list, _ := spec["versions"].([]any)
	for i, of := range list {
		fields, _ := of.(map[string]any)
		name, _ := fields["name"].(string)
		schema, _ := fields["schema"].(map[string]any)
		props, ok := schema["openAPIV3Schema"].(map[string]any)
		if !ok {
			continue
		}
		v := &version{name: name, index: i}
		v.subresources, _ = fields["subresources"].(map[string]any)
		v.schema = v.read(props, "", "")
		c.versions = append(c.versions, v)
	}
	return c, nil
}

// read returns a schema with those below it.
func (v *version) read(keys map[string]any, pointer, field string) *schemaNode {
	n := &schemaNode{index: v.nodes, pointer: pointer, field: field, keys: keys}
	v.nodes++
	below := func(of any, pointer, field string) *schemaNode {
		if props, ok := of.(map[string]any); ok {
			return v.read(props, n.pointer+pointer, field)
		}
		return nil
	}
	if properties, ok := keys["properties"].(map[string]any); ok {
		n.properties = map[string]*schemaNode{}
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			child := below(properties[name], "/properties/"+tree.EscapePointer(name), strings.TrimPrefix(field+"."+name, "."))
			if child != nil {
				n.properties[name] = child
			}
		}
	}
	n.additional = below(keys["additionalProperties"], "/additionalProperties", field+"[*]")
	n.items = below(keys["items"], "/items", field+"[*]")
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := keys[keyword].([]any)
		for i, of := range list {
			n.branches = append(n.branches, below(of, fmt.Sprintf("/%s/%d", keyword, i), field))
		}
	}
	if not := below(keys["not"], "/not", field); not != nil {
		n.branches = append(n.branches, not)
	}
	return n
}

// hasStatus reports whether a version has the subresource status.
func (v *version) hasStatus() bool {
	_, ok := v.subresources["status"]
	return ok
}

// children returns the schemas below the schema, in a fixed order.
func (n *schemaNode) children() (all []*schemaNode) {
	for _, name := range slices.Sorted(maps.Keys(n.properties)) {
		all = append(all, n.properties[name])
	}
	for _, child := range append([]*schemaNode{n.additional, n.items}, n.branches...) {
		if child != nil {
			all = append(all, child)
		}
	}
	return all
}

// manifest returns the manifest with the change of a mutant.
func (c *crd) manifest(m *mutant) ([]byte, error) {
	keys := maps.Clone(m.node.keys)
	for key, value := range m.edits {
		if value == nil {
			delete(keys, key)
		} else {
			keys[key] = value
		}
	}
	pointer := fmt.Sprintf("/spec/versions/%d/schema/openAPIV3Schema%s", m.version.index, m.node.pointer)
	return json.Marshal(replaced(c.root, strings.Split(pointer, "/")[1:], keys))
}

// replaced returns a JSON value with another value in the place of one below it. It copies only what changes.
func replaced(of any, path []string, with any) any {
	if len(path) == 0 {
		return with
	}
	switch of := of.(type) {
	case map[string]any:
		key := tree.UnescapePointer(path[0])
		clone := maps.Clone(of)
		clone[key] = replaced(of[key], path[1:], with)
		return clone
	case []any:
		i, _ := strconv.Atoi(path[0]) // the path is that of a value below
		clone := slices.Clone(of)
		clone[i] = replaced(of[i], path[1:], with)
		return clone
	}
	return of
}

// key identifies the change of a mutant in all variants of a CRD.
func (c *crd) key(m *mutant) string {
	pointer := m.pointer
	if m.rule != "" {
		pointer = m.node.pointer + " " + m.rule
	}
	return strings.Join([]string{c.definition.Name(), m.version.name, pointer, m.kind, m.before, m.after}, "\x00")
}

// places finds the lines of schemas in a file of CRDs.
type places struct {
	documents []placedCRD
}

type placedCRD struct {
	name     string
	versions []string
	origin   *tree.Origin
}

// placesOf reads the files of a set. Files that cannot be read have no lines.
func placesOf(f *suite.CRDs) (p places) {
	for d := range tree.SplitYAML(f.Original()) {
		whole := tree.NewText(d.Text, tree.Position{Line: d.Line})
		text, converted, err := tree.ConvertPart(whole, 0, len(d.Text), tree.Limits{MaxBytes: 64 << 20})
		if err != nil {
			continue
		}
		var m struct {
			Metadata struct{ Name string }
			Spec     struct{ Versions []struct{ Name string } }
		}
		if json.Unmarshal(text, &m) != nil {
			continue
		}
		placed := placedCRD{name: m.Metadata.Name, origin: converted.At(nil)}
		for _, v := range m.Spec.Versions {
			placed.versions = append(placed.versions, v.Name)
		}
		p.documents = append(p.documents, placed)
	}
	return p
}

// line returns the line of a pointer in the schema of a version, 0 if the file does not have it.
func (p places) line(name, version, pointer string) int {
	for _, d := range p.documents {
		at := slices.Index(d.versions, version)
		if d.name != name || at < 0 {
			continue
		}
		return d.origin.Follow(fmt.Sprintf("/spec/versions/%d/schema/openAPIV3Schema%s", at, pointer)).Line
	}
	return 0
}
