package lens

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// kinds maps a type to the kinds of its values.
var kinds = map[string][]tree.Kind{
	"string": {tree.String}, "integer": {tree.Int}, "number": {tree.Int, tree.Float}, "boolean": {tree.False, tree.True},
	intOrString: {tree.Int, tree.String},
}

// nameValues checks the values of a rule. Keys in YAML are strings. If the field has another type, the text of the key
// is parsed.
func (b *pairing) nameValues(r *compiledRule) {
	from, to := b.schemaAt(0, r.from, r.at), b.schemaAt(1, r.to, r.at)
	if from == nil || to == nil {
		return
	}
	seen := map[string]string{}
	for i := range r.values {
		key, result := &r.values[i][0], &r.values[i][1]
		if t := typeOf(from); t != "string" && t != intOrString {
			_ = json.Unmarshal([]byte(key.json), &key.json)
			key.kind, key.json = scalar([]byte(key.json))
		}
		for s, v := range []*text{key, result} {
			t := typeOf([]*schema.Props{from, to}[s])
			if !slices.Contains(kinds[t], v.kind) {
				b.invalid(v.at, v.shown(), "is not of type %s, as the field is in %s", t, b.sides[s].Name)
			}
		}
		if other, found := seen[result.json]; found {
			b.invalid(result.at, result.shown(), "%s and %s become the same value, so it cannot be converted back: use a cel rule",
				other, key.json)
		}
		seen[result.json] = key.json
	}
}

// valuesStep replaces values. A value that is not in the map stays. It is an error if it is the image of another
// value.
type valuesStep struct {
	to     map[string]string // JSON texts
	images map[string]string // of other values, by the image
	target string
	by     *compiledRule
}

// values builds the step of one direction.
func (w *walker) values(src, dst *schema.Props, by *compiledRule) (*valuesStep, *check) {
	s := &valuesStep{to: map[string]string{}, images: map[string]string{}, target: w.dst.Name, by: by}
	for _, v := range by.values {
		s.to[v[w.from].json] = v[1-w.from].json
	}
	for key, image := range s.to {
		if _, mapped := s.to[image]; !mapped {
			s.images[image] = key
		}
	}
	allowed := canonicals(dst.Enum)
	accepts := func(image string) bool { return len(allowed) == 0 || slices.Contains(allowed, image) }
	for _, v := range by.values {
		if image := &v[1-w.from]; !accepts(image.json) {
			w.invalid(image.at, image.shown(), "is not a value of the field in %s", w.dst.Name)
		}
	}
	enum := canonicals(src.Enum)
	if src.Type == "boolean" && len(enum) == 0 {
		enum = []string{"true", "false"}
	}
	sameType := typeOf(src) == typeOf(dst)
	for _, v := range enum {
		if _, mapped := s.to[v]; !mapped && (s.images[v] != "" || !accepts(v) || !sameType) {
			w.invalid(by.at.With(tree.Name(string(Values)), tree.Name("map")), v,
				"is a value of the field in %s, and has no counterpart in %s: add it to the map, or write a cel rule", w.src.Name, w.dst.Name)
		}
	}
	if len(enum) > 0 {
		return s, nil
	}
	for _, v := range by.values {
		if image := v[1-w.from].json; s.images[image] != "" {
			by.require(fmt.Sprintf("the value in %s is not %s, unless the map has it", w.src.Name, image))
		}
	}
	if len(dst.Enum) == 0 && sameType {
		return s, nil
	}
	by.require(fmt.Sprintf("the value in %s is in the map, or is a value in %s", w.src.Name, w.dst.Name))
	return s, &check{w.plan(shallow(dst), by.at), by, "has no counterpart in " + w.dst.Name + ": add it to the map"}
}

// scalar returns the kind of a JSON text and the text of appendScalar. A text that is not JSON is a string.
func scalar(raw []byte) (tree.Kind, string) {
	d := tree.Acquire()
	defer d.Release()
	root, err := d.ParseJSON(raw, tree.Limits{MaxBytes: max(len(raw), 1)})
	if err != nil {
		return tree.String, string(raw)
	}
	return d.Nodes[root].Kind, string(appendScalar(nil, d, root))
}

// canonicals returns the texts of the values of an enum, as appendScalar has them.
func canonicals(enum []apiextensionsv1.JSON) []string {
	texts := make([]string, len(enum))
	for i, v := range enum {
		_, texts[i] = scalar(v.Raw)
	}
	return texts
}

// appendScalar appends a scalar as JSON. Equal values have equal texts, even if the source escapes them differently.
func appendScalar(dst []byte, d *tree.Doc, i uint32) []byte {
	if d.Nodes[i].Kind == tree.String {
		return tree.AppendString(dst, d.Str(i))
	}
	return d.AppendCanonical(dst, i)
}

func (s *valuesStep) run(r *run, i uint32) (changed bool, failed *Error) {
	if kind := r.d.Nodes[i].Kind; kind == tree.Null || kind == tree.Array || kind == tree.Object {
		return false, nil
	}
	r.buffer = appendScalar(r.buffer[:0], r.d, i)
	if image, found := s.to[string(r.buffer)]; found {
		if image == string(r.buffer) {
			return false, nil
		}
		r.d.Replace(i, newNode(r.d, "", image))
		return true, nil
	}
	if other, found := s.images[string(r.buffer)]; found {
		return false, r.failed(s.by, i, fmt.Sprintf("has no counterpart in %s, where %s has this value: add it to the map",
			s.target, strings.TrimSpace(other)))
	}
	return false, nil
}
