package sample

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/internal/schema"
)

// TestDefaulted: the defaulted members of an object are those of each level, of lists and of maps, in any of the schemas.
func TestDefaulted(t *testing.T) {
	var schemas []*schema.Props
	for _, text := range []string{
		`{type: object, properties: {spec: {type: object, default: {}, properties: {a: {type: string, default: x}, l: {type: array,
			items: {type: object, properties: {b: {type: string, default: y}, c: {type: string}}}}}}}}`,
		`{type: object, properties: {spec: {type: object, properties: {m: {type: object, additionalProperties: {type: object,
			properties: {d: {type: integer, default: 1}}}}, c: {type: string, default: null}}}}}`,
	} {
		s := &schema.Props{}
		if err := yaml.UnmarshalStrict([]byte(text), s); err != nil {
			t.Fatal(err)
		}
		schemas = append(schemas, s)
	}
	o, err := Parse([]byte(`{"kind":"A","spec":{"a":"1","c":"2","l":[{"b":"3","c":"4"},{"b":"5"}],"m":{"k":{"d":6}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	paths := Defaulted(o, schemas...)
	if got, want := string(o.WithoutPaths(paths[:len(paths)-1]...).JSON()), `{"kind":"A","spec":{"c":"2","l":[{"c":"4"},{}],"m":{"k":{}}}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := string(o.WithoutPaths(paths...).JSON()), `{"kind":"A"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
