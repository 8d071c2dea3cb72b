package suite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// difference is a difference between an expected object and another.
type difference struct{ pointer, path, expected, got string }

// maxDifferences bounds the differences of a test, maxShown the bytes of a value.
const maxDifferences, maxShown = 20, 300

// comparison compares JSON values.
type comparison struct {
	whole bool // fields that are not expected are differences
	found []difference
}

// differences compares two objects. If whole is true, fields that are not expected are differences, except for fields
// of the metadata. parts are the fields of the objects to compare, without those that are not expected; nil: all.
func differences(expected, got []byte, whole bool, parts []string) []difference {
	c := comparison{whole: whole}
	want, wantIsObject := decoded(expected).(map[string]any)
	have, haveIsObject := decoded(got).(map[string]any)
	if !wantIsObject || !haveIsObject {
		c.values("", "", decoded(expected), decoded(got))
		return c.found
	}
	if parts != nil {
		for _, key := range parts {
			if _, ok := want[key]; ok {
				c.values("/"+key, key, want[key], have[key])
			}
		}
		return c.found
	}
	if metadata, ok := want["metadata"]; ok {
		part := comparison{}
		part.values("/metadata", "metadata", metadata, have["metadata"])
		c.found = part.found
	}
	delete(want, "metadata")
	delete(have, "metadata")
	c.values("", "", want, have)
	return c.found
}

// decoded returns a JSON value with numbers as they are written.
func decoded(text []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	_ = d.Decode(&v) // results of the engine and of the YAML reader
	return v
}

func (c *comparison) add(pointer, path, expected, got string) {
	if len(c.found) < maxDifferences {
		c.found = append(c.found, difference{pointer, strings.TrimPrefix(path, "."), expected, got})
	}
}

func (c *comparison) values(pointer, path string, expected, got any) {
	switch want := expected.(type) {
	case map[string]any:
		have, ok := got.(map[string]any)
		if !ok {
			c.add(pointer, path, shown(expected), shown(got))
			return
		}
		for _, key := range slices.Sorted(maps.Keys(want)) {
			c.values(pointer+"/"+tree.EscapePointer(key), path+"."+key, want[key], have[key])
		}
		for _, key := range slices.Sorted(maps.Keys(have)) {
			if _, ok := want[key]; !ok && c.whole {
				c.add(pointer, path+"."+key, "no such field", shown(have[key]))
			}
		}
	case []any:
		have, ok := got.([]any)
		if !ok || len(want) != len(have) {
			c.add(pointer, path, shown(expected), shown(got))
			return
		}
		for i := range want {
			c.values(fmt.Sprintf("%s/%d", pointer, i), fmt.Sprintf("%s[%d]", path, i), want[i], have[i])
		}
	default:
		if !equalScalars(expected, got) {
			c.add(pointer, path, shown(expected), shown(got))
		}
	}
}

// equalScalars reports whether two scalars are equal. Integers are compared by their digits, other numbers as floats.
func equalScalars(a, b any) bool {
	x, ok := a.(json.Number)
	y, both := b.(json.Number)
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	if !ok || !both || x == y {
		return a == b
	}
	isInteger := func(n json.Number) bool { return !strings.ContainsAny(n.String(), ".eE") }
	if isInteger(x) && isInteger(y) {
		return false
	}
	m, err := x.Float64()
	n, otherErr := y.Float64()
	return err == nil && otherErr == nil && m == n
}

// shown returns a value as JSON. A missing field and null are the same.
func shown(v any) string {
	if v == nil {
		return "no value"
	}
	text, _ := json.Marshal(v)
	if len(text) > maxShown {
		return strings.ToValidUTF8(string(text[:maxShown]), "") + "…"
	}
	return string(text)
}
