package document

import (
	"encoding/json"
	"errors"
	"testing"
)

// FuzzJSONPatch: the patch of two objects turns the one into the other.
func FuzzJSONPatch(f *testing.F) {
	f.Add([]byte(`{"a":[{"b":1},{}],"c/d":null}`), []byte(`{"a":[{"b":2},{"x":""}],"~":{}}`))
	f.Add([]byte(`{"":{"":1}}`), []byte(`{"":{"":1.5}}`))
	f.Fuzz(func(t *testing.T, from, to []byte) {
		if !clean(from) || !clean(to) {
			return // an API server sends neither duplicate keys nor anything that is not UTF-8
		}
		checkPatch(t, from, to)
	})
}

// clean reports whether a text is an object as an API server prints one, apart from white space and the spelling of numbers.
func clean(text []byte) bool {
	var m map[string]any
	if json.Unmarshal(text, &m) != nil || m == nil {
		return false
	}
	err := Read(text, unbounded, func(root Value) error {
		printed, err := json.Marshal(m)
		if err == nil && string(printed) != string(root.doc.AppendCanonical(nil, root.node)) {
			err = errors.New("other values")
		}
		return err
	})
	return err == nil
}
