package workspace

import "github.com/crdeval/crdeval/engine/document"

// Range returns where the value of a JSON pointer is in the text. If there is no such value, it returns the Range of the
// deepest existing parent, and false. A manifest that cannot be read has no ranges.
func (m *Manifest) Range(pointer string) (r document.Range, ok bool) {
	if m.Err != nil {
		return r, false
	}
	m.once.Do(func() {
		text := m.Document.YAML
		if text == nil {
			text = m.Document.JSON
		}
		m.ranges = m.origin.Ranges(text, m.Document.YAML != nil)
	})
	return m.ranges.Find(pointer)
}
