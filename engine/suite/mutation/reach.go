package mutation

import (
	"bytes"
	"context"
	"encoding/json"
	"math/big"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/suite"
)

// reach is the set of schemas of a version that apply to a value of a test. nil means all schemas.
type reach = *big.Int

// write is a write of a test.
type write struct {
	apiVersion, kind string
	item             engine.Item
	options          engine.EvaluationOptions
	verdict          *engine.Verdict
}

// recorder is an Evaluator that records writes and the objects that are checked.
type recorder struct {
	suite.Evaluator
	writes  []write
	checked [][]byte
}

func (r *recorder) Admit(
	ctx context.Context, apiVersion, kind string, item engine.Item, o engine.EvaluationOptions,
) (*engine.Verdict, error) {
	v, err := r.Evaluator.Admit(ctx, apiVersion, kind, item, o)
	r.writes = append(r.writes, write{apiVersion, kind, item, o, v})
	return v, err
}

func (r *recorder) ReadStored(
	ctx context.Context, apiVersion, kind string, object []byte, o engine.EvaluationOptions,
) ([]engine.FieldChange, *engine.Verdict, error) {
	r.checked = append(r.checked, object)
	return r.Evaluator.ReadStored(ctx, apiVersion, kind, object, o)
}

// reaches returns the reach of the recorded writes in a version, with all their values as values of that version.
func (r *recorder) reaches(v *version) reach {
	set := new(big.Int)
	for _, object := range r.checked {
		v.schema.visit(parse(object), set)
	}
	for i := range r.writes {
		w := &r.writes[i]
		old := parse(w.item.OldObject.JSON)
		if w.item.Subresource == "scale" {
			return nil
		}
		object := parse(w.item.Object.JSON)
		if patch := w.item.Patch; patch != nil {
			patched, err := applied(w.item.OldObject.JSON, patch)
			if err != nil {
				return nil
			}
			object = parse(patched)
		}
		for _, value := range []any{old, object} {
			if value != nil {
				v.schema.visit(value, set)
			}
		}
		if w.verdict != nil && w.verdict.Object != nil {
			v.schema.visit(parse(w.verdict.Object), set)
		}
	}
	return set
}

func applied(old []byte, patch *engine.Patch) ([]byte, error) {
	if patch.Type == engine.MergePatch {
		return jsonpatch.MergePatch(old, patch.Document.JSON)
	}
	operations, err := jsonpatch.DecodePatch(patch.Document.JSON)
	if err != nil {
		return nil, err
	}
	return operations.Apply(old)
}

// parse returns a JSON value, or nil.
func parse(text []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	_ = d.Decode(&v) // objects that were read before, or are not JSON and reach nothing
	return v
}

// visit adds the schemas that apply to a value and the values below it. A field without a value has its default.
func (n *schemaNode) visit(v any, set reach) {
	set.SetBit(set, n.index, 1)
	for _, branch := range n.branches {
		branch.visit(v, set)
	}
	switch v := v.(type) {
	case map[string]any:
		for name, child := range n.properties {
			value, ok := v[name]
			if byDefault, has := child.keys["default"]; has && (!ok || value == nil) {
				child.visit(byDefault, set)
			}
			if ok {
				child.visit(value, set)
			}
		}
		if n.additional != nil {
			for name, value := range v {
				if n.properties[name] == nil {
					n.additional.visit(value, set)
				}
			}
		}
	case []any:
		if n.items != nil {
			for _, item := range v {
				n.items.visit(item, set)
			}
		}
	}
}
