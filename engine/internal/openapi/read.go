package openapi

import (
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/value"
)

// Read returns the resource of a version from a CRD in canonical form. It only reads the fields that it needs, because
// decoding a large CRD takes longer than writing its document. If a field has an unexpected form, ok is false and the
// caller uses Describe.
func Read(canonical []byte, version string) (r *Resource, ok bool) {
	d := value.Acquire() // no defer: after a panic it must not be reused
	if root, err := d.ParseJSON(canonical, value.Limits{MaxBytes: max(len(canonical), 1)}); err == nil {
		m := manifest{d: d}
		r = m.resource(root, version)
		ok = !m.odd && r != nil
	}
	d.Release()
	return r, ok
}

// manifest reads members of a tree. odd is set if a member has an unexpected form.
type manifest struct {
	d   *value.Doc
	odd bool
}

// member returns a member of an object, or 0 if it is missing or null.
func (m *manifest) member(of uint32, name string, kind value.Kind) uint32 {
	if of == 0 {
		return 0
	}
	c := m.d.Field(of, name)
	if c == 0 || m.d.Nodes[c].Kind == value.Null {
		return 0
	}
	m.odd = m.odd || m.d.Nodes[c].Kind != kind
	return c
}

func (m *manifest) text(of uint32, name string) string {
	c := m.member(of, name, value.String)
	if c == 0 || m.odd {
		return ""
	}
	return string([]byte(m.d.Str(c)))
}

func (m *manifest) resource(root uint32, version string) *Resource {
	if m.d.Nodes[root].Kind != value.Object {
		return nil
	}
	spec := m.member(root, "spec", value.Object)
	names := m.member(spec, "names", value.Object)
	versions := m.member(spec, "versions", value.Array)
	if m.odd || names == 0 || versions == 0 {
		return nil
	}
	r := &Resource{
		Group: m.text(spec, "group"), Version: version, Namespaced: m.text(spec, "scope") == "Namespaced",
		Kind: m.text(names, "kind"), ListKind: m.text(names, "listKind"), Plural: m.text(names, "plural"),
	}
	if c := m.d.Field(spec, "preserveUnknownFields"); c != 0 {
		r.Unpruned = m.d.Nodes[c].Kind == value.True
	}
	for v := m.d.Nodes[versions].First; v != 0 && !m.odd; v = m.d.Nodes[v].Next {
		if m.d.Nodes[v].Kind != value.Object || m.text(v, "name") != version {
			continue
		}
		m.version(r, v)
		return r
	}
	return nil
}

func (m *manifest) version(r *Resource, v uint32) {
	subresources := m.member(v, "subresources", value.Object)
	r.HasStatus = m.member(subresources, "status", value.Object) != 0
	r.HasScale = m.member(subresources, "scale", value.Object) != 0
	if fields := m.member(v, "selectableFields", value.Array); fields != 0 && !m.odd {
		for f := m.d.Nodes[fields].First; f != 0; f = m.d.Nodes[f].Next {
			if m.odd = m.odd || m.d.Nodes[f].Kind != value.Object; m.odd {
				return
			}
			r.Selectable = append(r.Selectable, m.text(f, "jsonPath"))
		}
	}
	node := m.member(m.member(v, "schema", value.Object), "openAPIV3Schema", value.Object)
	if node == 0 || m.odd {
		return
	}
	s, ok := schema.Read(m.d, node)
	if m.odd = !ok; ok && schema.Publishable(s) {
		r.Schema = s
	}
}
