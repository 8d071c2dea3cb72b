package schema

import (
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// props reads a schema. It knows the frequent keywords, because reflection takes twice as long.
func (r *reader) props(p *Props, i uint32) bool {
	ok := r.d.Nodes[i].Kind == tree.Object
	for c := r.d.Nodes[i].First; ok && c != 0; c = r.d.Nodes[c].Next {
		switch key := r.d.Key(c); key {
		case "description":
			ok = r.text(&p.Description, c)
		case "type":
			ok = r.text(&p.Type, c)
		case "format":
			ok = r.text(&p.Format, c)
		case "pattern":
			ok = r.text(&p.Pattern, c)
		case "properties":
			ok = r.d.Nodes[c].Kind == tree.Null || r.properties(&p.Properties, c)
		case "items":
			if r.d.Nodes[c].Kind != tree.Null {
				p.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: new(Props)}
				ok = r.props(p.Items.Schema, c)
			}
		default:
			ok = r.field(reflect.ValueOf(p).Elem(), key, c)
		}
	}
	return ok
}

// properties reads a map of schemas. Schemas of one depth share a variable, because they are large.
func (r *reader) properties(m *map[string]Props, i uint32) bool {
	if r.depth == len(r.levels) {
		r.levels = append(r.levels, new(Props))
	}
	p := r.levels[r.depth]
	r.depth++
	*m = make(map[string]Props, r.d.Len(i))
	ok := r.d.Nodes[i].Kind == tree.Object
	for c := r.d.Nodes[i].First; ok && c != 0; c = r.d.Nodes[c].Next {
		*p = Props{}
		ok = r.d.Nodes[c].Kind == tree.Null || r.props(p, c)
		(*m)[strings.Clone(r.d.Key(c))] = *p
	}
	r.depth--
	return ok
}

// text reads a string.
func (r *reader) text(s *string, i uint32) bool {
	switch r.d.Nodes[i].Kind {
	case tree.Null:
		return true
	case tree.String:
		*s = r.d.Str(i)
		if k := slices.Index(types, *s); k >= 0 {
			*s = types[k]
		} else {
			*s = strings.Clone(*s)
		}
		return true
	}
	return false
}
