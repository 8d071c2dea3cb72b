package gateway

import (
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/engine/value"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// relocate moves the positions of findings from the JSON that a YAML request was turned into, back to the YAML that the caller
// wrote: line, column and offset are those of the body.
func relocate(answer proto.Message, source *value.YAMLSource) {
	r, ok := answer.(*crdevalv1.ValidateResponse)
	if !ok {
		return
	}
	for i, result := range r.GetResults() {
		object := value.Path{value.Name("items"), value.At(i), value.Name("object")}
		for _, v := range result.GetVerdict().GetViolations() {
			if v.GetPosition() == nil {
				continue
			}
			p := locate(source, object, v.GetPointer())
			v.Position = &crdevalv1.Position{Line: int32(p.Line), Column: int32(p.Column), Offset: int64(p.Offset)}
		}
	}
}

// locate follows a JSON pointer from a place of the source as far as the source goes: what is missing has the position of the
// object that lacks it. A pointer does not tell an index from a key of digits; the source does, in which a step that leads nowhere
// stays where it was.
func locate(source *value.YAMLSource, from value.Path, pointer string) value.Position {
	path, at := from, source.Position(from)
	if pointer == "" {
		return at
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		next := path.With(value.Name(strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")))
		if n, err := strconv.Atoi(token); err == nil && n >= 0 {
			if index := path.With(value.At(n)); source.Position(index) != at {
				next = index
			}
		}
		path, at = next, source.Position(next)
	}
	return at
}
