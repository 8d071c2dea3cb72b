package publish_test

import (
	"context"
	"testing"

	"github.com/crdeval/crdeval/engine"
)

// storedCRD has two versions of different fields.
const storedCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer, default: 1}, color: {type: string}}, x-kubernetes-validations: [{rule: "self.size < 10"}]}
          status: {type: object, default: {phase: New}, properties: {phase: {type: string}}}
  - name: v1beta1
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}, shade: {type: string}}}
`

func compileCRD(t testing.TB, manifest string) *engine.Definition {
	t.Helper()
	d, report, err := engine.Compile(context.Background(), engine.YAML([]byte(manifest)), engine.Options{})
	if err != nil || !report.Accepted {
		t.Fatal(err, report)
	}
	return d
}

func widget(version, metadata, rest string) engine.Document {
	return engine.JSON([]byte(`{"apiVersion":"example.com/` + version + `","kind":"Widget","metadata":{` + metadata + `}` + rest + `}`))
}

// scaledCRD has a version with the subresource scale, and stored is an object of it.
const scaledCRD = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"crontabs.stable.example.com"},
"spec":{"group":"stable.example.com","names":{"kind":"CronTab","plural":"crontabs"},"scope":"Namespaced","versions":[
{"name":"v1","served":true,"storage":true,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas","labelSelectorPath":".status.selector"}},
 "schema":{"openAPIV3Schema":{"type":"object","properties":{
  "spec":{"type":"object","properties":{"replicas":{"type":"integer","maximum":5},"image":{"type":"string"},"list":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}}}}},
   "x-kubernetes-validations":[{"rule":"!has(self.replicas) || self.replicas != 4","message":"not 4"}]},
  "status":{"type":"object","properties":{"replicas":{"type":"integer"},"selector":{"type":"string"}}}}}}},
{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"replicas":{"type":"integer","default":2}}}}}}}]}}`

const stored = `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"x","namespace":"default","uid":"u","resourceVersion":"7","generation":3},` +
	`"spec":{"replicas":1,"image":"a<b"},"status":{"replicas":1,"selector":"a=b"}}`

func scaled(t testing.TB) *engine.Definition {
	t.Helper()
	d, report, err := engine.Compile(context.Background(), engine.JSON([]byte(scaledCRD)), engine.Options{})
	if err != nil || d == nil {
		t.Fatal(err, report)
	}
	return d
}

func compile(t testing.TB, crd string) *engine.Definition {
	t.Helper()
	d, report, err := engine.Compile(context.Background(), engine.YAML([]byte(crd)), engine.Options{})
	if err != nil || d == nil {
		t.Fatalf("%v %+v", err, report)
	}
	return d
}
