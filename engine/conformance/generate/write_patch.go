package generate

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// mergePatch returns the patch from one object to another, sometimes modified.
func mergePatch(r Rand, from, to *jsontree.Node) *jsontree.Node {
	p := difference(from, to)
	if p == nil || p.Kind != jsontree.Object {
		p = jsontree.Obj()
	}
	if p.Get("apiVersion") != nil && r.Chance(85) {
		p.Delete("apiVersion") // a patch applies to the object at the endpoint's version
	}
	switch r.IntN(12) {
	case 0:
		p.Set(Pick(r, []string{"unknownField", "spec", "status", "metadata", "kind", "apiVersion"}), Any(r, 1))
	case 1:
		Mutate(r, p)
	case 2:
		if meta := member(p, "metadata"); meta.Kind == jsontree.Object {
			meta.Set(Pick(r, []string{"resourceVersion", "uid", "name", "namespace", "finalizers", "labels", "generation", "unknown"}), Pick(r, []*jsontree.Node{jsontree.Str("7"), jsontree.Str("8"), jsontree.Null(), jsontree.Str("x"), jsontree.Obj("a", "b"), jsontree.Arr()}).Clone())
		}
	case 3:
		if k := len(p.Members); k > 0 { // a member twice
			p.Members = append(p.Members, jsontree.Member{Key: p.Members[r.IntN(k)].Key, Value: Any(r, 1)})
		}
	case 4:
		return Pick(r, []*jsontree.Node{jsontree.Arr(), jsontree.Null(), jsontree.Str("x"), jsontree.Int(1), jsontree.Obj()}).Clone()
	case 5, 6:
		oddMember(r, p)
	}
	return p
}

// oddMember adds a member to an object of a patch: one that exists already, or whose value has nulls and members twice.
func oddMember(r Rand, p *jsontree.Node) {
	var all []*jsontree.Node
	p.Walk(func(n, _ *jsontree.Node, _ int) {
		if n.Kind == jsontree.Object {
			all = append(all, n)
		}
	})
	at := Pick(r, all)
	key := Pick(r, []string{"a", "k", "spec", "metadata", "Metadata", "labels", "status", "replicas", "", "\u2028"})
	if n := len(at.Members); n > 0 && r.Chance(60) {
		key = at.Members[r.IntN(n)].Key
	}
	at.Members = append(at.Members, jsontree.Member{Key: key, Value: jsontree.Raw(Pick(r, []string{`null`, `{}`, `[]`, `{"a":null}`, `{"a":{"b":null}}`, `[null]`, `[{"a":null}]`, `{"a":1,"a":null}`, `{"a":null,"a":1}`,
		`{"name":null}`, `{"annotations":{"a":null,"b":"c"}}`, `1.0`, `1e2`, `-0`, `-0.0`, `"\ud800"`, "\"\xff\"", `{"k":"a"}`, `9223372036854775808`}))})
}

// difference returns the merge patch from one value to another, or nil if they are equal.
func difference(from, to *jsontree.Node) *jsontree.Node {
	if from.Kind != jsontree.Object || to.Kind != jsontree.Object {
		if bytes.Equal(from.JSON(), to.JSON()) {
			return nil
		}
		return to.Clone()
	}
	p := jsontree.Obj()
	for _, m := range to.Members {
		if before := from.Get(m.Key); before == nil {
			p.Set(m.Key, m.Value.Clone())
		} else if d := difference(before, m.Value); d != nil {
			p.Set(m.Key, d)
		}
	}
	for _, m := range from.Members {
		if to.Get(m.Key) == nil {
			p.Set(m.Key, jsontree.Null())
		}
	}
	if len(p.Members) == 0 {
		return nil
	}
	return p
}

// target is a position in a document for JSON patches.
type target struct {
	pointer       string
	parent, value *jsontree.Node
}

func targets(n *jsontree.Node, pointer string, parent *jsontree.Node, out []target) []target {
	out = append(out, target{pointer, parent, n})
	for _, m := range n.Members {
		out = targets(m.Value, pointer+"/"+strings.ReplaceAll(strings.ReplaceAll(m.Key, "~", "~0"), "/", "~1"), n, out)
	}
	for i, item := range n.Items {
		out = targets(item, pointer+"/"+strconv.Itoa(i), n, out)
	}
	return out
}

