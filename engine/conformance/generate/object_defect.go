package generate

import (
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// place is a value, its schema, and its parent.
type place struct {
	schema, value, parent *jsontree.Node
	index                 int
}

// places pairs an object's values with their schemas. Values without a schema are omitted.
func places(schema, value, parent *jsontree.Node, index int, out []place) []place {
	if schema == nil || schema.Kind != jsontree.Object {
		return out
	}
	out = append(out, place{schema, value, parent, index})
	switch value.Kind {
	case jsontree.Array:
		for i, e := range value.Items {
			out = places(schema.Get("items"), e, value, i, out)
		}
	case jsontree.Object:
		props, extra := schema.Get("properties"), schema.Get("additionalProperties")
		for i, m := range value.Members {
			s := extra
			if p := props.Get(m.Key); p != nil {
				s = p
			}
			out = places(s, m.Value, value, i, out)
		}
	}
	return out
}

// Break inserts n defects into an object, each at a random value and suited to its schema: a wrong type, a null, a
// missing or unknown member, a bound exceeded by one, a duplicate.
func Break(r Rand, schema, object *jsontree.Node, n int) {
	for range n {
		at := places(schema, object, nil, 0, nil)
		// few defects are possible at the root, and its apiVersion, kind and metadata have a generator of their own
		p := Pick(r, at)
		if len(at) > 1 && p.parent == nil && r.Chance(80) {
			p = at[1+r.IntN(len(at)-1)]
		}
		breakAt(r, p)
	}
}

func breakAt(r Rand, p place) {
	v := p.value
	replace := func(n *jsontree.Node) {
		if p.parent != nil {
			p.parent.SetChild(p.index, n)
		}
	}
	switch r.IntN(10) {
	case 0:
		replace(jsontree.Null())
		return
	case 1:
		replace(Any(r, 2))
		return
	case 2:
		replace(edgeFor(r, p.schema))
		return
	}
	switch v.Kind {
	case jsontree.Object:
		breakObject(r, p.schema, v)
	case jsontree.Array:
		breakArray(r, p.schema, v)
	default:
		replace(violate(r, p.schema, v))
	}
}

func breakObject(r Rand, s, v *jsontree.Node) {
	switch r.IntN(5) {
	case 0, 1:
		if len(v.Members) > 0 {
			i := r.IntN(len(v.Members))
			if k := v.Members[i].Key; k != "kind" && k != "apiVersion" || r.Chance(10) {
				v.RemoveChild(i)
			}
		}
	case 2:
		v.Set(Pick(r, Keys), Any(r, 2))
	case 3:
		if req := s.Get("required"); req != nil && len(req.Items) > 0 {
			name, _ := Pick(r, req.Items).Text()
			v.Delete(name)
			return
		}
		v.Set("unknownField", Any(r, 1))
	case 4:
		if len(v.Members) > 0 { // a duplicate member
			m := Pick(r, v.Members)
			value := m.Value.Clone()
			if r.Chance(50) {
				value = Any(r, 1)
			}
			v.Members = append(v.Members, jsontree.Member{Key: m.Key, Value: value})
		}
	}
}

func breakArray(r Rand, s, v *jsontree.Node) {
	switch {
	case len(v.Items) > 0 && r.Chance(60):
		dup := Pick(r, v.Items).Clone()
		if dup.Kind == jsontree.Object && len(dup.Members) > 0 && r.Chance(50) {
			dup.RemoveChild(r.IntN(len(dup.Members)))
		}
		at := r.IntN(len(v.Items) + 1)
		v.Items = append(v.Items[:at:at], append([]*jsontree.Node{dup}, v.Items[at:]...)...)
	case len(v.Items) > 0 && r.Chance(50):
		v.RemoveChild(r.IntN(len(v.Items)))
	case s.Get("items") != nil:
		for range r.Between(1, 4) {
			v.Items = append(v.Items, Value(r, s.Get("items"), 2))
		}
	default:
		v.Items = append(v.Items, Any(r, 1))
	}
}

// violate returns a scalar that violates one keyword of the schema, if possible.
func violate(r Rand, s, old *jsontree.Node) *jsontree.Node {
	var out []*jsontree.Node
	for _, m := range s.Members {
		n, isNum := num(m.Value)
		switch {
		case m.Key == "minimum" && isNum, m.Key == "maximum" && isNum:
			for _, d := range []float64{-1, -0.5, 0, 0.5, 1} {
				out = append(out, jsontree.Raw(strconv.FormatFloat(n+d, 'g', -1, 64)))
			}
			out = append(out, m.Value.Clone())
		case m.Key == "multipleOf" && isNum:
			out = append(out, jsontree.Raw(strconv.FormatFloat(n*1.5, 'g', -1, 64)), jsontree.Raw(strconv.FormatFloat(n*3, 'f', -1, 64)), jsontree.Raw(strconv.FormatFloat(n*3, 'e', -1, 64)))
		case m.Key == "maxLength" && isNum && n < 1e5:
			out = append(out, jsontree.Str(strings.Repeat("é", int(max(n, 0)))), jsontree.Str(strings.Repeat("é", int(max(n, 0))+1)))
		case m.Key == "minLength" && isNum && n < 1e5:
			out = append(out, jsontree.Str(strings.Repeat("é", int(max(n-1, 0)))))
		case m.Key == "pattern":
			for _, p := range Patterns {
				if text, _ := m.Value.Text(); text == p.Re {
					out = append(out, jsontree.Str(Pick(r, p.Bad)), jsontree.Str(Pick(r, p.Good)))
				}
			}
			out = append(out, jsontree.Str("\x01"), jsontree.Str(""))
		case m.Key == "enum":
			for _, e := range m.Value.Items {
				out = append(out, near(r, e))
			}
		case m.Key == "format":
			name, _ := m.Value.Text()
			out = append(out, formatted(r, name), formatted(r, name))
		}
	}
	if len(out) == 0 || r.Chance(15) {
		return near(r, old)
	}
	return Pick(r, out)
}

// near returns a similar value: the other type with the same text, one more, one rune longer.
func near(r Rand, v *jsontree.Node) *jsontree.Node {
	if text, ok := v.Text(); ok {
		switch r.IntN(5) {
		case 0:
			return jsontree.Str(text + "x")
		case 1:
			return jsontree.Str(strings.ToUpper(text))
		case 2:
			if _, err := strconv.ParseFloat(text, 64); err == nil {
				return jsontree.Raw(strings.TrimPrefix(text, "+"))
			}
			return jsontree.Int(int64(len(text)))
		case 3:
			if text != "" {
				return jsontree.Int(int64([]rune(text)[0]))
			}
		}
		return jsontree.Raw(Pick(r, Strings))
	}
	if n, ok := num(v); ok {
		switch r.IntN(5) {
		case 0:
			return jsontree.Str(v.Raw)
		case 1:
			return jsontree.Raw(strconv.FormatFloat(n+0.5, 'g', -1, 64))
		case 2:
			return jsontree.Raw(strconv.FormatFloat(n+1, 'f', -1, 64))
		case 3:
			return jsontree.Raw(strconv.FormatFloat(n, 'e', -1, 64))
		}
		return jsontree.Raw(Pick(r, Numbers))
	}
	switch v.Raw {
	case "true":
		return Pick(r, []*jsontree.Node{jsontree.Bool(false), jsontree.Str("true"), jsontree.Int(1)})
	case "false":
		return Pick(r, []*jsontree.Node{jsontree.Bool(true), jsontree.Str(""), jsontree.Int(0), jsontree.Null()})
	}
	return Any(r, 1)
}

// formatted selects a string from a format's table, rarely mutated.
func formatted(r Rand, name string) *jsontree.Node {
	table := Formats[name]
	if table == nil {
		table = Formats[strings.ToLower(strings.ReplaceAll(name, "-", ""))]
	}
	switch {
	case table == nil && (name == "int32" || name == "int64" || name == "float" || name == "double"):
		return jsontree.Raw(Pick(r, Numbers))
	case table == nil:
		return jsontree.Raw(Pick(r, Strings))
	}
	text := Pick(r, table)
	if r.Chance(25) {
		text = mutateText(r, text)
	}
	return jsontree.Str(text)
}

// mutateText changes one position of a text.
func mutateText(r Rand, text string) string {
	runes := []rune(text)
	at := 0
	if len(runes) > 0 {
		at = r.IntN(len(runes))
	}
	insert := Pick(r, []rune("0159aAzZ-._/:+ \n,;@#%[]{}()\x00éT"))
	switch r.IntN(4) {
	case 0:
		return string(runes[:at]) + string(insert) + string(runes[at:])
	case 1:
		if len(runes) > 0 {
			return string(runes[:at]) + string(runes[at+1:])
		}
	case 2:
		if len(runes) > 0 {
			runes[at] = insert
			return string(runes)
		}
	case 3:
		return text + text
	}
	return text + string(insert)
}

// edgeFor selects an edge value for the schema's type.
func edgeFor(r Rand, s *jsontree.Node) *jsontree.Node {
	t, _ := s.Get("type").Text()
	if s.Get("x-kubernetes-int-or-string").IsTrue() {
		t = Pick(r, []string{"integer", "string"})
	}
	switch t {
	case "integer", "number":
		if r.Chance(2) {
			return jsontree.Raw(Pick(r, rareNumbers))
		}
		return jsontree.Raw(Pick(r, Numbers))
	case "string":
		if r.Chance(2) {
			return jsontree.Raw(Pick(r, rareStrings))
		}
		if f, ok := s.Get("format").Text(); ok && r.Chance(70) {
			return formatted(r, f)
		}
		return jsontree.Raw(Pick(r, Strings))
	case "array":
		return jsontree.Arr()
	case "object":
		return jsontree.Obj()
	}
	return Any(r, 3)
}
