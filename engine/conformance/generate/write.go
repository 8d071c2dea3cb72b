package generate

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// Writes returns a group of all kinds of writes to objects of a CRD. It has several versions with different schemas and
// defaults, and any of them is the storage version.
func Writes(r Rand) Group {
	crd, _ := ruled(r)
	switch r.IntN(10) {
	case 0, 1, 2:
		crd = Manifest(Schema(r))
	case 3, 4:
		crd = Manifest(ratchetSchema(r))
	}
	first := crd.At("spec", "versions").Items[0]
	if r.Chance(60) {
		withSubresources(r, first)
	}
	for i := range r.IntN(3) {
		anotherVersion(r, crd, []string{"v2", "v3"}[i])
	}
	if r.Chance(15) {
		crd.Get("spec").Set("scope", "Cluster")
	}
	var previous *oracle.Previous
	if r.Chance(12) { // only an update can keep it
		crd.Get("spec").Set("preserveUnknownFields", true)
		previous = &oracle.Previous{Manifest: crd.JSON(), Established: true, Generation: 1}
	}
	g := Group{Name: "writes", CRD: crd.JSON(), Previous: previous}
	for range 14 {
		g.Objects = append(g.Objects, write(r, crd))
	}
	return g
}

// withSubresources adds a status to a version, and sometimes a scale over fields of its schema.
func withSubresources(r Rand, version *jsontree.Node) {
	root := version.At("schema", "openAPIV3Schema")
	for _, forbidden := range []string{"x-kubernetes-map-type", "title", "anyOf", "oneOf", "allOf", "not", "x-kubernetes-preserve-unknown-fields"} {
		root.Delete(forbidden)
	}
	sub := jsontree.Obj()
	if r.Chance(75) {
		sub.Set("status", jsontree.Obj())
	}
	if r.Chance(50) {
		sub.Set("scale", jsontree.Obj("specReplicasPath", ".spec.replicas", "statusReplicasPath", ".status.replicas", "labelSelectorPath", ".status.selector"))
		properties := member(root, "properties")
		for _, part := range []string{"spec", "status"} {
			s := member(properties, part)
			if t, _ := s.Get("type").Text(); t != "object" || s.Get("additionalProperties") != nil || s.Get("x-kubernetes-embedded-resource") != nil {
				s = jsontree.Obj("type", "object")
				properties.Set(part, s)
			}
			replicas := jsontree.Obj("type", "integer")
			if r.Chance(40) {
				replicas.Set("maximum", 5)
			}
			if r.Chance(25) {
				replicas.Set("default", 1)
			}
			member(s, "properties").Set("replicas", replicas).Set("selector", jsontree.Obj("type", "string"))
		}
	}
	version.Set("subresources", sub)
}

// member returns a member of an object. It adds the member if it is missing.
func member(parent *jsontree.Node, key string) *jsontree.Node {
	if parent.Get(key) == nil {
		parent.Set(key, jsontree.Obj())
	}
	return parent.Get(key)
}

// anotherVersion adds a version whose schema differs from the first one's: it lacks properties, has others, has other
// defaults, or preserves unknown fields.
func anotherVersion(r Rand, crd *jsontree.Node, name string) {
	list := crd.At("spec", "versions")
	made := list.Items[0].Clone().Set("name", name).Set("storage", false)
	root := made.At("schema", "openAPIV3Schema")
	for range r.IntN(4) {
		if !vary(r, root) {
			break
		}
	}
	if r.Chance(60) {
		eachSchema(root, func(n *jsontree.Node) { n.Delete("x-kubernetes-validations") })
	}
	if r.Chance(15) {
		made.Set("served", false)
	}
	if r.Chance(20) {
		made.Delete("subresources")
	}
	list.Items = append(list.Items, made)
	if r.Chance(50) {
		for _, v := range list.Items {
			v.Set("storage", v == made)
		}
	}
}

