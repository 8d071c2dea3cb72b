package generate

import (
	"bytes"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// Random returns a group of a random schema and objects with zero, one, two or more defects.
func Random(r Rand) Group {
	schema := Schema(r)
	crd := Manifest(schema)
	ver := crd.At("spec", "versions").Items[0]
	if r.Chance(25) {
		sub := jsontree.Obj("status", jsontree.Obj())
		if r.Chance(40) {
			scale := jsontree.Obj("specReplicasPath", ".spec.replicas", "statusReplicasPath", ".status.replicas")
			if r.Chance(60) {
				scale.Set("labelSelectorPath", Pick(r, []string{".status.selector", ".spec.selector"}))
			}
			sub.Set("scale", scale)
		}
		ver.Set("subresources", sub)
		for _, forbidden := range []string{"x-kubernetes-map-type", "title"} {
			schema.Delete(forbidden)
		}
	}
	if r.Chance(10) {
		crd.Get("spec").Set("scope", "Cluster")
	}
	if r.Chance(25) {
		AddRules(r, schema)
	}
	g := Group{Name: "random", CRD: crd.JSON()}
	for i := range 12 {
		o := Envelope()
		for _, m := range Value(r, schema, 5).Members {
			if o.Get(m.Key) == nil {
				o.Members = append(o.Members, m)
			}
		}
		if sub := ver.Get("subresources"); sub.Get("scale") != nil && r.Chance(60) {
			for _, part := range []string{"spec", "status"} {
				p := o.Get(part)
				if p == nil || p.Kind != jsontree.Object {
					p = jsontree.Obj()
					o.Set(part, p)
				}
				if r.Chance(60) {
					p.Set("replicas", Pick(r, []*jsontree.Node{jsontree.Int(3), jsontree.Int(-1), jsontree.Raw("2147483648"), jsontree.Raw("1.0"), jsontree.Str("1"), jsontree.Null(), jsontree.Raw("1.5")}))
				}
				if r.Chance(30) {
					p.Set("selector", Pick(r, []*jsontree.Node{jsontree.Str("a=b"), jsontree.Int(1), jsontree.Null(), jsontree.Obj()}))
				}
			}
		}
		switch defects := i % 4; defects {
		case 3:
			for range r.Between(1, 4) {
				Mutate(r, o)
			}
		default:
			Break(r, schema, o, defects)
		}
		q := request(r, o)
		if r.Chance(2) {
			q.Body = corrupt(r, q.Body)
			q.YAML = false // The engine rejects text after a YAML document, an API server ignores it (docs/quirks.md).
		}
		g.Objects = append(g.Objects, q)
	}
	return g
}

// corrupt damages a body's bytes.
func corrupt(r Rand, body []byte) []byte {
	if len(body) == 0 {
		return body
	}
	at := r.IntN(len(body))
	switch r.IntN(6) {
	case 0:
		return body[:at]
	case 1:
		return append(body, Pick(r, []string{" ", "\n", "x", "{}", "\x00", "//c", ","})...)
	case 2:
		return append([]byte(Pick(r, []string{" ", "\ufeff", "\n\t", "[", "\x00", "---\n"})), body...)
	case 3:
		return bytes.Replace(body, []byte(":"), []byte(Pick(r, []string{" : ", ":\n", "::", ""})), 1+r.IntN(3))
	case 4:
		out := bytes.Clone(body)
		out[at] = byte(r.IntN(256))
		return out
	}
	return append(bytes.Clone(body[:at]), append([]byte(Pick(r, []string{" ", ",", "}", "]", "\"", "\\", "\x80", "null"})), body[at:]...)...)
}
