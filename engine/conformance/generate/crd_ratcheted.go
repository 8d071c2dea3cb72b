package generate

import (
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/tree"
)

// formSchema is the schema of CRDs whose other fields are tested.
func formSchema() *tree.Node {
	return tree.Obj("type", "object", "properties", tree.Obj(
		"spec", tree.Obj("type", "object", "properties", tree.Obj("replicas", tree.Obj("type", "integer"), "color", tree.Obj("type", "string"), "n", tree.Obj("type", "number"), "selector", tree.Obj("type", "string"),
			"list", tree.Obj("type", "array", "items", tree.Obj("type", "string")), "deep", tree.Obj("type", "object", "properties", tree.Obj("x", tree.Obj("type", "boolean"))))),
		"status", tree.Obj("type", "object", "properties", tree.Obj("replicas", tree.Obj("type", "integer"), "selector", tree.Obj("type", "string")))))
}

// relicSchema has a suitable node for each relic.
func relicSchema() *tree.Node {
	s := formSchema()
	spec := s.At("properties", "spec", "properties")
	for _, n := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		spec.Set(n, tree.Obj("type", "string"))
	}
	return s
}

// relic adds something to a CRD that an older server accepted, and that today's accepts only if it is already stored.
type relic = func(r Rand, crd, spec, ver *tree.Node)

// planted adds one of several schemas to the schema of a version, as a named property or any; sometimes twice.
func planted(names string, schemas ...*tree.Node) relic {
	return func(r Rand, _, _, ver *tree.Node) {
		root := ver.At("schema", "openAPIV3Schema")
		if root == nil || root.Kind != tree.Object {
			return
		}
		props := root.At("properties", "spec", "properties")
		if props == nil || props.Kind != tree.Object {
			if props = root.Get("properties"); props == nil || props.Kind != tree.Object {
				props = tree.Obj()
				root.Set("properties", props)
			}
		}
		for range Pick(r, []int{1, 1, 1, 2}) {
			props.Set(string(names[r.IntN(len(names))]), Pick(r, schemas).Clone())
		}
	}
}

// ruledBy returns schemas of a list of strings with each of the rules.
func ruledBy(rules ...*tree.Node) (schemas []*tree.Node) {
	for _, rule := range rules {
		schemas = append(schemas, tree.Obj("type", "object", "properties", tree.Obj("l", tree.Obj("type", "array", "items", tree.Obj("type", "string")), "n", tree.Obj("type", "integer"), "few", tree.Obj("type", "array", "maxItems", 3, "items", tree.Obj("type", "string", "maxLength", 5))),
			"x-kubernetes-validations", tree.Arr(rule)))
	}
	return schemas
}

// certificate is a CA bundle with one certificate.
const certificate = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJiekNDQVJXZ0F3SUJBZ0lVS0lkTDI2MmE5QTRUbUQxbDJyc3J5QXZaeVdnd0NnWUlLb1pJemowRUF3SXcKRERFS01BZ0dBMVVFQXd3QmVEQWdGdzB5TmpFeE1qRXhNelUyTVRoYUdBOHlNVEkyTVRBeU9ERXpOVFl4T0ZvdwpEREVLTUFnR0ExVUVBd3dCZURCWk1CTUdCeXFHU000OUFnRUdDQ3FHU000OUF3RUhBMElBQkpjcUlSRzVLTmRBCjRQMnR4eWw4R3pCeUhHUWt2VVJiU1RnNS9CbHdmLzFKcXdISm55bUEvd1NKdjNMTG9TVTlDRWJ5WnJvMVZQaGcKMnFpT3lDb1A5TmlqVXpCUk1CMEdBMVVkRGdRV0JCVCtYbWVNODlxbVBCTU5kbmdDWWRXNjFadnZNVEFmQmdOVgpIU01FR0RBV2dCVCtYbWVNODlxbVBCTU5kbmdDWWRXNjFadnZNVEFQQmdOVkhSTUJBZjhFQlRBREFRSC9NQW9HCkNDcUdTTTQ5QkFNQ0EwZ0FNRVVDSVFDdHdqeXM2RXA1MXN6Y3BOcWpxMUxXNWxTUlkzYmg0ME9pTVk1MFNOemcKcHdJZ2NTUEhvS2FjTCtGZWRLRkFzSkhmVHQ5U3hIcVk3TC9GSmRUbUJ4SG03Sk09Ci0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K"

// structured returns an object schema with properties.
var structured = tree.Obj("type", "object", "properties", tree.Obj("k", tree.Obj("type", "string"), "o", tree.Obj("type", "string")))

// keyed returns the schema of a key.
func keyed(more ...any) *tree.Node { return tree.Obj(append([]any{"type", "string"}, more...)...) }

