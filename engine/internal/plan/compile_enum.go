package plan

import (
	"slices"
	"strconv"
	"unicode/utf8"
	"unsafe"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// enum decodes the values of an enum as upstream holds them, and sorts them for accept.
func (c *compiler) enum(raw []apiextensionsv1.JSON) *Enum {
	e := &Enum{Values: make([]any, len(raw))}
	for i := range raw {
		v, err := c.decode(raw[i].Raw)
		if err != nil {
			c.fail("enum value %q of the schema is not JSON: %w", raw[i].Raw, err)
			return e
		}
		e.Values[i] = v
		switch v := v.(type) {
		case string:
			e.strings = append(e.strings, v)
		case int64:
			e.ints = append(e.ints, v)
		case float64:
			e.floats = append(e.floats, v)
		case bool:
			if v {
				e.hasBool[1] = true
			} else {
				e.hasBool[0] = true
			}
		case []any, map[string]any:
			e.compound = true
		}
	}
	slices.Sort(e.strings)
	e.strings = slices.Clip(slices.Compact(e.strings))
	c.size += int64(unsafe.Sizeof(*e)) + int64(len(e.Values))*16 + int64(len(e.strings))*32 +
		int64(cap(e.ints)+cap(e.floats))*16
	return e
}

// decode decodes a raw value of a schema. Plain strings and small integers need no decoder.
func (c *compiler) decode(raw []byte) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if n := len(raw); raw[0] == '"' && n > 1 && raw[n-1] == '"' && isPlain(raw[1:n-1]) {
		return c.text(unsafe.String(unsafe.SliceData(raw[1:]), n-2)), nil
	}
	if raw[0] >= '0' && raw[0] <= '9' && len(raw) < 18 && (raw[0] != '0' || len(raw) == 1) {
		if i, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			return i, nil
		}
	}
	var v any
	err := utiljson.Unmarshal(raw, &v)
	return v, err
}

// isPlain reports whether the content of a JSON string has no escapes.
func isPlain(s []byte) bool {
	for _, b := range s {
		if b < 0x20 || b == '"' || b == '\\' || b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// hasString, hasInt and hasFloat report whether upstream finds the value in the enum. Upstream converts the value to
// the type of each enum value: 65 is "A", 1.5 is 1. Accept doubts these. (KO/validate/validator.go
// basicCommonValidator)
func (e *Enum) hasString(s string) bool {
	if len(e.strings) <= 8 {
		for _, v := range e.strings {
			if v == s {
				return true
			}
		}
		return false
	}
	_, ok := slices.BinarySearch(e.strings, s)
	return ok
}

func (e *Enum) hasInt(i int64) (found, doubt bool) {
	if slices.Contains(e.ints, i) || slices.Contains(e.floats, float64(i)) {
		return true, false
	}
	return false, len(e.strings) > 0
}

func (e *Enum) hasFloat(f float64) (found, doubt bool) {
	if slices.Contains(e.floats, f) {
		return true, false
	}
	return false, len(e.ints) > 0
}
