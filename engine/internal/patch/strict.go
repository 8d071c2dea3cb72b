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

// Decode decodes a patch as API servers do for field validation. It returns the errors of strict decoding about the
// patch itself: duplicate fields, and unknown fields of operations. There are at most 100, as upstream. The error is an
// *Error.
func (p Document) Decode() (unknown []string, err error) {
	if p.Type == Merge && p.Doc.Nodes[p.Root].Kind == value.Object && !p.Doc.HasDuplicates(value.Request) {
		return nil, nil
	}
	found, err := p.unmarshal()
	if err != nil {
		return nil, badRequest("error decoding patch: " + upstreamNames.Replace(err.Error()))
	}
	for _, f := range found {
		text := f.Error()
		if p.Type == JSON {
			text = "json patch " + text
		}
		unknown = append(unknown, text)
	}
	return unknown, nil
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
func (p Document) undecodable() (err error) {
	if p.Type == JSON {
		_, err = jsonpatch.DecodePatch(p.Text)
	} else if _, err = jsonpatch.MergePatch([]byte("{}"), p.Text); !errors.Is(err, jsonpatch.ErrBadJSONPatch) {
		return nil
	}
	return err
}

func (p Document) unmarshal() ([]error, error) {
	if p.Type == Merge {
		into := map[string]any{}
		return kjson.UnmarshalStrict(p.Text, &into)
	}
	var into []jsonPatchOp
	return kjson.UnmarshalStrict(p.Text, &into)
}
