package plan

import (
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// TestPathsOfSchemasAreBounded: texts about a schema node contain all names on its path.
func TestPathsOfSchemasAreBounded(t *testing.T) {
	below := func(n int) *apiextensionsv1.JSONSchemaProps {
		props := make(map[string]apiextensionsv1.JSONSchemaProps, n)
		for i := range n {
			props[fmt.Sprint(i)] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		}
		return &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
			strings.Repeat("k", 1<<20): {Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: props}}},
		}}
	}
	if err := Fits(below(maxPathNameBytes>>20 - 4)); err != nil {
		t.Error(err)
	}
	if l := limit(t, Fits(below(maxPathNameBytes>>20))); l.Maximum != maxPathNameBytes {
		t.Errorf("%+v", l)
	}
}

// TestPathsOfLongKeysAreBounded: a key of a map is in the path of everything below it, so a small document could have
// hundreds of gigabytes of paths.
func TestPathsOfLongKeysAreBounded(t *testing.T) {
	p := compiled(t, `{type: object, properties: {spec: {type: object, additionalProperties: {type: object, properties: {
		filled: {type: array, items: {type: object, properties: {d: {type: integer, default: 1}}}},
		embedded: {type: array, items: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}}}}}}`, Options{})
	const few, many = 10, 1000
	in := func(members string) []byte {
		return []byte(`{"spec":{"` + strings.Repeat("k", 100_000) + `":{` + members + `}}}`)
	}
	times := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for _, c := range []struct {
		name    string
		members func(n int) string
		steps   func(d *tree.Doc, root uint32, track bool) (tracked int, err error)
	}{
		{"unknown", func(n int) string { return `"filled":[]` + times(n, `,"u%d":1`) }, func(d *tree.Doc, root uint32, track bool) (int, error) {
			changes, err := p.Prune(d, root, track)
			return len(changes), err
		}},
		{"defaulted", func(n int) string { return `"filled":[{"d":2}` + strings.Repeat(`,{}`, n) + `]` }, func(d *tree.Doc, root uint32, track bool) (int, error) {
			changes, err := p.Default(d, root, track, tree.Limits{})
			return len(changes), err
		}},
		{"embedded", func(n int) string {
			return `"embedded":[{"apiVersion":"v1","kind":"A"}` + times(n, `,{"apiVersion":"v1","kind":"A","metadata":{"u%d":1}}`) + `]`
		}, func(d *tree.Doc, root uint32, track bool) (int, error) {
			unknown, _, err := p.CoerceEmbedded(d, root, metadata.Options{Track: track})
			return len(unknown), err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := tree.Acquire()
			defer d.Release()
			parse := func(n int) uint32 {
				d.Reset()
				root, err := d.ParseJSON(in(c.members(n)), tree.Limits{})
				if err != nil {
					t.Fatal(err)
				}
				return root
			}
			edits := new(Edits)
			if !p.Accept(d, parse(few), Mode{Edits: edits}) && c.name != "embedded" || c.name != "embedded" && len(edits.List) != few {
				t.Errorf("accept doubts about a few, %d edits", len(edits.List))
			}
			if tracked, err := c.steps(d, parse(few), true); err != nil || tracked != few {
				t.Errorf("a few: %d, %v", tracked, err)
			}
			if p.Accept(d, parse(many), Mode{Edits: new(Edits)}) {
				t.Error("accept reports paths beyond the bound")
			}
			_, err := c.steps(d, parse(many), true)
			if l := limit(t, err); l.Maximum != maxPathBytes {
				t.Errorf("%+v", l)
			}
			if _, err := c.steps(d, parse(many), false); err != nil {
				t.Errorf("without tracking: %v", err)
			}
		})
	}
}
