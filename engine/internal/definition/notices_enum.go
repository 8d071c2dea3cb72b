package definition

import (
	"math"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// enumNotes notes values of enums that are not of the type of their schema.
type enumNotes struct {
	s    *Source
	m    *Manifest
	note noteFunc
	left int // how many enums may still be looked at whose schema has no type of its own
}

// add adds notes about the enum of an object, if it is a schema.
func (e *enumNotes) add(object uint32) {
	d := e.s.Doc
	enum := d.Field(object, "enum")
	if d.Nodes[enum].Kind != tree.Array {
		return
	}
	types := e.s.typesOf(object)
	if types == nil && e.left > 0 {
		e.left--
		types = e.s.typesAround(e.s.pathTo(object))
	}
	if types == nil {
		return
	}
	for c := d.Nodes[enum].First; c != 0; c = d.Nodes[c].Next {
		if slices.ContainsFunc(types, func(of string) bool { return isOfType(d, c, of) }) {
			continue
		}
		path := e.s.pathTo(c)
		if path == nil {
			return
		}
		if at, _ := e.s.shapeAt(e.m, path[:len(path)-2]); !at.HasFields() || !at.Child("enum").Known() {
			return // a default, or properties
		}
		e.note(path, e.s.finder(e.m.beta).EnumValue(path, types, d.PositionAt(path)),
			"the value %s of the enum never matches: the type of the schema is %s", shortText(d, c), strings.Join(types, " or "))
	}
}

// typesOf returns the types that a schema has of its own, nil for any.
func (s *Source) typesOf(schema uint32) []string {
	d := s.Doc
	if d.Nodes[d.Field(schema, "x-kubernetes-int-or-string")].Kind == tree.True {
		return []string{"integer", "string"}
	}
	if of := d.Field(schema, "type"); d.Nodes[of].Kind == tree.String {
		return []string{d.Str(of)}
	}
	return nil
}

// typesAround returns the types of the values of a schema below logical operators, which the schema outside of them
// declares.
func (s *Source) typesAround(path tree.Path) []string {
	k := slices.IndexFunc(path, func(step tree.Segment) bool { return step.Key() == "openAPIV3Schema" })
	if k < 0 {
		return nil
	}
	declared := path[:k+1].Clone()
	for k++; k < len(path); k++ {
		switch path[k].Key() {
		case "allOf", "anyOf", "oneOf":
			k++ // the index
		case "not":
		case "properties":
			declared = append(declared, path[k:min(k+2, len(path))]...)
			k++
		default:
			declared = append(declared, path[k])
		}
	}
	if len(declared) == len(path) {
		return nil
	}
	return s.typesOf(s.Doc.Finder().Lookup(s.Root, declared))
}

// isOfType reports whether a value can be valid for a type. It can for an unknown type.
func isOfType(d *tree.Doc, node uint32, of string) bool {
	switch kind := d.Nodes[node].Kind; {
	case kind == tree.Null || kind.String() == of:
		return true
	case of == "number":
		return kind == tree.Int
	case of == "integer":
		return kind == tree.Float && d.Float(node) == math.Trunc(d.Float(node))
	case of == "string" || of == "boolean" || of == "array" || of == "object":
		return false
	}
	return true
}