// vary changes one property of a schema: it is removed, added, of another type, or has another default. It returns false
// if there are no properties.
func vary(r Rand, root *jsontree.Node) bool {
	var all []*jsontree.Node
	eachSchema(root, func(n *jsontree.Node) {
		if props := n.Get("properties"); len(props.GetMembers()) > 0 {
			all = append(all, props)
		}
	})
	if len(all) == 0 {
		return false
	}
	props := Pick(r, all)
	k := r.IntN(len(props.Members))
	switch r.IntN(5) {
	case 0:
		props.RemoveChild(k)
	case 1:
		props.Members[k].Value = structural(r, 1, "")
	case 2:
		if v := Value(r, props.Members[k].Value, 2); v.Raw != "null" {
			props.Members[k].Value.Set("default", v)
		}
	case 3:
		props.Members[k].Value.Delete("default")
	default:
		props.Set(Pick(r, Keys[:20]), jsontree.Obj("type", "integer", "default", r.IntN(9)))
	}
	return true
}

// write returns a request that creates or changes an object.
func write(r Rand, crd *jsontree.Node) Object {
	versions := crd.At("spec", "versions").GetItems()
	endpoint, kept := Pick(r, versions), Pick(r, versions)
	name, _ := endpoint.Get("name").Text()
	schema := endpoint.At("schema", "openAPIV3Schema")
	kind := r.weighted(3, 5, 3, 3, 4, 5)
	if kind == 0 {
		return creation(r, endpoint)
	}
	old := stored(r, crd, kept)
	body := old.Clone().Set("apiVersion", group+"/"+name)
	for range r.IntN(4) {
		editAt(r, schema, body)
	}
	if r.Chance(20) {
		editMetadata(r, old.Get("metadata"), body)
	}
	leave(r, old, body)
	o := Object{Op: oracle.Update, Version: name, Body: body.JSON(), Old: old.JSON()}
	if sub := endpoint.Get("subresources"); sub.Get("status") != nil && r.Chance(40) || r.Chance(1) {
		o.Op = oracle.Status
	}
	switch kind {
	case 2:
		o.Op = oracle.Status
	case 3:
		o.Op = oracle.Scale
		o.Body = scaleBody(r, old).JSON()
		if r.Chance(30) {
			o.Patch, o.Body = oracle.MergePatch, jsontree.Obj("spec", jsontree.Obj("replicas", Pick(r, replicaValues))).JSON()
		}
	case 4:
		o.Patch, o.Body = oracle.MergePatch, mergePatch(r, old, body).JSON()
	case 5:
		o.Patch, o.Body = oracle.JSONPatch, jsonPatch(r, old)
	}
	if o.Op == oracle.Scale {
		mutateScale(r, &o)
	} else {
		mutate(r, schema, body, &o)
	}
	if r.Chance(1) && o.Patch != "" {
		o.Body = corrupt(r, o.Body)
	}
	return directed(r, o)
}

// directed sets a field validation directive.
func directed(r Rand, o Object) Object {
	switch r.IntN(20) {
	case 0, 1:
		o.FieldValidation = "Strict"
	case 2:
		o.FieldValidation = "Ignore"
	case 3:
		o.YAML = o.Patch == "" && o.Op != oracle.Scale
	}
	return o
}

// mutate sometimes adds a mutation by mutating admission: values, metadata, an unknown field.
func mutate(r Rand, schema, body *jsontree.Node, o *Object) {
	if !r.Chance(20) {
		return
	}
	made := body.Clone()
	for range r.IntN(3) {
		editAt(r, schema, made)
	}
	p := difference(body, made)
	if p == nil || p.Kind != jsontree.Object {
		p = jsontree.Obj()
	}
	p.Delete("apiVersion")
	p.Delete("kind")
	p.Delete("metadata")
	if r.Chance(50) {
		p.Set("metadata", jsontree.Obj("labels", jsontree.Obj("admitted", "yes")))
	} else if r.Chance(60) {
		p.Set("metadata", mutatedMetadata(r, o.Old == nil))
	}
	switch r.IntN(25) {
	case 0:
		p.Set("apiVersion", jsontree.Raw(Pick(r, []string{`"` + group + `/v2"`, `"` + group + `/v9"`, `"v1"`, `"/v1"`, `""`, `"a/b/c"`, `null`, `1`})))
	case 1:
		p.Set("kind", jsontree.Raw(Pick(r, []string{`"Other"`, `"crontab"`, `""`, `null`, `1`, `"CronTabList"`})))
	case 2:
		p.Set("metadata", jsontree.Raw(Pick(r, []string{`null`, `"x"`, `[]`, `1`, `{"name":null,"namespace":null}`})))
	}
	if r.Chance(20) {
		p.Set(Pick(r, []string{"spec", "status", "unknownField"}), Pick(r, []*jsontree.Node{jsontree.Null(), jsontree.Obj("unknown", 1), jsontree.Int(1)}).Clone())
	}
	// A string that became a number can be invalid, or one that no admission webhook can return.
	var held any
	if made := p.JSON(); json.Unmarshal(made, &held) == nil {
		o.Mutation = made
	}
}

