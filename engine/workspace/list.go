package workspace

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/value"
)

// isListKind reports whether a kind is that of a list.
func isListKind(kind string) bool { return strings.HasSuffix(kind, "List") }

// expanded returns the manifests with lists replaced by their items, and without documents that are null.
func (r *reader) expanded() []*Manifest {
	all, number := make([]*Manifest, 0, len(r.manifests)), 0
	for _, m := range r.manifests {
		if m.isNull() {
			continue
		}
		whole := value.Span{Begin: m.begin, End: m.begin + len(m.text())}
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

// items returns the items of a list.
func (m *Manifest) items() (items []*Manifest, ok bool) {
	if m.Err != nil || !isListKind(m.Kind) {
		return nil, false
	}
	if m.list == nil {
		return m.itemsOfYAML()
	}
	items = make([]*Manifest, 0, len(m.list))
	for i, s := range m.list {
		item := part(m.Text(), m.begin+s.Begin, m.begin+s.End, true)
		item.Item = i + 1
		items = append(items, item)
	}
	identify(items)
	if slices.ContainsFunc(items, func(m *Manifest) bool { return m.Err != nil }) && !json.Valid(m.Document.JSON) {
		m.Document.JSON, m.Document.YAML, m.list = nil, m.Document.JSON, nil
		m.identify()
		return m.itemsOfYAML()
	}
	return items, true
}

// itemsOfYAML returns the items of a list in YAML, as JSON. ok is false if the field items is missing or not a list. If it
// is null, the list is empty, as for kubectl.
func (m *Manifest) itemsOfYAML() (items []*Manifest, ok bool) {
	content := m.Document.YAML
	if content == nil {
		content = m.Document.JSON
	}
	text, conversion, err := m.Text().Convert(m.begin, m.begin+len(content), limits)
	if err != nil {
		return nil, false
	}
	_, spans, ok := value.PeekList(text)
	if !ok {
		var fields map[string]json.RawMessage
		_ = json.Unmarshal(text, &fields)
		return nil, string(fields["items"]) == "null"
	}
	for i, s := range spans {
		item := &Manifest{Location: Location{Item: i + 1}, begin: m.begin}
		item.origin = conversion.At(value.Path{value.Name("items"), value.At(i)})
		item.Document.JSON = text[s.Begin:s.End]
		items = append(items, item)
	}
	identify(items)
	return items, true
}