// jsonPatch returns operations on an object, most of which succeed.
func jsonPatch(r Rand, old *jsontree.Node) []byte {
	list := jsontree.Arr()
	all := targets(old, "", nil, nil)
	for range r.Between(1, 4) {
		list.Items = append(list.Items, operation(r, all))
	}
	if r.Chance(12) {
		oddOperation(r, Pick(r, list.Items))
	}
	switch r.IntN(40) {
	case 0:
		return Any(r, 1).JSON()
	case 1:
		return list.Items[0].JSON() // an operation instead of a list
	case 2:
		list.Items = append(list.Items, Pick(r, []*jsontree.Node{jsontree.Null(), jsontree.Obj(), jsontree.Str("x"), jsontree.Obj("op", "bogus", "path", "/spec"), jsontree.Obj("op", "add"), jsontree.Obj("op", "add", "path", 1), jsontree.Obj("path", "/spec", "value", 1)}).Clone())
	case 3:
		Mutate(r, list)
	}
	return list.JSON()
}

// oddOperation makes a member of an operation unusual: repeated, of another case, null, of another type, or with values
// that print in another way.
func oddOperation(r Rand, op *jsontree.Node) {
	member := Pick(r, []string{"op", "path", "from", "value"})
	odd := jsontree.Raw(Pick(r, []string{`null`, `""`, `"add"`, `"test"`, `"ADD"`, `"/spec"`, `"/metadata"`, `"/metadata/labels"`, `1.0`, `1e2`, `-0`, `-0.0`, `"\u0061"`, `"<&>"`, `"\ud800"`, "\"\xff\"",
		`{}`, `[]`, `[null]`, `{"a":null}`, `{"a":1,"a":2}`, `{"a":[1.0,{"b":null}]}`, `9223372036854775808`, `0.1`, `"a"`, `true`}))
	switch r.IntN(4) {
	case 0:
		op.Members = append(op.Members, jsontree.Member{Key: member, Value: odd})
	case 1:
		op.Members = append([]jsontree.Member{{Key: member, Value: odd}}, op.Members...)
	case 2:
		op.Members = append(op.Members, jsontree.Member{Key: strings.ToUpper(member[:1]) + member[1:], Value: odd})
	default:
		op.Set(member, odd)
	}
}

func operation(r Rand, all []target) *jsontree.Node {
	at := all[r.IntN(len(all))]
	if at.pointer == "" && r.Chance(80) {
		at = all[len(all)-1]
	}
	pointer := at.pointer
	value := at.value
	if r.Chance(60) {
		value = near(r, at.value)
	} else if r.Chance(40) {
		value = Any(r, 2)
	}
	switch r.IntN(14) {
	case 0:
		pointer += Pick(r, []string{"/-", "/0", "/new", "/a~1b", "/~", "/", "x", "/1", "/-1", "/-0", "/+0", "/01", "/00", "/-2", "/1.0", "/1e0", "/ 0", "/~01", "/~2",
			"/9223372036854775807", "/-9223372036854775808", "/99999999999999999999", "/0/", "//", "/é", "/\u0000"})
	case 1:
		pointer = Pick(r, []string{"/metadata/labels/a", "/metadata/resourceVersion", "/metadata/name", "/status", "/spec/replicas", "/nosuch/place", "spec", "/metadata/finalizers", "/unknownField", "/kind", "/apiVersion"})
	}
	op := jsontree.Obj("op", Pick(r, []string{"add", "add", "replace", "replace", "replace", "remove", "test", "move", "copy"}), "path", pointer)
	switch name, _ := op.Get("op").Text(); name {
	case "add", "replace":
		op.Set("value", value.Clone())
		if r.Chance(3) {
			op.Delete("value")
		}
	case "test":
		if r.Chance(70) {
			value = at.value
		}
		op.Set("value", value.Clone())
	case "move", "copy":
		op.Set("from", all[r.IntN(len(all))].pointer)
		if r.Chance(3) {
			op.Delete("from")
		}
	}
	if r.Chance(2) {
		op.Set(Pick(r, []string{"extra", "op", "Path"}), "x")
	}
	return op
}
