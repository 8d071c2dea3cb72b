package generate

import (
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// formSchema is the schema of CRDs whose other fields are tested.
func formSchema() *jsontree.Node {
	return jsontree.Obj("type", "object", "properties", jsontree.Obj(
		"spec", jsontree.Obj("type", "object", "properties", jsontree.Obj("replicas", jsontree.Obj("type", "integer"), "color", jsontree.Obj("type", "string"), "n", jsontree.Obj("type", "number"), "selector", jsontree.Obj("type", "string"),
			"list", jsontree.Obj("type", "array", "items", jsontree.Obj("type", "string")), "deep", jsontree.Obj("type", "object", "properties", jsontree.Obj("x", jsontree.Obj("type", "boolean"))))),
		"status", jsontree.Obj("type", "object", "properties", jsontree.Obj("replicas", jsontree.Obj("type", "integer"), "selector", jsontree.Obj("type", "string")))))
}

// relicSchema has a suitable node for each relic.
func relicSchema() *jsontree.Node {
	s := formSchema()
	spec := s.At("properties", "spec", "properties")
	for _, n := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		spec.Set(n, jsontree.Obj("type", "string"))
	}
	return s
}

// relic adds something to a CRD that an older server accepted, and that today's accepts only if it is already stored.
type relic = func(r Rand, crd, spec, ver *jsontree.Node)

// planted adds one of several schemas to the schema of a version, as a named property or any; sometimes twice.
func planted(names string, schemas ...*jsontree.Node) relic {
	return func(r Rand, _, _, ver *jsontree.Node) {
		root := ver.At("schema", "openAPIV3Schema")
		if root == nil || root.Kind != jsontree.Object {
			return
		}
		props := root.At("properties", "spec", "properties")
		if props == nil || props.Kind != jsontree.Object {
			if props = root.Get("properties"); props == nil || props.Kind != jsontree.Object {
				props = jsontree.Obj()
				root.Set("properties", props)
			}
		}
		for range Pick(r, []int{1, 1, 1, 2}) {
			props.Set(string(names[r.IntN(len(names))]), Pick(r, schemas).Clone())
		}
	}
}

// ruledBy returns schemas of a list of strings with each of the rules.
func ruledBy(rules ...*jsontree.Node) (schemas []*jsontree.Node) {
	for _, rule := range rules {
		schemas = append(schemas, jsontree.Obj("type", "object", "properties", jsontree.Obj("l", jsontree.Obj("type", "array", "items", jsontree.Obj("type", "string")), "n", jsontree.Obj("type", "integer"), "few", jsontree.Obj("type", "array", "maxItems", 3, "items", jsontree.Obj("type", "string", "maxLength", 5))),
			"x-kubernetes-validations", jsontree.Arr(rule)))
	}
	return schemas
}

// certificate is a CA bundle with one certificate.
const certificate = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJiekNDQVJXZ0F3SUJBZ0lVS0lkTDI2MmE5QTRUbUQxbDJyc3J5QXZaeVdnd0NnWUlLb1pJemowRUF3SXcKRERFS01BZ0dBMVVFQXd3QmVEQWdGdzB5TmpFeE1qRXhNelUyTVRoYUdBOHlNVEkyTVRBeU9ERXpOVFl4T0ZvdwpEREVLTUFnR0ExVUVBd3dCZURCWk1CTUdCeXFHU000OUFnRUdDQ3FHU000OUF3RUhBMElBQkpjcUlSRzVLTmRBCjRQMnR4eWw4R3pCeUhHUWt2VVJiU1RnNS9CbHdmLzFKcXdISm55bUEvd1NKdjNMTG9TVTlDRWJ5WnJvMVZQaGcKMnFpT3lDb1A5TmlqVXpCUk1CMEdBMVVkRGdRV0JCVCtYbWVNODlxbVBCTU5kbmdDWWRXNjFadnZNVEFmQmdOVgpIU01FR0RBV2dCVCtYbWVNODlxbVBCTU5kbmdDWWRXNjFadnZNVEFQQmdOVkhSTUJBZjhFQlRBREFRSC9NQW9HCkNDcUdTTTQ5QkFNQ0EwZ0FNRVVDSVFDdHdqeXM2RXA1MXN6Y3BOcWpxMUxXNWxTUlkzYmg0ME9pTVk1MFNOemcKcHdJZ2NTUEhvS2FjTCtGZWRLRkFzSkhmVHQ5U3hIcVk3TC9GSmRUbUJ4SG03Sk09Ci0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K"