// mutatedMetadata returns the patch of an object's metadata. No later step coerces it, so values can have any type. A
// caller of the engine sets some fields of a new object itself.
func mutatedMetadata(r Rand, creates bool) *jsontree.Node {
	m, set := jsontree.Obj(), []string{"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"}
	for range r.Between(1, 2) {
		f := Pick(r, []string{"name", "generateName", "namespace", "resourceVersion", "labels", "annotations", "finalizers", "ownerReferences", "generation",
			"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "managedFields", "unknown"})
		if creates && slices.Contains(set, f) {
			continue
		}
		if f == "managedFields" { // a server that tracks fields resets those that it can read
			m.Set(f, jsontree.Raw(Pick(r, []string{`""`, `"x"`, `1`, `{"a":1}`, `[1]`, `[null]`, `[["a"]]`, `[{"time":1}]`, `[{"time":"x"}]`, `[{"manager":{}}]`, `[{"operation":"Apply"},null]`})))
			continue
		}
		if r.Chance(30) && len(metadataFields[f]) > 0 {
			m.Set(f, jsontree.Raw(Pick(r, metadataFields[f])))
			continue
		}
		m.Set(f, jsontree.Raw(Pick(r, []string{`null`, `""`, `"x"`, `"other"`, `"7"`, `"8"`, `"u-1"`, `1`, `0`, `1.0`, `[]`, `[null]`, `["a/b"]`, `{"a":"b"}`, `{"a":1}`})))
	}
	return m
}

// mutateScale sometimes adds a mutation of a Scale.
func mutateScale(r Rand, o *Object) {
	if !r.Chance(20) {
		return
	}
	p := jsontree.Obj()
	if r.Chance(50) {
		p.Set("spec", jsontree.Obj("replicas", r.IntN(9)))
	}
	if r.Chance(70) {
		p.Set("metadata", jsontree.Obj(Pick(r, []string{"name", "namespace", "resourceVersion", "uid"}), Pick(r, []any{nil, "", "x", "other", "7", "8"})))
	}
	o.Mutation = p.JSON()
}

// creation returns a request that creates an object, sometimes with generateName, or with fields that only a server may
// set.
func creation(r Rand, endpoint *jsontree.Node) Object {
	name, _ := endpoint.Get("name").Text()
	schema := endpoint.At("schema", "openAPIV3Schema")
	body := objectOf(r, schema).Set("apiVersion", group+"/"+name)
	Break(r, schema, body, Pick(r, []int{0, 0, 0, 1, 2}))
	meta := body.Get("metadata")
	if meta == nil || meta.Kind != jsontree.Object {
		meta = jsontree.Obj("name", "x")
		body.Set("metadata", meta)
	}
	if r.Chance(15) {
		meta.Delete("name")
		meta.Set("generateName", Pick(r, []string{"x-", "a.", "Bad", "", strings.Repeat("n", 70)}))
	}
	if r.Chance(20) {
		meta.Set(Pick(r, []string{"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink"}), jsontree.Raw(`null`))
		editMetadata(r, jsontree.Obj(), body)
	}
	if r.Chance(20) {
		meta.Delete("namespace")
	}
	o := Object{Version: name, Body: body.JSON()}
	if r.Chance(5) {
		o.Namespace = "other"
	}
	mutate(r, schema, body, &o)
	return directed(r, o)
}

// stored returns a stored object at a version.
func stored(r Rand, crd, version *jsontree.Node) *jsontree.Node {
	name, _ := version.Get("name").Text()
	schema := version.At("schema", "openAPIV3Schema")
	old := objectOf(r, schema).Set("apiVersion", group+"/"+name)
	Break(r, schema, old, Pick(r, []int{0, 0, 0, 0, 1, 2}))
	for _, part := range []string{"spec", "status"} {
		if p := old.Get(part); version.At("subresources", "scale") != nil && p != nil && p.Kind == jsontree.Object && r.Chance(70) {
			p.Set("replicas", Pick(r, replicaValues).Clone())
		}
	}
	asStored(crd, old)
	meta := old.Get("metadata").Set("resourceVersion", "7").Set("generation", 1+r.IntN(4)).Set("creationTimestamp", "2024-01-01T00:00:00Z")
	if r.Chance(90) {
		meta.Set("uid", "u-1")
	}
	if scope, _ := crd.At("spec", "scope").Text(); scope == "Cluster" {
		meta.Delete("namespace")
	}
	return old
}

// leave adds a deletion timestamp to an object, and sometimes removes finalizers in the new one.
func leave(r Rand, old, body *jsontree.Node) {
	then, now := old.Get("metadata"), body.Get("metadata")
	if !r.Chance(15) || then == nil || now == nil || then.Kind != jsontree.Object || now.Kind != jsontree.Object {
		return
	}
	then.Set("deletionTimestamp", "2024-01-02T00:00:00Z").Set("finalizers", jsontree.Arr(jsontree.Str("a.b/c"), jsontree.Str("d.e/f")))
	if r.Chance(60) {
		then.Set("deletionGracePeriodSeconds", Pick(r, []int{0, 0, 0, 30}))
	}
	if r.Chance(70) {
		now.Set("deletionTimestamp", "2024-01-02T00:00:00Z")
	}
	switch r.IntN(5) {
	case 0, 1, 2:
		now.Delete("finalizers")
	case 3:
		now.Set("finalizers", jsontree.Arr(jsontree.Str("a.b/c")))
	default:
		now.Set("finalizers", jsontree.Arr(jsontree.Str("a.b/c"), jsontree.Str("g.h/i")))
	}
}

var replicaValues = []*jsontree.Node{jsontree.Int(0), jsontree.Int(3), jsontree.Int(3), jsontree.Int(9), jsontree.Int(-1), jsontree.Raw("2147483648"), jsontree.Raw("1.0"), jsontree.Str("1"), jsontree.Null(), jsontree.Raw("1.5")}

// scaleBody returns a Scale for a PUT.
func scaleBody(r Rand, old *jsontree.Node) *jsontree.Node {
	s := jsontree.Obj("apiVersion", "autoscaling/v1", "kind", "Scale", "metadata", jsontree.Obj("name", "x"), "spec", jsontree.Obj("replicas", Pick(r, replicaValues[:r.Between(4, len(replicaValues))]).Clone()))
	meta := s.Get("metadata")
	if namespace := old.At("metadata", "namespace"); namespace != nil {
		meta.Set("namespace", namespace.Clone())
	}
	if name := old.At("metadata", "name"); name != nil {
		meta.Set("name", name.Clone())
	}
	switch r.IntN(12) {
	case 0:
		s.Set("kind", "scale")
	case 1:
		s.Set("apiVersion", Pick(r, []string{"autoscaling/v2", "v1", group + "/v1"}))
	case 2:
		s.Set("unknown", 1)
	case 3:
		s.Get("spec").Set("unknown", 1)
	case 4:
		meta.Set("resourceVersion", Pick(r, []string{"7", "8"}))
	case 5:
		s.Delete("spec")
	case 6:
		meta.Set("name", "other")
	case 7:
		s.Set("status", jsontree.Obj("replicas", 4))
	}
	return s
}

// Stored returns a group of stored objects (Old), at all versions of a CRD with distinct names.
func Stored(r Rand, n int) Group {
	schema := Schema(r)
	crd := Manifest(schema)
	if r.Chance(50) {
		withSubresources(r, crd.At("spec", "versions").Items[0])
	}
	anotherVersion(r, crd, "v2")
	anotherVersion(r, crd, "v3")
	g := Group{Name: "stored"}
	versions := crd.At("spec", "versions").GetItems()
	own := strings.NewReplacer("crontab", "crontab"+strconv.Itoa(n), kind, kind+strconv.Itoa(n))
	for range 40 {
		old := stored(r, crd, Pick(r, versions))
		if r.Chance(30) {
			old.Set("unknownField", Any(r, 2))
		}
		if r.Chance(30) {
			Mutate(r, old.Get("metadata"))
		}
		g.Objects = append(g.Objects, Object{Old: []byte(own.Replace(string(old.JSON())))})
	}
	g.CRD = []byte(own.Replace(string(crd.JSON())))
	return g
}
