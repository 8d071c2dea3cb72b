package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// prune is Prune of an object that is within the bounds.
func prune(t testing.TB, p *Plan, d *tree.Doc, root uint32) []Change {
	t.Helper()
	changes, err := p.Prune(d, root, true)
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

// fillDefaults is Default of an object that is within the bounds.
func fillDefaults(t testing.TB, p *Plan, d *tree.Doc, root uint32) []Change {
	t.Helper()
	changes, err := p.Default(d, root, true, tree.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

// limit is the LimitError that err must be.
func limit(t *testing.T, err error) *tree.LimitError {
	t.Helper()
	var l *tree.LimitError
	if !errors.As(err, &l) {
		t.Fatalf("%v is no limit error", err)
	}
	return l
}

func TestDefaultsAddNoMoreThanTheyMay(t *testing.T) {
	const schema = `{type: object, properties: {list: {type: array, items: {type: object, properties: {a: {type: string, default: "0123456789"}}}},
		nulls: {type: array, items: {type: string, default: "0123456789"}}}}`
	p := compiled(t, schema, Options{})
	for _, c := range []struct {
		name, in string
		l        tree.Limits
		ok       bool
	}{
		{"few", `{"list":[{},{}]}`, tree.Limits{MaxDefaultBytes: 40}, true},
		{"one too many", `{"list":[{},{},{}]}`, tree.Limits{MaxDefaultBytes: 40}, false},
		{"nulls too", `{"nulls":[null,null,null]}`, tree.Limits{MaxDefaultBytes: 40}, false},
		{"by default a lot", `{"list":[{}` + strings.Repeat(",{}", 100_000) + `]}`, tree.Limits{}, true},
		{"but not everything", `{"list":[{}` + strings.Repeat(",{}", 600_000) + `]}`, tree.Limits{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := tree.Acquire()
			defer d.Release()
			root, err := d.ParseJSON([]byte(c.in), tree.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if ok := p.Accept(d, root, Mode{Limits: c.l}); ok != c.ok {
				t.Errorf("accept says %v", ok)
			}
			d.Reset()
			root, _ = d.ParseJSON([]byte(c.in), tree.Limits{})
			_, err = p.Default(d, root, false, c.l)
			if c.ok {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if l := limit(t, err); l.Limit != "expansion by defaults" || l.Maximum != int64(c.l.WithDefaults().MaxDefaultBytes) || l.Actual <= l.Maximum {
				t.Errorf("%+v", l)
			}
		})
	}
}

// Unknown fields at the bottom of nested arrays have paths as long as the nesting is deep.
func TestPathsOfChangesAreBounded(t *testing.T) {
	p := compiled(t, `{type: object, properties: {any: {type: object, additionalProperties: true}}}`, Options{})
	in := func(depth, unknown int) []byte {
		return []byte(`{"any":{"x":` + strings.Repeat("[", depth) + `{"u":1,"uu":1` + strings.Repeat(`},{"u":1`, unknown) + `}` +
			strings.Repeat("]", depth) + `}}`)
	}
	for _, c := range []struct {
		name           string
		depth, unknown int
		ok             bool
	}{
		{"deep", 5000, 10, true},
		{"many", 10, 50_000, true},
		{"deep and many", 5000, 50_000, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := tree.Acquire()
			defer d.Release()
			src := in(c.depth, c.unknown)
			root, err := d.ParseJSON(src, tree.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if ok := p.Accept(d, root, Mode{Edits: new(Edits)}); ok != c.ok {
				t.Errorf("accept says %v", ok)
			}
			d.Reset()
			root, _ = d.ParseJSON(src, tree.Limits{})
			changes, err := p.Prune(d, root, true)
			if c.ok {
				if err != nil || len(changes) != c.unknown+2 {
					t.Errorf("%d changes, %v", len(changes), err)
				}
				return
			}
			if l := limit(t, err); l.Maximum != maxPathSteps {
				t.Errorf("%+v", l)
			}
			d.Reset()
			root, _ = d.ParseJSON(src, tree.Limits{})
			if _, err := p.Prune(d, root, false); err != nil {
				t.Errorf("without tracking: %v", err)
			}
		})
	}
}

func TestDefaultsWithinDefaultsAreBounded(t *testing.T) {
	list := "[{}" + strings.Repeat(",{}", 200) + "]"
	schema := `{type: object, properties: {list: {type: array, default: ` + list + `, items: {type: object, properties: {
		a: {type: string, default: "` + strings.Repeat("x", 100_000) + `"}}}}}}`
	_, err := Compile(schemaOf(t, schema), Options{})
	if l := limit(t, err); l.Limit != "expansion by defaults" || l.Maximum != maxPlanDefaultBytes {
		t.Errorf("%+v", l)
	}
}