// structured returns an object schema with properties.
var structured = jsontree.Obj("type", "object", "properties", jsontree.Obj("k", jsontree.Obj("type", "string"), "o", jsontree.Obj("type", "string")))

// keyed returns the schema of a key.
func keyed(more ...any) *jsontree.Node {
	return jsontree.Obj(append([]any{"type", "string"}, more...)...)
}

// keyedList returns a map list with one key.
func keyedList(key *jsontree.Node, more ...any) *jsontree.Node {
	item := jsontree.Obj(append([]any{"type", "object", "properties", jsontree.Obj("k", key, "v", jsontree.Obj("type", "string"))}, more...)...)
	return jsontree.Obj("type", "array", "x-kubernetes-list-type", "map", "x-kubernetes-list-map-keys", jsontree.Arr(jsontree.Str("k")), "items", item)
}

// nonStructural adds schemas that are not structural.
var nonStructural = planted("ab", jsontree.Obj(), jsontree.Obj("items", jsontree.Obj("type", "string")), jsontree.Obj("type", "object", "anyOf", jsontree.Arr(jsontree.Obj("properties", jsontree.Obj("x", jsontree.Obj("type", "string"))))), jsontree.Obj("type", "string", "$ref", "#/x"), jsontree.Obj("type", "object", "patternProperties", jsontree.Obj("a", jsontree.Obj())),
	jsontree.Obj("type", "array", "items", jsontree.Arr(jsontree.Obj("type", "string"))), jsontree.Obj("type", "object", "additionalProperties", jsontree.Obj("type", "string"), "properties", jsontree.Obj("x", jsontree.Obj("type", "string"))), jsontree.Obj("type", "object", "properties", jsontree.Obj("metadata", jsontree.Obj())), jsontree.Obj("type", "array"))

