package generate

import (
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// metadataFields are the fields of ObjectMeta with valid, almost valid and invalid values.
var metadataFields = map[string][]string{
	"name":                       {`"x"`, `"a.b"`, `""`, `"A"`, `"a/b"`, `"a_b"`, `"."`, `".."`, `"a%b"`, `1`, `null`, `[]`, `"` + strings.Repeat("n", 254) + `"`, `"\u0000"`, "\"\xff\"", `"-a"`, `"é"`},
	"generateName":               {`"x-"`, `""`, `"A"`, `"a/"`, `"` + strings.Repeat("g", 260) + `"`, `null`, `true`, `"x--"`, `"x."`},
	"namespace":                  {`"default"`, `""`, `"a b"`, `"A"`, `"a.b"`, `null`, `{}`, `"` + strings.Repeat("s", 64) + `"`},
	"selfLink":                   {`"/x"`, `""`, `1`},
	"uid":                        {`"u"`, `""`, `1`, `null`, `"a b"`},
	"resourceVersion":            {`"1"`, `""`, `1`, `"x"`},
	"generation":                 {`1`, `0`, `-1`, `7`, `1.0`, `1.5`, `"1"`, `null`, `9223372036854775807`, `9223372036854775808`, `1e3`, `-9223372036854775808`},
	"creationTimestamp":          {`null`, `"2020-01-01T00:00:00Z"`, `"2020-01-01T00:00:00.5Z"`, `"2020-01-01T00:00:00+01:00"`, `"x"`, `""`, `1`, `"2020-01-01"`, `"0001-01-01T00:00:00Z"`, `{}`},
	"deletionTimestamp":          {`null`, `"2020-01-01T00:00:00Z"`, `"2020-01-01t00:00:00z"`, `"x"`, `false`},
	"deletionGracePeriodSeconds": {`0`, `30`, `-1`, `null`, `"0"`, `1.0`, `1.5`},
	"labels": {`{}`, `null`, `{"a":"b"}`, `{"a b":"c"}`, `{"a":"b c"}`, `{"a":1}`, `{"a":null}`, `[]`, `"x"`, `{"a/b":"c","A/b":"c","a/":"c","/a":"c","a/b/c":"d"}`, `{"a":""}`, `{"":""}`, `{"x.io/y":"` + strings.Repeat("v", 64) + `"}`,
		`{"a":"b","a":"c"}`, `{"b":"1","a":"2"}`, `{"<":"&"}`, `{"a":"-b"}`, `{"a":{}}`, "{\"a\":\"\xff\"}", `{"a":"b","c":[]}`},
	"annotations": {`{}`, `null`, `{"a":"b"}`, `{"a b":"c"}`, `{"A.B/c":"anything goes \u2028"}`, `{"a":1}`, `{"a":true,"b":"c"}`, `{"a":"` + strings.Repeat("z", 256<<10) + `"}`, `{"a/b/c":""}`, `{"a":"\ud800"}`, `{"a":"b","a":null}`},
	"ownerReferences": {`[]`, `null`, `[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"u"}]`, `[{}]`, `[{"apiVersion":"v1","kind":"Event","name":"x","uid":"u"}]`, `[{"apiVersion":"a/b/c","kind":"","name":"","uid":""}]`,
		`[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"u","controller":true},{"apiVersion":"v1","kind":"Pod","name":"y","uid":"v","controller":true}]`, `[1]`, `{}`, `[null]`,
		`[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"u","bogus":1}]`, `[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"u","controller":"yes","blockOwnerDeletion":null}]`, `[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"u","controller":false,"blockOwnerDeletion":true}]`,
		`[{"apiVersion":"apps/v1","kind":"Deployment","name":"A/B","uid":" "}]`, `[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"u"},{"apiVersion":"v1","kind":"Pod","name":"x","uid":"u"}]`},
	"finalizers": {`[]`, `null`, `["a/b"]`, `["a"]`, `["a.b"]`, `["bad finalizer"]`, `["orphan","foregroundDeletion","kubernetes"]`, `["orphan"]`, `[1]`, `"x"`, `["a","a"]`, `[""]`, `["x.io/y","x.io/y/z"]`, `[null]`, `["` + strings.Repeat("f", 64) + `"]`, `["foregroundDeletion","orphan"]`},
	"managedFields": {`[]`, `null`, `[{}]`, `[{"manager":"m","operation":"Update","apiVersion":"v1","time":"2020-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{}}}]`,
		`[{"manager":"m","operation":"Bogus","fieldsType":"X"}]`, `[{"manager":"` + strings.Repeat("m", 130) + `","operation":"Apply","fieldsType":"FieldsV1"}]`, `[{"operation":"Apply","fieldsV1":1}]`, `[{"operation":"Update","subresource":"status","fieldsType":"FieldsV1","fieldsV1":{"b":1.0,"a":[{"x":1e3}]}}]`, `[{"manager":"a\nb","operation":"Apply"}]`, `[{"time":"x"}]`, `[1]`,
		`[{"operation":"Apply","unknown":{}}]`, `[{"operation":"Update","time":"2020-01-01T00:00:00.5+02:00","subresource":"` + strings.Repeat("s", 257) + `"}]`},
	"clusterName": {`"c"`, `1`},
	"unknown":     {`1`, `null`, `{"a":1}`},
	"Labels":      {`{"a":"b"}`},
	"NAME":        {`"x"`},
}

// metadataNames are the names of the fields in a fixed order.
var metadataNames = []string{"name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
	"deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers", "managedFields", "clusterName", "unknown", "Labels", "NAME"}

// metadata returns metadata that is mostly valid. broken breaks a field or two.
func metadata(r Rand, broken bool) *jsontree.Node {
	m := jsontree.Obj("name", "x")
	if r.Chance(60) {
		m.Set("namespace", "default")
	}
	if r.Chance(30) {
		m.Set("labels", jsontree.Obj("a", "b", "x.io/y", "z"))
	}
	if r.Chance(20) {
		m.Set("annotations", jsontree.Obj("note", "text \u2028 <&>"))
	}
	if broken {
		for range r.Between(1, 3) {
			f := Pick(r, metadataNames)
			m.Set(f, jsontree.Raw(Pick(r, metadataFields[f])))
			if r.Chance(8) { // a duplicate key
				m.Members = append(m.Members, jsontree.Member{Key: f, Value: jsontree.Raw(Pick(r, metadataFields[f]))})
			}
		}
	}
	return m
}

// Metadata returns groups about apiVersion, kind and metadata, at the root and in embedded resources.
func Metadata(r Rand) Group {
	schema := jsontree.Obj("type", "object", "properties", jsontree.Obj(
		"v", jsontree.Obj("type", "string"),
		"e", jsontree.Obj("type", "object", "x-kubernetes-embedded-resource", true, "x-kubernetes-preserve-unknown-fields", true),
		"l", jsontree.Obj("type", "array", "items", jsontree.Obj("type", "object", "x-kubernetes-embedded-resource", true, "properties", jsontree.Obj("a", jsontree.Obj("type", "string"),
			"inner", jsontree.Obj("type", "object", "x-kubernetes-embedded-resource", true, "x-kubernetes-preserve-unknown-fields", true)))),
		"m", jsontree.Obj("type", "object", "additionalProperties", jsontree.Obj("type", "object", "x-kubernetes-embedded-resource", true, "x-kubernetes-preserve-unknown-fields", true, "nullable", true)),
		"p", jsontree.Obj("type", "object", "x-kubernetes-preserve-unknown-fields", true, "properties", jsontree.Obj(
			"e", jsontree.Obj("type", "object", "x-kubernetes-embedded-resource", true, "properties", jsontree.Obj("kind", jsontree.Obj("type", "string", "minLength", 2))))),
	))
	if r.Chance(30) {
		schema.Get("properties").Set("metadata", jsontree.Obj("type", "object", "properties", jsontree.Obj("name", jsontree.Obj("type", "string", "maxLength", 3, "pattern", "^[a-z]"))))
	}
	if r.Chance(25) {
		AddRules(r, schema)
	}
	crd := Manifest(schema)
	if r.Chance(20) {
		crd.Get("spec").Set("scope", "Cluster")
	}
	g := Group{Name: "metadata", CRD: crd.JSON()}
	for range 12 {
		o := Envelope()
		o.Set("metadata", metadata(r, r.Chance(80)))
		switch r.IntN(12) {
		case 0:
			o.Set("metadata", Any(r, 2))
		case 1:
			o.Delete("metadata")
		case 2:
			o.Set(Pick(r, []string{"kind", "apiVersion"}), Any(r, 1))
		case 3:
			o.Delete(Pick(r, []string{"kind", "apiVersion"}))
		case 4:
			o.Set("kind", Pick(r, []string{"", "Other", "crontab"}))
		case 5:
			o.Set("apiVersion", Pick(r, []string{"", "v1", "stable.example.com/v2", "other/v1", "a/b/c", "stable.example.com/"}))
		}
		// If two values stop decoding, upstream reports either. So mostly one embedded object is broken.
		breakable := 1
		if r.Chance(3) {
			breakable = 4
		}
		embeddedAt := func() *jsontree.Node {
			e := jsontree.Obj("apiVersion", "v1", "kind", "Pod", "metadata", metadata(r, false))
			if breakable == 0 || r.Chance(40) {
				return e
			}
			breakable--
			e.Set("metadata", metadata(r, r.Chance(60)))
			switch r.IntN(8) {
			case 0:
				e.Set(Pick(r, []string{"apiVersion", "kind", "metadata"}), Any(r, 1))
			case 1:
				e.Delete(Pick(r, []string{"apiVersion", "kind", "metadata"}))
			case 2:
				e.Set("kind", Pick(r, []string{"", "-bad", "A.B", "lower", "Überkind"}))
			case 3:
				e.Set("apiVersion", Pick(r, []string{"", "a/b/c", "/", "a b/v1", "UPPER/V1"}))
			}
			if r.Chance(30) {
				e.Set("a", "b")
			}
			return e
		}
		if r.Chance(30) {
			o.Set("e", embeddedAt())
		}
		if r.Chance(20) {
			inner := embeddedAt()
			inner.Set("inner", embeddedAt())
			o.Set("l", jsontree.Arr(embeddedAt(), inner))
		}
		if r.Chance(20) {
			o.Set("m", jsontree.Obj("k", embeddedAt(), "a.b/c", embeddedAt(), "n", nil))
		}
		if r.Chance(20) {
			o.Set("p", jsontree.Obj("e", embeddedAt(), "u", 1))
		}
		if breakable > 0 && r.Chance(10) {
			o.Set("e", Any(r, 2))
		}
		g.Objects = append(g.Objects, request(r, o))
	}
	return g
}
