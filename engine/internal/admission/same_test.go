package admission

import (
	"strings"
	"testing"
)

func TestSameText(t *testing.T) {
	const base = `{"kind":"A","metadata":{"name":"n","resourceVersion":"1"},"spec":{"a":[1,{"b":null}]}}`
	for _, c := range []struct {
		name, old, new string // in base
		same           part   // the parts that stay the same
	}{
		{"nothing", "", "", partWhole},
		{"space", `:{"a"`, `: {"a"`, partWhole},
		{"order", `"name":"n","resourceVersion":"1"`, `"resourceVersion":"1","name":"n"`, partWhole},
		{"resourceVersion", `"1"`, `"2"`, partStored},
		{"no resourceVersion", `,"resourceVersion":"1"`, ``, partStored},
		{"a selfLink", `"name"`, `"selfLink":"x","name"`, partStored},
		{"name", `"n"`, `"m"`, partContent},
		{"another member of metadata", `"name"`, `"uid":"u","name"`, partContent},
		{"metadata of another type", `{"name":"n","resourceVersion":"1"}`, `null`, partContent},
		{"an item", `[1,`, `[2,`, partKept | partSet},
		{"an integer and a float", `[1,`, `[1.5,`, partKept | partSet},
		{"null and nothing", `"b":null`, ``, partKept | partSet},
		{"a member", `"spec"`, `"more":{},"spec"`, partKept | partSet},
		{"another key", `"spec"`, `"specs"`, partKept | partSet},
		{"a negative zero", `[1,`, `[-0.0,`, 0},
		{"no JSON", `{"kind"`, `{kind"`, 0},
	} {
		text := strings.Replace(base, c.old, c.new, 1)
		for _, of := range []part{partContent, partKept, partStored, partWhole} {
			for _, pair := range [][2]string{{base, text}, {text, base}} {
				if got, want := sameText([]byte(pair[0]), []byte(pair[1]), of), of&^c.same == 0; got != want {
					t.Errorf("%s: part %b is the same: %v", c.name, of, got)
				}
			}
		}
	}
}
