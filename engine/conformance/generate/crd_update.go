package generate

import (
	"sort"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// Replaced returns the group of a CRD that replaces a stored one. Both derive from one base, real or generated, and
// both can be invalid today.
func (c *Real) Replaced(r Rand) Group {
	var old *jsontree.Node
	name := "replaced"
	switch r.weighted(35, 15, 15, 8, 27) {
	case 0:
		site := r.IntN(c.Mutants()) / mutations
		which := sort.Search(len(c.small), func(k int) bool { return c.sites[k+1] > site })
		old, name = c.cut(r, which, site-c.sites[which]+1), "replaced "+c.corpus.CRDs[which].Name
	case 1:
		at := Pick(r, c.ruled)
		old, name = c.cut(r, at.definition, at.node), "replaced "+c.corpus.CRDs[at.definition].Name
	case 2:
		old = Manifest(formSchema())
	case 3:
		old = Manifest(Schema(r))
	default:
		old = Manifest(relicSchema())
	}
	if r.Chance(45) { // mostly the stored CRD stays unchanged
		for range r.Between(0, 2) {
			relicIn(r, old)
		}
		fresh := old.Clone()
		switch r.IntN(6) {
		case 0:
			relicIn(r, fresh)
		case 1:
			if spec, ver, _ := parts(fresh); ver != nil {
				move(r, spec)
			}
		case 2:
			change(r, fresh)
		case 3:
			if _, _, schema := parts(fresh); schema != nil {
				inSchema(r, schema)
			}
		}
		if r.Chance(70) {
			harmless(r, fresh)
		}
		return replacement(r, name, old, fresh)
	}
	for range Pick(r, []int{0, 0, 1, 1, 2}) {
		change(r, old)
	}
	fresh := old.Clone()
	for range Pick(r, []int{0, 1, 1, 1, 2}) {
		change(r, fresh)
	}
	if r.Chance(50) {
		harmless(r, fresh)
	}
	return replacement(r, name, old, fresh)
}

// Revise returns a changed copy of a CRD. An API server accepts most of them as updates.
func Revise(r Rand, crd *jsontree.Node) *jsontree.Node {
	crd = crd.Clone()
	spec, _, schema := parts(crd)
	for range r.Between(1, 3) {
		switch r.weighted(60, 10, 15, 8, 7) {
		case 0:
			if schema != nil {
				vary(r, schema)
			}
		case 1:
			harmless(r, crd)
		case 2:
			if schema != nil {
				schema.Set("x-kubernetes-validations", jsontree.Arr(jsontree.Obj("rule", Pick(r, []string{
					"has(self.metadata)", "!has(self.spec)", "self.metadata.name != 'x'", "oldSelf == self", "1 == 2",
				}))))
			}
		case 3:
			change(r, crd)
		default:
			if v := spec.Get("versions"); len(v.GetItems()) > 0 && v.Items[0].Kind == jsontree.Object {
				v.Items[0].Set("served", r.Chance(50))
			}
		}
	}
	return crd
}

// cut reduces a CRD to the surroundings of its n-th node.
func (c *Real) cut(r Rand, definition, node int) *jsontree.Node {
	cut := cutter{r: r, path: pathTo(c.small[definition], node)}
	return cut.copy(c.small[definition], cut.path, false, false, 4, nil, nil)
}

// Again returns the group of a whole real CRD that replaces itself or a slightly different one.
func (c *Real) Again(r Rand, i int) Group {
	i %= len(c.docs)
	fresh := c.crds[i]
	if r.Chance(60) {
		fresh = fresh.Clone()
		for range r.Between(1, 2) {
			change(r, fresh)
		}
	}
	g := Group{Name: "again " + c.corpus.CRDs[i].Name, CRD: fresh.JSON(), Previous: &oracle.Previous{Manifest: c.docs[i], Established: true, Generation: 1}}
	return g
}

// replacement returns the group of two CRDs.
func replacement(r Rand, name string, old, fresh *jsontree.Node) Group {
	// A manifest with another name does not replace the old one.
	if meta := fresh.Get("metadata"); meta != nil && meta.Kind == jsontree.Object && !r.Chance(3) {
		if held := old.At("metadata", "name"); held != nil {
			meta.Set("name", held.Clone())
		}
	}
	g := Group{Name: name, CRD: fresh.JSON(), Previous: state(r, old, fresh)}
	if r.Chance(1) {
		g.CRD = corrupt(r, g.CRD)
	}
	g.Objects = objectsFor(r, fresh, 1)
	return g
}

// state stores a CRD in one of the possible states.
func state(r Rand, old, fresh *jsontree.Node) *oracle.Previous {
	p := &oracle.Previous{Manifest: old.JSON(), Established: r.Chance(70), Generation: int64(r.Between(1, 4))}
	switch r.IntN(12) {
	case 0:
		p.Bare, p.Established = true, false
	case 1:
		p.Unaccepted = true
	}
	if !r.Chance(25) {
		return p
	}
	names := []string{"v0"}
	for _, crd := range []*jsontree.Node{old, fresh} {
		for _, v := range crd.At("spec", "versions").GetItems() {
			if name, ok := v.Get("name").Text(); ok {
				names = append(names, name)
			}
		}
	}
	p.StoredVersions = []string{}
	for range r.IntN(4) {
		p.StoredVersions = append(p.StoredVersions, Pick(r, names)) // one can occur twice
	}
	return p
}

// change changes one thing of a CRD.
func change(r Rand, crd *jsontree.Node) {
	spec, ver, schema := parts(crd)
	if ver == nil {
		anywhere(r, crd)
		return
	}
	switch r.weighted(26, 12, 10, 6, 34, 12, 8, 4) {
	case 0:
		Pick(r, edits)(r, crd, spec, ver)
	case 1:
		anywhere(r, crd)
	case 2:
		if schema != nil {
			inSchema(r, schema)
		}
	case 3:
		rerule(r, schema)
	case 4:
		Pick(r, relics)(r, crd, spec, ver)
	case 5:
		move(r, spec)
	case 6:
		carried(r, crd)
	default:
		legacy(r, crd, spec, ver)
	}
}

// relicIn adds a relic to a CRD.
func relicIn(r Rand, crd *jsontree.Node) {
	if spec, ver, _ := parts(crd); ver != nil {
		Pick(r, relics)(r, crd, spec, ver)
	}
}

// parts returns a CRD's spec, one of its versions and that version's schema. The version is nil if the CRD has an
// unusual form.
func parts(crd *jsontree.Node) (spec, ver, schema *jsontree.Node) {
	spec = crd.Get("spec")
	versions := spec.Get("versions")
	if versions == nil || len(versions.Items) == 0 || versions.Items[0].Kind != jsontree.Object || versions.Items[0].Get("schema") == nil || versions.Items[0].Get("schema").Kind != jsontree.Object {
		return spec, nil, nil
	}
	if meta := crd.Get("metadata"); meta == nil || meta.Kind != jsontree.Object {
		return spec, nil, nil
	}
	if names := spec.Get("names"); names == nil || names.Kind != jsontree.Object {
		return spec, nil, nil
	}
	schema = versions.Items[0].At("schema", "openAPIV3Schema")
	if schema != nil && schema.Kind != jsontree.Object {
		schema = nil
	}
	return spec, versions.Items[0], schema
}

// anywhere mutates any node of a CRD.
func anywhere(r Rand, crd *jsontree.Node) {
	n := crd.Size() - 1
	if n < 1 {
		return
	}
	at := 1 + r.IntN(n)
	crd.Walk(func(_, parent *jsontree.Node, index int) {
		if at == 0 && parent != nil && index < parent.Len() {
			mutateDefinition(r, parent, index, r.IntN(mutations))
		}
		at--
	})
}

// inSchema changes one thing of a schema, often without much effect.
func inSchema(r Rand, schema *jsontree.Node) {
	var all []*jsontree.Node
	eachSchema(schema, func(n *jsontree.Node) { all = append(all, n) })
	at := Pick(r, all)
	if r.Chance(40) {
		at.Set("description", Pick(r, []string{"d", "", "e"}))
		return
	}
	e := Pick(r, extras)
	at.Set(e.Key, e.Value.Clone())
}

// rerule changes one rule of a schema.
func rerule(r Rand, schema *jsontree.Node) {
	var ruled []*jsontree.Node
	eachSchema(schema, func(n *jsontree.Node) {
		if len(n.Get("x-kubernetes-validations").GetItems()) > 0 {
			ruled = append(ruled, n)
		}
	})
	if len(ruled) == 0 {
		return
	}
	at := Pick(r, ruled)
	mutateRule(r, Pick(r, at.Get("x-kubernetes-validations").Items), at)
}

// move adds, drops, renames, swaps and copies versions, or changes the storage version.
func move(r Rand, spec *jsontree.Node) {
	versions := spec.Get("versions")
	at := r.IntN(len(versions.Items))
	ver := versions.Items[at]
	switch r.IntN(7) {
	case 0:
		addVersion(r, spec, ver)
	case 1:
		versions.RemoveChild(at)
	case 2:
		other := r.IntN(len(versions.Items))
		versions.Items[at], versions.Items[other] = versions.Items[other], versions.Items[at]
	case 3:
		ver.Set("name", Pick(r, []string{"v1", "v2", "v3", "v1beta1"}))
	case 4, 5: // another version becomes the storage version
		next := ver.Clone()
		next.Set("name", Pick(r, []string{"v2", "v3", "v1"})).Set("storage", true)
		ver.Set("storage", r.Chance(10))
		if s := next.At("schema", "openAPIV3Schema"); r.Chance(50) && s != nil && s.Kind == jsontree.Object {
			s.Set("description", "next")
		}
		versions.Items = append(versions.Items, next)
	default:
		ver.Set("served", !ver.Get("served").IsTrue())
	}
}

// harmless changes something that no check uses.
func harmless(r Rand, crd *jsontree.Node) {
	spec, ver, schema := parts(crd)
	if ver == nil {
		return
	}
	switch r.IntN(5) {
	case 0:
		crd.Get("metadata").Set("labels", jsontree.Obj("a", "b"))
	case 1:
		spec.Get("names").Set("shortNames", jsontree.Arr(jsontree.Str("ct")))
	case 2:
		ver.Set("additionalPrinterColumns", jsontree.Arr(jsontree.Obj("name", "N", "type", "string", "jsonPath", ".spec.n")))
	case 3:
		if schema != nil {
			schema.Set("description", "changed")
		}
	default:
		ver.Set("deprecated", true)
	}
}

// carried changes metadata that a server sets or an update checks.
func carried(r Rand, crd *jsontree.Node) {
	meta := crd.Get("metadata")
	switch r.IntN(8) {
	case 0:
		crd.Set("metadata", metadata(r, true))
	case 1:
		meta.Set("deletionTimestamp", Pick(r, []any{"2020-02-02T02:02:02Z", nil, "x"}))
	case 2:
		meta.Set(Pick(r, []string{"uid", "resourceVersion", "selfLink", "namespace", "generateName", "creationTimestamp"}), Pick(r, []any{"2020-02-02T02:02:02Z", "x", "", nil}))
	case 3:
		meta.Set("generation", Pick(r, []any{0, 1, 7, -1})).Set("deletionGracePeriodSeconds", Pick(r, []any{0, 1, nil}))
	case 4:
		meta.Set("finalizers", Pick(r, []*jsontree.Node{jsontree.Arr(jsontree.Str("a/b")), jsontree.Arr(jsontree.Str("foregroundDeletion"), jsontree.Str("orphan")), jsontree.Arr(jsontree.Str("b a")), jsontree.Arr(), jsontree.Arr(jsontree.Str("customresourcecleanup.apiextensions.k8s.io"))}).Clone())
	case 5:
		owner := jsontree.Obj("apiVersion", "v1", "kind", "Pod", "name", "x", "uid", Pick(r, []string{"u", ""}), "controller", r.Chance(50))
		meta.Set("ownerReferences", jsontree.Arr(owner, Pick(r, []*jsontree.Node{owner, jsontree.Obj("apiVersion", "v1", "kind", "Pod", "name", "y", "uid", "v", "controller", true)}).Clone()))
	case 6:
		meta.Set("annotations", Pick(r, []*jsontree.Node{jsontree.Obj("a b", "x"), jsontree.Obj("a", "b"), jsontree.Obj("api-approved.kubernetes.io", "https://github.com/x"), jsontree.Null()}).Clone())
	default:
		meta.Set("managedFields", jsontree.Arr(jsontree.Obj("manager", "m", "operation", "Update", "apiVersion", "v1", "fieldsType", "FieldsV1", "fieldsV1", jsontree.Obj())))
	}
}
