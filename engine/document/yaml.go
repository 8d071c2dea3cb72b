package document

import "github.com/crdeval/crdeval/engine/internal/tree"

// YAML is a document in YAML that was converted to JSON. It is safe for concurrent use.
type YAML struct {
	text      *Text
	json      []byte
	converted *tree.ManifestText
}

// ReadYAML converts the first document of a Text, as clients convert manifests before they send JSON to an API server:
//
//   - Scalars are those of YAML 1.1: on is true, 017 is 15, and 1.0 is the integer 1.
//   - Keys become strings, merge keys are applied, and the keys of objects are sorted.
//   - An empty text is null. Text after the document is ignored, see YAML.Ignored.
//   - A key that occurs twice also does so in the JSON.
//
// The error is a *LimitError, also for expanded aliases, or a *SyntaxError with the YAML library's text.
func ReadYAML(text *Text, l Limits) (*YAML, error) {
	json, converted, err := tree.ConvertPart(text, 0, len(text.Bytes()), l)
	if err != nil {
		return nil, err
	}
	return &YAML{text, json, converted}, nil
}

// JSON returns the document as JSON, without white space.
func (y *YAML) JSON() []byte { return y.json }

// At returns the Origin of the value that begins at an offset of JSON, for a value that becomes a document of its own.
func (y *YAML) At(offset int) *Origin { return y.converted.AtOffset(offset) }

// Range returns where the value of a JSON pointer is in the Text. If there is no such value, it returns the Range of the
// deepest existing parent, and false.
func (y *YAML) Range(pointer string) (r Range, ok bool) {
	root := y.converted.AtOffset(0)
	return root.Ranges(nil, true).Find(pointer)
}

// Ignored returns the position of the text after the document, which readers of manifests ignore. found is false if
// there is no such text.
func (y *YAML) Ignored() (at Position, found bool) {
	offset, found := tree.IgnoredText(y.text.Bytes())
	if !found {
		return at, false
	}
	return y.text.Position(offset), true
}
