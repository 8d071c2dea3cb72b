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
	write            engine.Write
	options          engine.AdmitOptions
	verdict          *engine.Verdict
}

// recorder is an Evaluator that records writes and the objects that are checked.
type recorder struct {
	suite.Evaluator
	writes  []write
	checked [][]byte
}

func (r *recorder) Admit(
	ctx context.Context, apiVersion, kind string, w engine.Write, o engine.AdmitOptions,
) (*engine.Verdict, error) {
	v, err := r.Evaluator.Admit(ctx, apiVersion, kind, w, o)
	r.writes = append(r.writes, write{apiVersion, kind, w, o, v})
	return v, err
}

func (r *recorder) ReadStored(
	ctx context.Context, apiVersion, kind string, object []byte, o engine.ValidateOptions,
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
		object, old, subresource, err := objectsOf(w.write)
		if subresource == "scale" || err != nil {
			return nil
		}
		for _, value := range []any{parse(old), parse(object)} {
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

// objectsOf returns the new and the old object of a write of a test, whose documents are JSON. The error is that of a
// patch that cannot be applied: it can change a field that only the stored object has.
func objectsOf(w engine.Write) (object, old []byte, subresource string, err error) {
	switch w := w.(type) {
	case engine.Update:
		return w.Object.JSON, w.Old.JSON, w.Subresource, nil
	case engine.Patch:
		old = w.Old.JSON
		if w.Type == engine.MergePatch {
			object, err = jsonpatch.MergePatch(old, w.Body.JSON)
			return object, old, w.Subresource, err
		}
		operations, err := jsonpatch.DecodePatch(w.Body.JSON)
		if err == nil {
			object, err = operations.Apply(old)
		}
		return object, old, w.Subresource, err
	}
	return w.(engine.Create).Object.JSON, nil, "", nil
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
