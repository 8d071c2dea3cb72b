package apiserver

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/crdeval/crdeval/engine/document"
)

// printer prints unstructured values as json.Marshal does. With points, 1.0 keeps its point.
type printer struct {
	points  bool
	rounded bool     // an integral float was printed, which is 1 without points
	keys    []string // of the objects that are being printed
}

// appendStored appends an object as upstream stores it: with sorted keys, and 1.0 as 1.
func appendStored(text []byte, u *unstructured.Unstructured) ([]byte, error) {
	return new(printer).append(text, u.Object)
}

// marshal returns an object for the evaluator. Keys are sorted, and 1.0 keeps its point, because rules distinguish
// integers from other numbers.
func marshal(u *unstructured.Unstructured) ([]byte, error) {
	return (&printer{points: true}).append(make([]byte, 0, 1024), u.Object)
}

// appendFields appends an object with only the selected fields. A parent without a selected field is {}.
func (p *printer) appendFields(text []byte, object map[string]any, fields columnFields) ([]byte, error) {
	if fields == nil {
		return p.append(text, object)
	}
	var err error
	text = append(text, '{')
	for i := range fields {
		f := &fields[i]
		v, ok := object[f.name]
		if !ok {
			continue
		}
		if text[len(text)-1] != '{' {
			text = append(text, ',')
		}
		text = append(text, f.key...)
		if inner, ok := v.(map[string]any); ok && inner != nil {
			text, err = p.appendFields(text, inner, f.below)
		} else {
			text, err = p.append(text, v)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(text, '}'), nil
}

func (p *printer) append(text []byte, v any) ([]byte, error) {
	var err error
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return append(text, "null"...), nil
		}
		from := len(p.keys)
		for name := range v {
			p.keys = append(p.keys, name)
		}
		to := len(p.keys)
		slices.Sort(p.keys[from:])
		text = append(text, '{')
		for i := from; i < to; i++ {
			if i > from {
				text = append(text, ',')
			}
			name := p.keys[i]
			text = append(document.AppendCanonicalString(text, name), ':')
			if text, err = p.append(text, v[name]); err != nil {
				return nil, err
			}
		}
		p.keys = p.keys[:from]
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
			if text, err = p.append(text, v[i]); err != nil {
				return nil, err
			}
		}
		return append(text, ']'), nil
	case float64:
		from := len(text)
		if text = document.AppendValue(text, v); !bytes.ContainsAny(text[from:], ".e") {
			if p.points {
				text = append(text, ".0"...)
			}
			p.rounded = true
		}
		return text, nil
	case nil, bool, int64, string:
		return document.AppendValue(text, v), nil
	}
	printed, err := json.Marshal(v)
	return append(text, printed...), err
}

// isUnchanged reports whether an object has the content of a text, apart from the ignored fields of its metadata.
func isUnchanged(text []byte, u *unstructured.Unstructured, ignored []string) bool {
	metadata, ok := u.Object["metadata"].(map[string]any)
	if !ok {
		return false
	}
	same := false
	err := document.Read(text, document.Limits{}, func(root document.Value) error {
		same = root.Equal(u.Object, "metadata") && root.Field("metadata").Equal(metadata, ignored...)
		return nil
	})
	return err == nil && same
}

// unmarshal replaces the content of an object.
func unmarshal(text []byte, u *unstructured.Unstructured) error {
	if content, ok := parse(text); ok {
		u.Object = content
		return nil
	}
	content := map[string]any{} // a text beyond the limits, or an error that is reported in upstream's words
	if err := utiljson.Unmarshal(text, &content); err != nil {
		return err
	}
	u.Object = content
	return nil
}

// parse returns the content of an object. ok is false for a text beyond the limits of the engine, and an unreadable one.
func parse(text []byte) (content map[string]any, ok bool) {
	err := document.Read(text, document.Limits{}, func(root document.Value) error {
		content, ok = root.Any().(map[string]any)
		return nil
	})
	return content, ok && err == nil
}

// equalValues reports whether two unstructured values are equal, as equality.Semantic.DeepEqual does. It allocates
// nothing for values of JSON.
func equalValues(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equalValues)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equalValues)
	case nil, bool, int64, float64, string:
		return a == b
	}
	return reflect.DeepEqual(a, b) // admission can set other types
}
