package plan

import (
	"fmt"
	"slices"
	"unsafe"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// enum decodes the values of an enum as upstream holds them, and sorts them for accept.
func (c *compiler) enum(raw []apiextensionsv1.JSON) *Enum {
	e := &Enum{Values: make([]any, len(raw))}
	for i := range raw {
		if len(raw[i].Raw) == 0 {
			continue // null
		}
		if err := utiljson.Unmarshal(raw[i].Raw, &e.Values[i]); err != nil {
			c.fail(fmt.Errorf("enum value %q of the schema is not JSON: %w", raw[i].Raw, err))
			return e
		}
		switch v := e.Values[i].(type) {
		case string:
			v = c.text(v)
			e.Values[i] = v
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

// hasString, hasInt and hasFloat report whether upstream finds the value in the enum. Upstream converts the value to
// the type of each enum value: 65 is "A", 1.5 is 1. Accept doubts these. (KO/validate/validator.go
// basicCommonValidator)
func (e *Enum) hasString(s string) bool {
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
