package hint

import (
	"slices"
	"strconv"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// ForCRD returns a Finder for the manifest of a CRD, whose tree is at root in d. of is the Go type of the CRD. The
// Finder is valid as long as d is, and needs no Close. root can be 0; there are no hints about values then.
func ForCRD(d *tree.Doc, root uint32, of schema.Shape, text []byte, yaml bool) *Finder {
	f := &Finder{top: target{api: of}}
	if root != 0 {
		f.text, f.yaml, f.doc, f.root, f.finder = text, yaml, d, root, d.Finder()
	}
	return f
}

// manifest returns a hint about a value of a CRD that cannot be decoded or is invalid.
func (f *Finder) manifest(v *violation.Violation, offset int) *violation.Hint {
	node := f.at(v.Path)
	if node == 0 || len(v.Path) == 0 {
		return nil
	}
	if v.Type == violation.TypeDecode {
		if h := f.keyword(v.Path, node); h != nil {
			return h
		}
		return f.ofTarget(f.target(v.Path), node, offset)
	}
	s := f.schemaOfDefault(v.Path)
	if s == 0 {
		return nil
	}
	of := target{given: &given{enum: f.values(f.doc.Field(s, "enum"))}}
	if t := f.doc.Field(s, "type"); f.doc.Nodes[t].Kind == tree.String {
		of.given.types = []string{f.doc.Str(t)}
	}
	return f.ofScalar(of, node, offset)
}

// EnumValue returns a hint about a value of an enum that is not of a type of its schema, or nil.
func (f *Finder) EnumValue(path tree.Path, types []string, at tree.Position) *violation.Hint {
	return f.ask(path, func() *violation.Hint { return f.converted(f.at(path), f.index(at), types) })
}

// isSchema reports whether the values at a path are schemas of a CRD.
func (f *Finder) isSchema(path tree.Path) bool {
	t := f.target(path)
	return t.api.Known() && t.declares("x-kubernetes-validations")
}

// keyword returns a hint about a keyword of a schema whose value has a wrong type.
func (f *Finder) keyword(path tree.Path, node uint32) *violation.Hint {
	d, n := f.doc, &f.doc.Nodes[node]
	if f.target(path).api.Bytes() {
		return &violation.Hint{Text: "write the bytes in base64, or remove the field if a controller sets it later"}
	}
	parent, key := path[:len(path)-1], path[len(path)-1].Key()
	if !f.isSchema(parent) {
		return nil
	}
	switch {
	case key == "required" && (n.Kind == tree.True || n.Kind == tree.False):
		text := "required is a list of names of properties"
		if k := len(parent) - 1; k > 0 && !parent[k].IsIndex() && parent[k-1].Key() == "properties" {
			text += " in the schema of the parent"
			if n.Kind == tree.True {
				text += ": add " + strconv.Quote(parent[k].Key()) + " to its list, and remove this"
			}
		}
		return &violation.Hint{Text: text}
	case key == "type" && n.Kind == tree.Array:
		return f.listOfTypes(node)
	case key == "exclusiveMinimum" || key == "exclusiveMaximum":
		bound := "minimum"
		if key == "exclusiveMaximum" {
			bound = "maximum"
		}
		if n.Kind == tree.Int || n.Kind == tree.Float {
			number := string(d.AppendJSON(nil, node))
			return &violation.Hint{Text: key + " is true or false: use " + bound + ": " + number + " and " + key + ": true"}
		}
	}
	return nil
}

// unknownKeyword returns a hint about a member of a schema that is not a keyword of CRDs.
func (f *Finder) unknownKeyword(path tree.Path) *violation.Hint {
	parent, key, node := path[:len(path)-1], path[len(path)-1].Key(), f.at(path)
	if node == 0 || !f.isSchema(parent) {
		return nil
	}
	switch d := f.doc; {
	case key == "const":
		return &violation.Hint{Text: "use an enum with one value: enum: [" + string(d.AppendJSON(nil, node)) + "]",
			Pointer: parent.With(tree.Name("enum")).Pointer()}
	case d.Nodes[node].Kind == tree.Object && d.Field(node, "type") != 0:
		return &violation.Hint{Text: "did you mean a property? Properties are declared in " + strconv.Quote("properties"),
			Pointer: parent.With(tree.Name("properties"), tree.Name(key)).Pointer()}
	}
	return nil
}

// listOfTypes returns a hint about a list of types. A schema of a CRD has one.
func (f *Finder) listOfTypes(node uint32) *violation.Hint {
	d := f.doc
	var types []string
	for c := d.Nodes[node].First; c != 0; c = d.Nodes[c].Next {
		switch d.Nodes[c].Kind {
		case tree.Null:
			types = append(types, "null")
		case tree.String:
			types = append(types, d.Str(c))
		default:
			return nil
		}
	}
	others := slices.DeleteFunc(slices.Clone(types), func(t string) bool { return t == "null" })
	switch slices.Sort(others); {
	case len(others) == 1 && len(types) > 1:
		return &violation.Hint{Text: "use type: " + others[0] + " and nullable: true", Replacement: strconv.AppendQuote(nil, others[0])}
	case slices.Equal(others, []string{"integer", "string"}):
		return &violation.Hint{Text: "use x-kubernetes-int-or-string: true instead of type"}
	}
	return nil
}

// schemaOfDefault returns the schema of a value in a default, or 0.
func (f *Finder) schemaOfDefault(path tree.Path) uint32 {
	for k, s := range path {
		if s.Key() != "default" || !f.isSchema(path[:k]) {
			continue
		}
		at := f.at(path[:k])
		for _, s := range path[k+1:] {
			if s.IsIndex() {
				at = f.doc.Field(at, "items")
			} else if p := f.doc.Field(f.doc.Field(at, "properties"), s.Key()); p != 0 {
				at = p
			} else {
				at = f.doc.Field(at, "additionalProperties")
			}
		}
		return at
	}
	return 0
}

// values returns the elements of a list.
func (f *Finder) values(list uint32) (values []any) {
	if f.doc.Nodes[list].Kind != tree.Array {
		return nil
	}
	for c := f.doc.Nodes[list].First; c != 0; c = f.doc.Nodes[c].Next {
		values = append(values, f.doc.Any(c))
	}
	return values
}
