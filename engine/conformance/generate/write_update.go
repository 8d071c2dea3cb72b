package generate

import (
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// Updates returns a group of updates of objects of a random CRD, mostly with rules.
func Updates(r Rand) Group {
	if r.Chance(3) {
		return nearKeys(r)
	}
	crd, schema := ruled(r)
	if r.Chance(20) {
		schema = ratchetSchema(r)
		crd = Manifest(schema)
		if r.Chance(40) {
			crd.At("spec", "versions").Items[0].Set("subresources", jsontree.Obj("status", jsontree.Obj()))
		}
	}
	if r.Chance(15) {
		secondVersion(r, crd)
	}
	g := Group{Name: "updates", CRD: crd.JSON()}
	for i := range 12 {
		old := objectOf(r, schema)
		// Objects that were stored with another schema.
		Break(r, schema, old, Pick(r, []int{0, 0, 0, 0, 1, 1, 2}))
		g.Objects = append(g.Objects, pair(r, crd, schema, old, i%4))
	}
	return g
}

// nearKeys returns a group of map lists whose items have several keys, including numbers that differ in digits that
// upstream ignores when it looks for an item's old value.
func nearKeys(r Rand) Group {
	n := jsontree.Obj("type", "integer", "minimum", 2, "x-kubernetes-validations", jsontree.Arr(jsontree.Obj("rule", Pick(r, []string{"self == oldSelf", "self > oldSelf", "self > 3"}))))
	item := jsontree.Obj("type", "object", "required", jsontree.Arr(jsontree.Str("k"), jsontree.Str("j")), "properties", jsontree.Obj("k", jsontree.Obj("type", "string"), "j", jsontree.Obj("type", "number"), "n", n))
	list := jsontree.Obj("type", "array", "x-kubernetes-list-type", "map", "x-kubernetes-list-map-keys", jsontree.Arr(jsontree.Str("k"), jsontree.Str("j")), "items", item)
	crd := Manifest(rootOf("l", list))
	g := Group{Name: "near keys", CRD: crd.JSON()}
	near := []string{"1.00000001", "1.00000002", "1.0000001", "1.000001", "1", "1.0"}
	for range 8 {
		object := func() *jsontree.Node {
			o := Envelope(jsontree.Member{Key: "l", Value: jsontree.Arr(jsontree.Obj("k", "a", "j", jsontree.Raw(Pick(r, near)), "n", r.IntN(5)), jsontree.Obj("k", Pick(r, []string{"a", "b"}), "j", jsontree.Raw(Pick(r, near)), "n", r.IntN(5)))})
			o.Get("metadata").Set("resourceVersion", "7")
			return o
		}
		g.Objects = append(g.Objects, Object{Op: oracle.Update, Version: version1, Body: object().JSON(), Old: object().JSON()})
	}
	return g
}

// UpdatesOf turns the objects of another group into updates: each object is stored and edited.
func UpdatesOf(r Rand, g Group) Group {
	g.Name = "updates of " + g.Name
	crd, err := jsontree.Parse(g.CRD)
	if err != nil {
		return g
	}
	var out []Object
	for i, o := range g.Objects {
		body, err := jsontree.Parse(o.Body)
		if err != nil || body.Kind != jsontree.Object || o.YAML || o.Op != oracle.Create {
			continue
		}
		var schema *jsontree.Node
		for _, v := range crd.At("spec", "versions").GetItems() {
			if name, _ := v.Get("name").Text(); name == o.Version {
				schema = v.At("schema", "openAPIV3Schema")
			}
		}
		q := pair(r, crd, schema, body, i%4)
		q.Version, q.FieldValidation = o.Version, o.FieldValidation
		out = append(out, q)
	}
	g.Objects = out
	return g
}

// pair returns a request that changes an object by several edits.
func pair(r Rand, crd, schema, old *jsontree.Node, edits int) Object {
	asStored(crd, old)
	if r.Chance(85) {
		old.Get("metadata").Set("resourceVersion", "7")
	}
	if r.Chance(30) { // as stored
		old.Get("metadata").Set("uid", "u-1").Set("generation", r.IntN(4)).Set("creationTimestamp", "2024-01-01T00:00:00Z")
	}
	body := old.Clone()
	for range edits {
		editAt(r, schema, body)
	}
	if r.Chance(30) {
		editMetadata(r, old.Get("metadata"), body)
	}
	if r.Chance(2) {
		Mutate(r, body)
	}
	if r.Chance(2) {
		body.Set("kind", Pick(r, []string{"Other", "crontab", ""}))
	}
	o := Object{Op: oracle.Update, Version: version1, Body: body.JSON()}
	if version := otherVersion(crd); version != "" && r.Chance(30) {
		api, _ := old.Get("apiVersion").Text()
		groupName, _, _ := strings.Cut(api, "/")
		old.Set("apiVersion", groupName+"/"+version)
	}
	o.Old = old.JSON()
	status := crd.At("spec", "versions").GetItems()
	if hasStatus := len(status) > 0 && status[0].At("subresources", "status") != nil; hasStatus && r.Chance(50) || r.Chance(1) {
		o.Op = oracle.Status
	}
	switch r.IntN(40) {
	case 0:
		o.FieldValidation = "Strict"
	case 1:
		o.FieldValidation = "Ignore"
	case 2:
		o.YAML = true
	}
	return o
}

// asStored returns an object that can be stored: it has metadata and the kind of the CRD.
func asStored(crd, old *jsontree.Node) {
	for _, key := range []string{"metadata", "kind", "apiVersion"} { // each once
		value := old.Get(key)
		for i := len(old.Members) - 1; i >= 0; i-- {
			if old.Members[i].Key == key {
				old.RemoveChild(i)
			}
		}
		if value != nil {
			old.Members = append(old.Members, jsontree.Member{Key: key, Value: value})
		}
	}
	if m := old.Get("metadata"); m == nil || m.Kind != jsontree.Object {
		old.Set("metadata", jsontree.Obj("name", "x", "namespace", "default"))
	}
	groupName, _ := crd.At("spec", "group").Text()
	kindName, _ := crd.At("spec", "names", "kind").Text()
	if is, _ := old.Get("kind").Text(); is != kindName {
		old.Set("kind", kindName)
	}
	for _, v := range crd.At("spec", "versions").GetItems() {
		name, _ := v.Get("name").Text()
		if is, _ := old.Get("apiVersion").Text(); is == groupName+"/"+name {
			return
		}
	}
	old.Set("apiVersion", groupName+"/"+version1)
}

// editAt changes one value of an object for which the schema has constraints.
func editAt(r Rand, schema, object *jsontree.Node) {
	at := places(schema, object, nil, 0, nil)
	if len(at) < 2 {
		object.Set("unknownField", Any(r, 1))
		return
	}
	p := at[1+r.IntN(len(at)-1)]
	v := p.value
	if enum := p.schema.Get("enum").GetItems(); len(enum) > 0 && r.Chance(50) {
		p.parent.SetChild(p.index, Pick(r, enum).Clone())
		return
	}
	switch r.IntN(9) {
	case 0:
		breakAt(r, p)
	case 1:
		p.parent.SetChild(p.index, Value(r, p.schema, 3))
	case 2: // another literal of the same number
		if i, err := strconv.ParseInt(v.Raw, 10, 64); err == nil && v.Kind == jsontree.Scalar {
			p.parent.SetChild(p.index, jsontree.Raw(Pick(r, []string{strconv.FormatInt(i, 10) + ".0", strconv.FormatInt(i, 10) + "e0", strconv.FormatInt(i+1, 10)})))
			return
		}
		p.parent.SetChild(p.index, near(r, v))
	case 3:
		p.parent.RemoveChild(p.index)
	case 4:
		nudge(r, schema, object)
	default:
		editContainer(r, p)
	}
}

// editContainer reorders, repeats, moves and adds items and members.
func editContainer(r Rand, p place) {
	v := p.value
	n := v.Len()
	switch {
	case v.Kind == jsontree.Scalar:
		p.parent.SetChild(p.index, near(r, v))
	case n == 0:
		if items := p.schema.Get("items"); v.Kind == jsontree.Array && items != nil {
			v.Items = append(v.Items, Value(r, items, 2))
		} else if v.Kind == jsontree.Object {
			v.Set(Pick(r, Keys), Any(r, 1))
		}
	case r.Chance(35): // reorder
		i, j := r.IntN(n), r.IntN(n)
		if v.Kind == jsontree.Array {
			v.Items[i], v.Items[j] = v.Items[j], v.Items[i]
		} else {
			v.Members[i], v.Members[j] = v.Members[j], v.Members[i]
		}
	case v.Kind == jsontree.Array:
		switch r.IntN(4) {
		case 0: // an item moves to the front
			v.Items = append([]*jsontree.Node{v.Items[n-1]}, v.Items[:n-1]...)
		case 1: // a value moves from one item to another
			a, b := v.Items[r.IntN(n)], v.Items[r.IntN(n)]
			if a.Kind == jsontree.Object && b.Kind == jsontree.Object && a.Len() > 0 && b.Len() > 0 {
				i, j := r.IntN(a.Len()), r.IntN(b.Len())
				if a.Members[i].Key == b.Members[j].Key || r.Chance(30) {
					a.Members[i].Value, b.Members[j].Value = b.Members[j].Value, a.Members[i].Value
					return
				}
			}
			fallthrough
		case 2:
			v.Items = append(v.Items, v.Items[r.IntN(n)].Clone())
		default:
			breakArray(r, p.schema, v)
		}
	default:
		breakObject(r, p.schema, v)
	}
}

// editMetadata sets metadata fields of the old and the new object, to equal or different values.
func editMetadata(r Rand, old, body *jsontree.Node) {
	now := body.Get("metadata")
	if now == nil || now.Kind != jsontree.Object {
		return
	}
	for range r.Between(1, 3) {
		f := Pick(r, []string{"finalizers", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "ownerReferences", "managedFields", "creationTimestamp", "labels", "annotations", "resourceVersion", "name", "namespace", "generateName", "selfLink", "finalizers"})
		if r.Chance(10) {
			f = Pick(r, metadataNames)
		}
		values := metadataFields[f]
		if r.Chance(70) {
			values = values[:min(3, len(values))]
		}
		v := jsontree.Raw(Pick(r, values))
		switch r.IntN(5) {
		case 0:
			now.Set(f, v)
		case 1:
			old.Set(f, v)
		case 2:
			old.Set(f, v)
			now.Set(f, v.Clone())
		case 3:
			now.Delete(f)
		default:
			old.Set(f, v)
			now.Set(f, jsontree.Raw(Pick(r, values)))
		}
	}
}

// otherVersion returns a version that is not the first.
func otherVersion(crd *jsontree.Node) string {
	versions := crd.At("spec", "versions").GetItems()
	if len(versions) < 2 {
		return ""
	}
	name, _ := versions[1].Get("name").Text()
	return name
}

// secondVersion adds v2, whose schema lacks a property or has a different one.
func secondVersion(r Rand, crd *jsontree.Node) {
	list := crd.At("spec", "versions")
	second := list.Items[0].Clone().Set("name", "v2").Set("storage", false)
	var all []*jsontree.Node
	eachSchema(second.At("schema", "openAPIV3Schema"), func(n *jsontree.Node) {
		n.Delete("x-kubernetes-validations")
		if props := n.Get("properties"); len(props.GetMembers()) > 0 {
			all = append(all, props)
		}
	})
	if len(all) > 0 && r.Chance(70) {
		props := Pick(r, all)
		if k := r.IntN(len(props.Members)); r.Chance(50) {
			props.RemoveChild(k)
		} else {
			props.Members[k].Value = structural(r, 1, "")
		}
	}
	list.Items = append(list.Items, second)
}

// ratchetSchema returns a schema with every case that ratcheting distinguishes, and with bounds that data often
// violates.
func ratchetSchema(r Rand) *jsontree.Node {
	scalar := func() *jsontree.Node {
		s := Pick(r, []*jsontree.Node{jsontree.Obj("type", "integer", "minimum", 2), jsontree.Obj("type", "string", "maxLength", 2), jsontree.Obj("type", "number", "maximum", 1), jsontree.Obj("type", "string", "enum", jsontree.Arr(jsontree.Str("a"), jsontree.Str("b"))), jsontree.Obj("x-kubernetes-int-or-string", true, "pattern", "^a"), jsontree.Obj("type", "string", "format", "date", "nullable", true)})
		return s.Clone()
	}
	thing := func() *jsontree.Node {
		o := jsontree.Obj("type", "object", "required", jsontree.Arr(jsontree.Str("k")), "properties", jsontree.Obj("k", jsontree.Obj("type", "string", "maxLength", 5), "n", scalar(), "m", scalar()))
		switch r.IntN(6) {
		case 0:
			o.Set("x-kubernetes-preserve-unknown-fields", true)
		case 1:
			o.Set("anyOf", jsontree.Arr(jsontree.Obj("required", jsontree.Arr(jsontree.Str("n"))), jsontree.Obj("required", jsontree.Arr(jsontree.Str("m")))))
		case 2:
			o.Set("not", jsontree.Obj("required", jsontree.Arr(jsontree.Str("m"))))
		case 3:
			o.Set("maxProperties", 2)
		}
		return o
	}
	list := func(kind string) *jsontree.Node {
		l := jsontree.Obj("type", "array", "maxItems", 2, "items", thing())
		switch kind {
		case "map":
			l.Set("x-kubernetes-list-type", "map").Set("x-kubernetes-list-map-keys", jsontree.Arr(jsontree.Str("k")))
			if r.Chance(40) {
				l.Get("items").Get("properties").Set("j", jsontree.Obj("type", "number", "default", 1, "enum", jsontree.Arr(jsontree.Int(1), jsontree.Raw("1.00000001"), jsontree.Raw("1.00000002"))))
				l.Get("x-kubernetes-list-map-keys").Items = append(l.Get("x-kubernetes-list-map-keys").Items, jsontree.Str("j"))
			}
		case "set":
			item := scalar()
			item.Delete("nullable")
			l.Set("x-kubernetes-list-type", "set").Set("items", item)
		case "atomic":
			l.Set("x-kubernetes-list-type", "atomic")
		}
		return l
	}
	props := jsontree.Obj("o", thing(), "s", scalar(), "ml", list("map"), "sl", list("set"), "al", list("atomic"), "pl", list(""),
		"m", jsontree.Obj("type", "object", "maxProperties", 2, "additionalProperties", thing()), "am", jsontree.Obj("type", "object", "x-kubernetes-map-type", "atomic", "additionalProperties", scalar()),
		"e", jsontree.Obj("type", "object", "x-kubernetes-embedded-resource", true, "properties", jsontree.Obj("spec", thing())))
	spec := jsontree.Obj("type", "object", "properties", props)
	if r.Chance(30) {
		props.Set("d", jsontree.Obj("type", "object", "default", jsontree.Obj("k", "toolong"), "properties", jsontree.Obj("k", jsontree.Obj("type", "string"))))
	}
	for i := len(props.Members) - 1; i >= 0; i-- {
		if r.Chance(45) {
			props.RemoveChild(i)
		}
	}
	root := jsontree.Obj("type", "object", "properties", jsontree.Obj("spec", spec, "status", thing()))
	if r.Chance(20) {
		root.Set("required", jsontree.Arr(jsontree.Str("spec"), jsontree.Str("other")))
	}
	if r.Chance(70) {
		AddRules(r, root)
	}
	return root
}
