package apiserver

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// marshalStored returns an object as upstream stores it: with sorted keys, and 1.0 as 1.
func marshalStored(u *unstructured.Unstructured) ([]byte, error) { return utiljson.Marshal(u.Object) }

// marshal returns an object for the evaluator. Keys are sorted, and 1.0 keeps its point, because rules distinguish
// integers from other numbers.
func marshal(u *unstructured.Unstructured) ([]byte, error) { return appendValue(nil, u.Object) }

func appendValue(text []byte, v any) ([]byte, error) {
	var err error
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return append(text, "null"...), nil
		}
		text = append(text, '{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				text = append(text, ',')
			}
			if text, err = appendValue(text, name); err != nil {
				return nil, err
			}
			if text, err = appendValue(append(text, ':'), v[name]); err != nil {
				return nil, err
			}
		}
		return append(text, '}'), nil
	case []any:
		if v == nil {
			return append(text, "null"...), nil
		}
		text = append(text, '[')
		for i := range v {
			if i > 0 {
				text = append(text, ',')
			}
			if text, err = appendValue(text, v[i]); err != nil {
				return nil, err
			}
		}
		return append(text, ']'), nil
	}
	printed, err := json.Marshal(v)
	text = append(text, printed...)
	if _, isFloat := v.(float64); isFloat && !bytes.ContainsAny(printed, ".e") {
		text = append(text, ".0"...)
	}
	return text, err
}

// unmarshal replaces the content of an object.
func unmarshal(text []byte, u *unstructured.Unstructured) error {
	content := map[string]any{}
	if err := utiljson.Unmarshal(text, &content); err != nil {
		return err
	}
	u.Object = content
	return nil
}
