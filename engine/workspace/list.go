package workspace

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/hint"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// isListKind reports whether a kind is that of a list. A list also has the field items.
func isListKind(kind string) bool { return strings.HasSuffix(kind, "List") }

// expanded returns the manifests with lists replaced by their items, and without documents that are null.
func (r *reader) expanded() []*Manifest {
	all, number := make([]*Manifest, 0, len(r.manifests)), 0
	for _, m := range r.manifests {
		if m.isNull() {
			continue
		}
		whole := m.whole
		items, ok := m.items()
		if !ok {
			items = []*Manifest{m}
		}
		number++
		for _, m := range items {
			m.Number, m.whole = number, whole
		}
		all = append(all, items...)
	}
	return all
}

// items returns the items of a list, and of the lists in it.
func (m *Manifest) items() (items []*Manifest, ok bool) {
	if m.Err != nil || !isListKind(m.Kind) {
		return nil, false
	}
	if m.list != nil {
		if items = m.itemsOfJSON(); items != nil {
			return items, true
		}
		if !json.Valid(m.Document.JSON) {
			m.Document.JSON, m.Document.YAML = nil, m.Document.JSON
		}
		m.identify()
	}
	return m.converted()
}

// itemsOfJSON returns the items of a list in JSON, as parts of the text. It returns nil if the text is not JSON, or if an
// item needs the kind of the list.
func (m *Manifest) itemsOfJSON() []*Manifest {
	items := make([]*Manifest, 0, len(m.list))
	for i, s := range m.list {
		item := part(m.Text(), m.begin+s.Begin, m.begin+s.End, true)
		item.Item = i + 1
		items = append(items, item)
	}
	readAll(items, (*Manifest).read)
	untyped := func(m *Manifest) bool { return m.Err == nil && m.APIVersion == "" && m.Kind == "" }
	unread := func(m *Manifest) bool { return m.Err != nil }
	nested := func(m *Manifest) bool { return isListKind(m.Kind) }
	if m.Kind != "List" && slices.ContainsFunc(items, untyped) || slices.ContainsFunc(items, nested) ||
		slices.ContainsFunc(items, unread) && !json.Valid(m.Document.JSON) {
		return nil
	}
	return items
}

// converted returns the items of a list as JSON. ok is false if the field items is missing or not a list. If it is null,
// the list is empty, as for kubectl.
func (m *Manifest) converted() (items []*Manifest, ok bool) {
	convert, content := tree.ConvertPart, m.Document.YAML
	if content == nil {
		convert, content = tree.ConvertJSONPart, m.Document.JSON
	}
	text, yaml, err := convert(m.Text(), m.begin, m.begin+len(content), limits)
	if err != nil {
		return nil, false
	}
	l := &list{of: m, yaml: yaml}
	if ok = l.add(text, m.APIVersion, m.Kind, nil); !ok {
		return nil, false
	}
	readAll(l.items, (*Manifest).read)
	for _, d := range yaml.DuplicatesOutside(l.paths) {
		l.items = append(l.items, m.repeated(d))
	}
	return l.items, true
}

// list collects the items of a list that was converted.
type list struct {
	of    *Manifest
	yaml  *tree.ManifestText
	items []*Manifest
	paths []tree.Path // of the items
}

// fields are those of a list.
type fields struct {
	APIVersion any             `json:"apiVersion"`
	Kind       any             `json:"kind"`
	Items      json.RawMessage `json:"items"`
}

// itemsOf returns the items of a list in JSON.
func itemsOf(text []byte) (items []json.RawMessage, ok bool) {
	if _, spans, ok := tree.PeekList(text); ok {
		for _, s := range spans {
			items = append(items, text[s.Begin:s.End])
		}
		return items, true
	}
	var f fields
	if json.Unmarshal(text, &f) != nil || f.Items == nil {
		return nil, false
	}
	return items, json.Unmarshal(f.Items, &items) == nil
}

// typeOf returns the apiVersion and the kind of an item.
func typeOf(item []byte) (apiVersion, kind string) {
	if apiVersion, kind, ok := tree.PeekTypeMeta(item); ok {
		return apiVersion, kind
	}
	var f fields
	_ = json.Unmarshal(item, &f) // an item that is not an object has no fields
	apiVersion, _ = f.APIVersion.(string)
	kind, _ = f.Kind.(string)
	return apiVersion, kind
}

// add adds the items of the list in JSON at a path. It returns false if the text is no list.
func (l *list) add(text []byte, apiVersion, kind string, at tree.Path) bool {
	if !isListKind(kind) {
		return false
	}
	items, ok := itemsOf(text)
	if !ok {
		return false
	}
	for i, item := range items {
		path := at.With(tree.Name("items"), tree.At(i))
		itemVersion, itemKind := typeOf(item)
		if l.add(item, itemVersion, itemKind, path) {
			continue
		}
		if itemKind == "" && itemVersion == "" && kind != "List" && len(item) > 0 && item[0] == '{' {
			item = withType(item, apiVersion, strings.TrimSuffix(kind, "List"))
		}
		m := &Manifest{begin: l.of.begin, origin: l.yaml.At(path)}
		m.Item = path[1].Index() + 1
		m.Document.JSON = item
		l.items, l.paths = append(l.items, m), append(l.paths, path)
	}
	return true
}

// withType returns an object in JSON with an apiVersion and a kind, which replace others.
func withType(object []byte, apiVersion, kind string) []byte {
	members := map[string]json.RawMessage{}
	if json.Unmarshal(object, &members) != nil {
		return object
	}
	head, _ := json.Marshal(struct {
		APIVersion string `json:"apiVersion,omitempty"`
		Kind       string `json:"kind"`
	}{apiVersion, kind})
	if len(members) == 0 {
		return head
	}
	if _, has := members["kind"]; !has && members["apiVersion"] == nil { // keep duplicate keys
		return append(append(head[:len(head)-1], ','), object[1:]...)
	}
	delete(members, "apiVersion")
	delete(members, "kind")
	rest, _ := json.Marshal(members)
	if len(members) == 0 {
		return head
	}
	return append(append(head[:len(head)-1], ','), rest[1:]...)
}

// repeated returns a manifest for a duplicate key of a list outside of its items.
func (m *Manifest) repeated(d tree.DuplicatePlace) *Manifest {
	field := d.Path.Dotted()
	return failed(m.origin, m.begin, engine.Violation{
		Type: engine.TypeDuplicateField, Field: field, Pointer: d.Path.Pointer(), Position: &d.Position,
		Message: `duplicate field "` + field + `"`, Hint: hint.Repeated(&d),
	})
}
