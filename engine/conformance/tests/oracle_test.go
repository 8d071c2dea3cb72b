package tests

import (
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// twoVersions has a scale and defaults at v1. It stores v2, whose spec has fewer fields.
const twoVersions = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"crontabs.stable.example.com"},
"spec":{"group":"stable.example.com","names":{"kind":"CronTab","plural":"crontabs"},"scope":"Namespaced","versions":[
{"name":"v1","served":true,"storage":false,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},
 "schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"replicas":{"type":"integer","default":1,"maximum":10},"a":{"type":"string"}}},
  "status":{"type":"object","properties":{"replicas":{"type":"integer"}}}}}}},
{"name":"v2","served":true,"storage":true,"subresources":{"status":{}},
 "schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"replicas":{"type":"integer"}}},"status":{"type":"object","properties":{"replicas":{"type":"integer"}}}}}}}]}}`

// TestOracleServer: the handlers of a CRD answer all kinds of requests, with the stored object or with a Status.
func TestOracleServer(t *testing.T) {
	r, a := oracle.Register([]byte(twoVersions), false)
	if !a.Accepted() {
		t.Fatal(a)
	}
	d, err := oracle.Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	const meta = `"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"x","resourceVersion":"7"}`
	const unversioned = `"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"x"}`
	const old = `{"apiVersion":"stable.example.com/v2","kind":"CronTab","metadata":{"name":"x","namespace":"default","resourceVersion":"7","uid":"u","generation":3,"creationTimestamp":"2024-01-01T00:00:00Z"},"spec":{"replicas":3}}`
	const read = `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"creationTimestamp":"2024-01-01T00:00:00Z","generation":4,"name":"x","namespace":"default","uid":"u"},`
	leaving := strings.Replace(old, `"generation"`, `"finalizers":["a.b/c"],"deletionTimestamp":"2024-01-01T00:00:00Z","generation"`, 1)
	for _, c := range []struct {
		name string
		oracle.Request
		object, stored, rejection string // rejection: a part of its message
		code                      int32
		deletes                   bool
	}{
		{name: "create", Request: oracle.Request{Body: []byte(`{` + unversioned + `,"spec":{"a":"b","z":1}}`)},
			object: `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"generation":1,"name":"x","namespace":"default"},"spec":{"replicas":1}}`,
			stored: `{"apiVersion":"stable.example.com/v2","kind":"CronTab","metadata":{"generation":1,"name":"x","namespace":"default"},"spec":{"replicas":1}}`},
		{name: "create with a resourceVersion", Request: oracle.Request{Body: []byte(`{` + meta + `,"spec":{}}`)}, code: 500,
			rejection: "resourceVersion should not be set on objects to be created"},
		{name: "create, rejected", Request: oracle.Request{Body: []byte(`{` + meta + `,"spec":{"replicas":11}}`)}, code: 422, rejection: "less than or equal to 10"},
		{name: "update", Request: oracle.Request{Op: oracle.Update, Old: []byte(old), Body: []byte(`{` + meta + `,"spec":{"a":"b"}}`)}, object: read + `"spec":{"replicas":1}}`,
			stored: strings.Replace(read, "v1", "v2", 1) + `"spec":{"replicas":1}}`},
		{name: "status", Request: oracle.Request{Op: oracle.Status, Old: []byte(old), Body: []byte(`{` + meta + `,"spec":{"a":"b"},"status":{"replicas":4}}`)},
			object: strings.Replace(read, ":4", ":3", 1) + `"spec":{"replicas":3},"status":{"replicas":4}}`,
			stored: strings.Replace(strings.Replace(read, ":4", ":3", 1), "v1", "v2", 1) + `"spec":{"replicas":3},"status":{"replicas":4}}`},
		{name: "scale", Request: oracle.Request{Op: oracle.Scale, Old: []byte(old), Body: []byte(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"x"},"spec":{"replicas":9}}`)},
			object: `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"x","namespace":"default","uid":"u","creationTimestamp":"2024-01-01T00:00:00Z"},"spec":{"replicas":9},"status":{"replicas":0}}`,
			stored: strings.Replace(read, "v1", "v2", 1) + `"spec":{"replicas":9}}`},
		{name: "merge patch", Request: oracle.Request{Op: oracle.Update, Patch: oracle.MergePatch, Old: []byte(old), Body: []byte(`{"spec":{"replicas":5}}`)}, object: read + `"spec":{"replicas":5}}`,
			stored: strings.Replace(read, "v1", "v2", 1) + `"spec":{"replicas":5}}`},
		{name: "JSON patch", Request: oracle.Request{Op: oracle.Update, Patch: oracle.JSONPatch, Old: []byte(old), Body: []byte(`[{"op":"remove","path":"/spec/q"}]`)}, code: 422, rejection: "rejected our request"},
		{name: "another patch", Request: oracle.Request{Op: oracle.Update, Patch: "a/b", Old: []byte(old), Body: []byte(`[]`)}, code: 415, rejection: "unknown format"},
		{name: "last finalizer", Request: oracle.Request{Op: oracle.Update, Old: []byte(leaving), Body: []byte(`{` + meta + `,"spec":{}}`)}, deletes: true,
			object: strings.Replace(read, `"generation"`, `"deletionTimestamp":"2024-01-01T00:00:00Z","resourceVersion":"7","generation"`, 1) + `"spec":{"replicas":1}}`},
	} {
		q := c.Request
		q.Whole, q.Name, q.Namespace, q.Version = true, "x", "default", "v1"
		a := d.Answer(q)
		if c.code != 0 {
			if a.Rejection == nil || a.Rejection.Code != c.code || !strings.Contains(a.Rejection.Message, c.rejection) || a.Status == nil || a.Object != nil || a.Stored != nil {
				t.Errorf("%s: %+v", c.name, a)
			}
			continue
		}
		if a.Rejection != nil || !sameDocument(a.Object, c.object) || !sameDocument(a.Stored, c.stored) || a.Deletes != c.deletes {
			t.Errorf("%s: %+v\nobject %s\nstored %s", c.name, a.Rejection, a.Object, a.Stored)
		}
	}
}

// sameDocument reports whether both are the same JSON value. "" means that there is no document.
func sameDocument(got []byte, want string) bool {
	return len(got) == 0 && want == "" || canonical(got) == canonical([]byte(want))
}
