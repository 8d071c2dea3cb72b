package patch

import (
	"errors"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	kjson "sigs.k8s.io/json"

	"github.com/crdeval/crdeval/engine/value"
)

// jsonPatchOp is the type that API servers decode operations into for field validation. Its name is part of their
// messages.
type jsonPatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

// upstreamNames replaces this package by upstream's in a message about a type.
var upstreamNames = strings.NewReplacer("patch.jsonPatchOp", "handlers.jsonPatchOp")

// decode rejects a patch that strict decoding rejects.
func (p Document) decode() error {
	if p.plain() {
		return nil
	}
	_, err := p.unmarshal()
	if err != nil {
		return badRequest("error decoding patch: " + upstreamNames.Replace(err.Error()))
	}
	return nil
}

// OutOfRange returns an API server's message about a patch with a number outside of float64. err is the error of
// parsing it. With strict, API servers first decode the patch into its type; otherwise they only check that it is a
// patch. Document needs no Doc.
func (p Document) OutOfRange(err error, strict bool) string {
	if strict {
		if _, of := p.unmarshal(); of != nil {
			err = of
		}
	} else if of := p.undecodable(); of != nil {
		return of.Error()
	}
	return "error decoding patch: " + upstreamNames.Replace(err.Error())
}

// undecodable returns the library's message about a text that is not a patch.
func (p Document) undecodable() error {
	if p.Type == JSON {
		_, err := jsonpatch.DecodePatch(p.Text)
		return err
	}
	if _, err := jsonpatch.MergePatch([]byte("{}"), p.Text); errors.Is(err, jsonpatch.ErrBadJSONPatch) {
		return err
	}
	return nil
}

// readable rejects a JSON patch that is not a list of objects. Merge patches are checked when they are applied.
func (p Document) readable() error {
	if p.Type == Merge || p.isList() {
		return nil
	}
	if _, err := jsonpatch.DecodePatch(p.Text); err != nil {
		return badRequest(err.Error())
	}
	return nil
}

// isList reports whether a JSON patch is a list of objects; null may replace either.
func (p Document) isList() bool {
	d := p.Doc
	switch d.Nodes[p.Root].Kind {
	case value.Null:
		return true
	case value.Array:
		for c := d.Nodes[p.Root].First; c != 0; c = d.Nodes[c].Next {
			if k := d.Nodes[c].Kind; k != value.Object && k != value.Null {
				return false
			}
		}
		return true
	}
	return false
}

// Unknown returns the errors of strict decoding about the patch itself: duplicate fields, and unknown fields of
// operations. There are at most 100, as upstream.
func (p Document) Unknown() []string {
	if p.plain() {
		return nil
	}
	found, err := p.unmarshal()
	if err != nil {
		return nil // decode reports it
	}
	texts := make([]string, len(found))
	for i, f := range found {
		if texts[i] = f.Error(); p.Type == JSON {
			texts[i] = "json patch " + texts[i]
		}
	}
	return texts
}

func (p Document) unmarshal() ([]error, error) {
	if p.Type == Merge {
		into := map[string]any{}
		return kjson.UnmarshalStrict(p.Text, &into)
	}
	var into []jsonPatchOp
	return kjson.UnmarshalStrict(p.Text, &into)
}

// plain reports whether strict decoding has no error.
func (p Document) plain() bool {
	d := p.Doc
	if d.HasDuplicates(value.Request) {
		return false
	}
	if p.Type == Merge {
		return d.Nodes[p.Root].Kind == value.Object
	}
	if !p.isList() {
		return false
	}
	for op := d.Nodes[p.Root].First; op != 0; op = d.Nodes[op].Next {
		for c := d.Nodes[op].First; c != 0; c = d.Nodes[c].Next {
			switch d.Key(c) {
			case "op", "path", "from":
				if k := d.Nodes[c].Kind; k != value.String && k != value.Null {
					return false
				}
			case "value":
			default:
				return false
			}
		}
	}
	return true
}