// keyedList returns a map list with one key.
func keyedList(key *tree.Node, more ...any) *tree.Node {
	item := tree.Obj(append([]any{"type", "object", "properties", tree.Obj("k", key, "v", tree.Obj("type", "string"))}, more...)...)
	return tree.Obj("type", "array", "x-kubernetes-list-type", "map", "x-kubernetes-list-map-keys", tree.Arr(tree.Str("k")), "items", item)
}

// nonStructural adds schemas that are not structural.
var nonStructural = planted("ab", tree.Obj(), tree.Obj("items", tree.Obj("type", "string")), tree.Obj("type", "object", "anyOf", tree.Arr(tree.Obj("properties", tree.Obj("x", tree.Obj("type", "string"))))), tree.Obj("type", "string", "$ref", "#/x"), tree.Obj("type", "object", "patternProperties", tree.Obj("a", tree.Obj())),
	tree.Obj("type", "array", "items", tree.Arr(tree.Obj("type", "string"))), tree.Obj("type", "object", "additionalProperties", tree.Obj("type", "string"), "properties", tree.Obj("x", tree.Obj("type", "string"))), tree.Obj("type", "object", "properties", tree.Obj("metadata", tree.Obj())), tree.Obj("type", "array"))

// relics are all relics. Each kind of error that an update ratchets occurs at least once.
var relics = []relic{
	// Non-structural schemas, and unpruned fields.
	nonStructural,
	func(r Rand, _, spec, _ *tree.Node) { spec.Set("preserveUnknownFields", !r.Chance(20)) },
	func(r Rand, crd, spec, ver *tree.Node) {
		spec.Set("preserveUnknownFields", true)
		nonStructural(r, crd, spec, ver)
	},
	// Unknown types.
	planted("ac", tree.Obj("type", "bogus"), tree.Obj("type", "array", "items", tree.Obj("type", "null")), tree.Obj("type", "date"), tree.Obj("type", "object", "properties", tree.Obj("x", tree.Obj("type", "any"))), tree.Obj("type", "string", "not", tree.Obj("type", "bogus"))),
	// Defaults that are unpruned or invalid.
	planted("bd", tree.Obj("type", "object", "properties", tree.Obj("x", tree.Obj("type", "string")), "default", tree.Obj("y", 1)), tree.Obj("type", "object", "default", tree.Obj("y", tree.Obj("z", 1))), tree.Obj("type", "string", "default", 1), tree.Obj("type", "string", "default", "x"),
		tree.Obj("type", "array", "items", tree.Obj("type", "object"), "default", tree.Arr(tree.Obj("q", 1))), tree.Obj("type", "object", "x-kubernetes-embedded-resource", true, "x-kubernetes-preserve-unknown-fields", true, "default", tree.Obj("apiVersion", "v1", "kind", "A", "metadata", tree.Obj("name", "x", "nope", 1)))),
	// Sets of values that cannot be compared.
	planted("ce", tree.Obj("type", "array", "x-kubernetes-list-type", "set", "items", structured), tree.Obj("type", "array", "x-kubernetes-list-type", "set", "items", tree.Obj("type", "array", "items", tree.Obj("type", "string"))),
		tree.Obj("type", "array", "x-kubernetes-list-type", "set", "items", tree.Obj("type", "object", "x-kubernetes-map-type", "atomic")), tree.Obj("type", "array", "x-kubernetes-list-type", "set", "items", tree.Obj("type", "array", "x-kubernetes-list-type", "atomic", "items", tree.Obj("type", "string"))),
		tree.Obj("type", "array", "x-kubernetes-list-type", "set", "items", tree.Obj("type", "string", "nullable", true)), tree.Obj("type", "array", "x-kubernetes-list-type", "bogus", "items", tree.Obj("type", "string"))),
	// Keys of map lists that can be absent or null.
	planted("df", keyedList(keyed()), keyedList(keyed("nullable", true), "required", tree.Arr(tree.Str("k"))), keyedList(keyed("default", "x")), keyedList(keyed(), "required", tree.Arr(tree.Str("k")), "nullable", true), keyedList(keyed(), "required", tree.Arr(tree.Str("k"))), keyedList(structured, "required", tree.Arr(tree.Str("k"))), keyedList(keyed("default", 1))),
	// Too many selectable fields, and invalid ones.
	func(r Rand, _, _, ver *tree.Node) {
		if ver.At("schema", "openAPIV3Schema", "properties", "spec", "properties", "j") == nil {
			return
		}
		list := tree.Arr()
		for _, name := range strings.Split("color selector n a b c d e f g h i j", " ")[:r.Between(7, 11)] {
			list.Items = append(list.Items, tree.Obj("jsonPath", ".spec."+name))
		}
		ver.Set("selectableFields", list)
	},
	func(r Rand, _, _, ver *tree.Node) { ver.Set("selectableFields", selectable(r)) },
	// Conversion: CA bundles without a certificate, unsupported review versions.
	func(r Rand, _, spec, _ *tree.Node) { spec.Set("conversion", Webhook(r)) },
	func(r Rand, _, spec, _ *tree.Node) { spec.Set("conversion", Webhook(r)) },
	func(r Rand, _, spec, _ *tree.Node) { spec.Set("conversion", conversion(r)) },
	// No schema.
	func(r Rand, _, spec, ver *tree.Node) {
		if r.Chance(30) {
			spec.Set("preserveUnknownFields", true)
		}
		if r.Chance(50) {
			ver.Delete("schema")
		} else {
			ver.Set("schema", tree.Obj())
		}
	},
	// Rules of the stored environment, in the rule and in the message.
	planted("eg", ruledBy(tree.Obj("rule", "self.l.includes('a')"), tree.Obj("rule", "!self.l.includes('a')"), tree.Obj("rule", "true", "messageExpression", "self.l.includes('a') ? 'a' : 'b'"), tree.Obj("rule", "self.few.includes('a')"), tree.Obj("rule", "self.few.includes('a')", "messageExpression", "self.few.includes('b') ? 'a' : 'b'"),
		tree.Obj("rule", "self.few.includes('b') ? true : false", "messageExpression", "self.few.includes('a') ? 'x' : 'y'"))...),
	// Rules at or above the cost limit.
	planted("fh", ruledBy(tree.Obj("rule", "self.l.all(x, self.l.all(y, x == y))"), tree.Obj("rule", "self.l.all(x, self.l.all(y, x != y + y))"), tree.Obj("rule", "true", "messageExpression", "self.l.map(x, self.l.map(y, y + x).join('')).join('')"), tree.Obj("rule", "self.l.all(x, x.contains('abc'))"),
		tree.Obj("rule", "self.l.all(x, self.few.all(y, x == y))"))...),
	// Invalid rules.
	planted("gi", ruledBy(tree.Obj("rule", "self.nosuch"), tree.Obj("rule", "self.n"), tree.Obj("rule", ""), tree.Obj("rule", "true", "reason", "bogus"), tree.Obj("rule", "true", "fieldPath", ".nosuch"), tree.Obj("rule", "self.n > oldSelf.n", "optionalOldSelf", true), tree.Obj("rule", "self.l.isSorted()", "message", "a\nb"))...),
	// Community groups without approval.
	func(r Rand, crd, spec, _ *tree.Node) {
		group := Pick(r, []string{"example.k8s.io", "example.kubernetes.io", "k8s.io", "stable.example.com"})
		spec.Set("group", group)
		plural, _ := spec.At("names", "plural").Text()
		crd.Get("metadata").Set("name", plural+"."+group)
		approved(r, crd)
	},
	func(r Rand, crd, _, _ *tree.Node) { approved(r, crd) },
	// Unknown formats.
	planted("hj", tree.Obj("type", "string", "format", "no-such"), tree.Obj("type", "string", "format", "neither"), tree.Obj("type", "integer", "format", "date"), tree.Obj("type", "string", "format", "date")),
	// Names and scope.
	func(r Rand, _, spec, _ *tree.Node) { spec.Set("scope", Pick(r, []string{"Cluster", "Namespaced"})) },
	func(r Rand, _, spec, _ *tree.Node) {
		spec.Get("names").Set(Pick(r, []string{"kind", "kind", "plural", "singular", "listKind"}), Pick(r, []string{"Other", "others", "CronTab", "crontabs"}))
	},
	func(r Rand, _, spec, _ *tree.Node) {
		spec.Set("group", Pick(r, []string{"other.example.com", "stable.example.com", "example"}))
	},
	// Fields that v1beta1 shares between versions.
	func(r Rand, crd, spec, ver *tree.Node) { legacy(r, crd, spec, ver) },
}

// approved sets the approval annotation of a protected group.
func approved(r Rand, crd *tree.Node) {
	if r.Chance(25) {
		crd.Get("metadata").Delete("annotations")
		return
	}
	crd.Get("metadata").Set("annotations", tree.Obj("api-approved.kubernetes.io", Pick(r, []string{"", "https://github.com/x", "https://github.com/y", "unapproved, x", "unapproved", "bogus", "://", "http://"})))
}

// Webhook is a conversion that is valid except for its CA bundle and review versions.
func Webhook(r Rand) *tree.Node {
	client := tree.Obj("url", "https://x/y")
	if r.Chance(70) {
		client.Set("caBundle", Pick(r, []string{"", "YQ==", "YmFk", "Cg==", "IA==", certificate}))
	}
	return tree.Obj("strategy", "Webhook", "webhook", tree.Obj("clientConfig", client, "conversionReviewVersions",
		Pick(r, []*tree.Node{tree.Arr(tree.Str("v1")), tree.Arr(tree.Str("v9")), tree.Arr(tree.Str("v8"), tree.Str("v9")), tree.Arr(tree.Str("v1beta1"), tree.Str("v9")), tree.Arr(tree.Str("v9"), tree.Str("v9"))}).Clone()))
}
