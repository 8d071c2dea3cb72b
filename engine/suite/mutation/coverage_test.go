package mutation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/suite"
)

const coveredCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kites.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: kites, singular: kite, kind: Kite}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            default: {}
            properties:
              colour: {type: string, enum: [Red, Blue], default: Red}
              port: {x-kubernetes-int-or-string: true}
              items:
                type: array
                items:
                  type: object
                  properties: {a: {type: integer, default: 1}, b: {type: integer}}
                  oneOf: [{required: [b]}, {not: {required: [b]}}]
              text: {type: string, anyOf: [{maxLength: 2}, {pattern: ^x}]}
          status:
            type: object
            properties: {phase: {type: string, enum: [Up, Down], default: Up}}
`

// TestCoverage counts the uses of single writes: their kinds, pointers and values.
func TestCoverage(t *testing.T) {
	for _, tc := range []struct{ object, old, subresource, want string }{
		{"{}", "", "", `default {}|default "Red"|enum "Red"`},
		{`{"spec":{"colour":"Blue"}}`, "", "", `enum "Blue"`},
		{`{"spec":{"colour":"Green"}}`, "", "", ""}, // rejected
		{`{"spec":{"colour":"Red","items":[{},{"b":1,"a":1}]}}`, "", "", `enum "Red"|oneOf/0|oneOf/1|default 1`},
		{`{"spec":{"colour":"Red","text":"xyz"}}`, "", "", `enum "Red"|anyOf/1`},
		{`{"spec":{"colour":"Red","text":"ab","port":"http"}}`, "", "", `enum "Red"|anyOf/0`},
		{`{"spec":{"colour":"Blue"}}`, `{"spec":{}}`, "", `enum "Blue"`},
		{`{"status":{}}`, `{"spec":{}}`, "status", `default "Up"|enum "Up"`},
		{`{"status":{"phase":"Down"}}`, `{"spec":{}}`, "status", `enum "Down"`},
	} {
		d, err := suite.Compile(t.Context(), []suite.CRDs{{File: "crd.yaml", Text: []byte(coveredCRD)}}, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var all Coverage
		of, err := all.Of(d[0], engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		whole := func(fields string) engine.Document {
			return engine.JSON([]byte(strings.TrimSuffix(`{"apiVersion":"example.com/v1","kind":"Kite","metadata":{"name":"a"},`+
				fields[1:len(fields)-1], ",") + "}"))
		}
		var item engine.Write = engine.Create{Object: whole(tc.object)}
		if tc.old != "" {
			item = engine.Update{Object: whole(tc.object), Old: whole(tc.old), Subresource: tc.subresource}
		}
		verdict, err := suite.NewEvaluator(d...).Admit(t.Context(), "example.com/v1", "Kite", item,
			engine.AdmitOptions{CompleteMetadata: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := of.Add(t.Context(), "example.com/v1", item, verdict); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, u := range all.Versions[0].Uses {
			if (u.Missing() == "") != (u.Count > 0) {
				t.Errorf("%+v: %s", u, u.Missing())
			}
			switch {
			case u.Count == 0:
			case u.Value == "":
				got = append(got, u.Kind+u.SchemaPointer[strings.LastIndex(u.SchemaPointer, "/"):])
			default:
				got = append(got, fmt.Sprintf("%s %s", u.Kind, u.Value))
			}
		}
		if strings.Join(got, "|") != tc.want {
			t.Errorf("%s\ngot  %s\nwant %s", tc.object, strings.Join(got, "|"), tc.want)
		}
		if n := len(all.Versions[0].Uses); n != 12 {
			t.Errorf("%d uses: %+v", n, all.Versions[0].Uses)
		}
	}
}