// relics are all relics. Each kind of error that an update ratchets occurs at least once.
var relics = []relic{
	// Non-structural schemas, and unpruned fields.
	nonStructural,
	func(r Rand, _, spec, _ *jsontree.Node) { spec.Set("preserveUnknownFields", !r.Chance(20)) },
	func(r Rand, crd, spec, ver *jsontree.Node) {
		spec.Set("preserveUnknownFields", true)
		nonStructural(r, crd, spec, ver)
	},
	// Unknown types.
	planted("ac", jsontree.Obj("type", "bogus"), jsontree.Obj("type", "array", "items", jsontree.Obj("type", "null")), jsontree.Obj("type", "date"), jsontree.Obj("type", "object", "properties", jsontree.Obj("x", jsontree.Obj("type", "any"))), jsontree.Obj("type", "string", "not", jsontree.Obj("type", "bogus"))),
	// Defaults that are unpruned or invalid.
	planted("bd", jsontree.Obj("type", "object", "properties", jsontree.Obj("x", jsontree.Obj("type", "string")), "default", jsontree.Obj("y", 1)), jsontree.Obj("type", "object", "default", jsontree.Obj("y", jsontree.Obj("z", 1))), jsontree.Obj("type", "string", "default", 1), jsontree.Obj("type", "string", "default", "x"),
		jsontree.Obj("type", "array", "items", jsontree.Obj("type", "object"), "default", jsontree.Arr(jsontree.Obj("q", 1))), jsontree.Obj("type", "object", "x-kubernetes-embedded-resource", true, "x-kubernetes-preserve-unknown-fields", true, "default", jsontree.Obj("apiVersion", "v1", "kind", "A", "metadata", jsontree.Obj("name", "x", "nope", 1)))),
	// Sets of values that cannot be compared.
	planted("ce", jsontree.Obj("type", "array", "x-kubernetes-list-type", "set", "items", structured), jsontree.Obj("type", "array", "x-kubernetes-list-type", "set", "items", jsontree.Obj("type", "array", "items", jsontree.Obj("type", "string"))),
		jsontree.Obj("type", "array", "x-kubernetes-list-type", "set", "items", jsontree.Obj("type", "object", "x-kubernetes-map-type", "atomic")), jsontree.Obj("type", "array", "x-kubernetes-list-type", "set", "items", jsontree.Obj("type", "array", "x-kubernetes-list-type", "atomic", "items", jsontree.Obj("type", "string"))),
		jsontree.Obj("type", "array", "x-kubernetes-list-type", "set", "items", jsontree.Obj("type", "string", "nullable", true)), jsontree.Obj("type", "array", "x-kubernetes-list-type", "bogus", "items", jsontree.Obj("type", "string"))),
	// Keys of map lists that can be absent or null.
	planted("df", keyedList(keyed()), keyedList(keyed("nullable", true), "required", jsontree.Arr(jsontree.Str("k"))), keyedList(keyed("default", "x")), keyedList(keyed(), "required", jsontree.Arr(jsontree.Str("k")), "nullable", true), keyedList(keyed(), "required", jsontree.Arr(jsontree.Str("k"))), keyedList(structured, "required", jsontree.Arr(jsontree.Str("k"))), keyedList(keyed("default", 1))),
	// Too many selectable fields, and invalid ones.
	func(r Rand, _, _, ver *jsontree.Node) {
		if ver.At("schema", "openAPIV3Schema", "properties", "spec", "properties", "j") == nil {
			return
		}
		list := jsontree.Arr()
		for _, name := range strings.Split("color selector n a b c d e f g h i j", " ")[:r.Between(7, 11)] {
			list.Items = append(list.Items, jsontree.Obj("jsonPath", ".spec."+name))
		}
		ver.Set("selectableFields", list)
	},
	func(r Rand, _, _, ver *jsontree.Node) { ver.Set("selectableFields", selectable(r)) },
	// Conversion: CA bundles without a certificate, unsupported review versions.
	func(r Rand, _, spec, _ *jsontree.Node) { spec.Set("conversion", Webhook(r)) },
	func(r Rand, _, spec, _ *jsontree.Node) { spec.Set("conversion", Webhook(r)) },
	func(r Rand, _, spec, _ *jsontree.Node) { spec.Set("conversion", conversion(r)) },
	// No schema.
	func(r Rand, _, spec, ver *jsontree.Node) {
		if r.Chance(30) {
			spec.Set("preserveUnknownFields", true)
		}
		if r.Chance(50) {
			ver.Delete("schema")
		} else {
			ver.Set("schema", jsontree.Obj())
		}
	},
	// Rules of the stored environment, in the rule and in the message.
	planted("eg", ruledBy(jsontree.Obj("rule", "self.l.includes('a')"), jsontree.Obj("rule", "!self.l.includes('a')"), jsontree.Obj("rule", "true", "messageExpression", "self.l.includes('a') ? 'a' : 'b'"), jsontree.Obj("rule", "self.few.includes('a')"), jsontree.Obj("rule", "self.few.includes('a')", "messageExpression", "self.few.includes('b') ? 'a' : 'b'"),
		jsontree.Obj("rule", "self.few.includes('b') ? true : false", "messageExpression", "self.few.includes('a') ? 'x' : 'y'"))...),
	// Rules at or above the cost limit.
	planted("fh", ruledBy(jsontree.Obj("rule", "self.l.all(x, self.l.all(y, x == y))"), jsontree.Obj("rule", "self.l.all(x, self.l.all(y, x != y + y))"), jsontree.Obj("rule", "true", "messageExpression", "self.l.map(x, self.l.map(y, y + x).join('')).join('')"), jsontree.Obj("rule", "self.l.all(x, x.contains('abc'))"),
		jsontree.Obj("rule", "self.l.all(x, self.few.all(y, x == y))"))...),
	// Invalid rules.
	planted("gi", ruledBy(jsontree.Obj("rule", "self.nosuch"), jsontree.Obj("rule", "self.n"), jsontree.Obj("rule", ""), jsontree.Obj("rule", "true", "reason", "bogus"), jsontree.Obj("rule", "true", "fieldPath", ".nosuch"), jsontree.Obj("rule", "self.n > oldSelf.n", "optionalOldSelf", true), jsontree.Obj("rule", "self.l.isSorted()", "message", "a\nb"))...),
	// Community groups without approval.
	func(r Rand, crd, spec, _ *jsontree.Node) {
		group := Pick(r, []string{"example.k8s.io", "example.kubernetes.io", "k8s.io", "stable.example.com"})
		spec.Set("group", group)
		plural, _ := spec.At("names", "plural").Text()
		crd.Get("metadata").Set("name", plural+"."+group)
		approved(r, crd)
	},
	func(r Rand, crd, _, _ *jsontree.Node) { approved(r, crd) },
	// Unknown formats.
	planted("hj", jsontree.Obj("type", "string", "format", "no-such"), jsontree.Obj("type", "string", "format", "neither"), jsontree.Obj("type", "integer", "format", "date"), jsontree.Obj("type", "string", "format", "date")),
	// Names and scope.
	func(r Rand, _, spec, _ *jsontree.Node) { spec.Set("scope", Pick(r, []string{"Cluster", "Namespaced"})) },
	func(r Rand, _, spec, _ *jsontree.Node) {
		spec.Get("names").Set(Pick(r, []string{"kind", "kind", "plural", "singular", "listKind"}), Pick(r, []string{"Other", "others", "CronTab", "crontabs"}))
	},
	func(r Rand, _, spec, _ *jsontree.Node) {
		spec.Set("group", Pick(r, []string{"other.example.com", "stable.example.com", "example"}))
	},
	// Fields that v1beta1 shares between versions.
	func(r Rand, crd, spec, ver *jsontree.Node) { legacy(r, crd, spec, ver) },
}

// approved sets the approval annotation of a protected group.
func approved(r Rand, crd *jsontree.Node) {
	if r.Chance(25) {
		crd.Get("metadata").Delete("annotations")
		return
	}
	crd.Get("metadata").Set("annotations", jsontree.Obj("api-approved.kubernetes.io", Pick(r, []string{"", "https://github.com/x", "https://github.com/y", "unapproved, x", "unapproved", "bogus", "://", "http://"})))
}

// Webhook is a conversion that is valid except for its CA bundle and review versions.
func Webhook(r Rand) *jsontree.Node {
	client := jsontree.Obj("url", "https://x/y")
	if r.Chance(70) {
		client.Set("caBundle", Pick(r, []string{"", "YQ==", "YmFk", "Cg==", "IA==", certificate}))
	}
	return jsontree.Obj("strategy", "Webhook", "webhook", jsontree.Obj("clientConfig", client, "conversionReviewVersions",
		Pick(r, []*jsontree.Node{jsontree.Arr(jsontree.Str("v1")), jsontree.Arr(jsontree.Str("v9")), jsontree.Arr(jsontree.Str("v8"), jsontree.Str("v9")), jsontree.Arr(jsontree.Str("v1beta1"), jsontree.Str("v9")), jsontree.Arr(jsontree.Str("v9"), jsontree.Str("v9"))}).Clone()))
}
