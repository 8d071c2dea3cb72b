package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/rules"
)

// Tests of what a server needs that holds objects decoded.

const servedCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boxes.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: boxes, singular: box, kind: Box, listKind: BoxList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {
      spec: {type: object, properties: {a: {type: string}, c: {type: string}, n: {type: number}}, x-kubernetes-validations: [{rule: "!has(oldSelf.c) || has(self.c)"}]},
      status: {type: object, properties: {phase: {type: string}}}}}}
  - name: v1beta1
    served: true
    storage: false
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {
      spec: {type: object, properties: {a: {type: string}, c: {type: string, default: C}, n: {type: number}}},
      status: {type: object, properties: {phase: {type: string}}}}}}
`

func box(version, metadata, rest string) Document {
	return JSON([]byte(`{"apiVersion":"example.com/` + version + `","kind":"Box","metadata":{"name":"b","namespace":"n","uid":"u","creationTimestamp":"2026-01-05T08:00:00Z","generation":1` + metadata + `}` + rest + `}`))
}

// TestOldDecoded: an old object that was read already does not get defaults of the version of the request.
func TestOldDecoded(t *testing.T) {
	d := compileCRD(t, servedCRD)
	const spec, stored = `,"spec":{"a":"x"}`, `{"apiVersion":"example.com/v1","kind":"Box","metadata":{"name":"b","namespace":"n","uid":"u","creationTimestamp":"2026-01-05T08:00:00Z","generation":1},"spec":{"a":"x"`
	status := Update{Subresource: "status", Object: box("v1beta1", `,"resourceVersion":"7"`, spec+`,"status":{"phase":"x"}`), Old: box("v1beta1", `,"resourceVersion":"7"`, spec), OldDecoded: true}
	for _, trace := range []rules.TraceMode{rules.TraceNone, rules.TraceAll} { // both paths
		o := AdmitOptions{Trace: trace}
		v, err := d.Admit(context.Background(), status, o)
		if want := stored + `},"status":{"phase":"x"}}`; err != nil || string(v.StoredObject) != want {
			t.Errorf("%v\ngot  %s\nwant %s", err, v.StoredObject, want)
		}
		fromStorage := status
		fromStorage.OldDecoded = false
		v, err = d.Admit(context.Background(), fromStorage, o)
		if want := stored + `,"c":"C"},"status":{"phase":"x"}}`; err != nil || string(v.StoredObject) != want {
			t.Errorf("from storage: %v\ngot  %s\nwant %s", err, v.StoredObject, want)
		}
		// A rule sees the old object as it is, too.
		update := status
		update.Subresource, update.Object = "", box("v1", `,"resourceVersion":"7"`, spec)
		update.Old = box("v1", `,"resourceVersion":"7"`, `,"spec":{"a":"x","c":"C"}`)
		if v, err := d.Admit(context.Background(), update, o); err != nil || len(v.Violations) != 1 {
			t.Errorf("%v %+v", err, v)
		}
		other := status
		other.Old = box("v1", "", spec)
		if _, err := d.Admit(context.Background(), other, o); ReasonOf(err) != ReasonInvalidArgument {
			t.Errorf("an old object of another version: %v", err)
		}
	}
	if _, err := d.Admit(context.Background(), Update{Object: status.Object, OldDecoded: true}, AdmitOptions{}); ReasonOf(err) != ReasonInvalidArgument {
		t.Errorf("no old object: %v", err)
	}
}

// TestUnchanged: which updates store what is stored already.
func TestUnchanged(t *testing.T) {
	d := compileCRD(t, servedCRD)
	const sent, spec = `,"resourceVersion":"7"`, `,"spec":{"a":"x"}`
	for _, c := range []struct {
		name string
		item Write
		want bool
	}{
		{"the same", Update{Object: box("v1", sent, spec), Old: box("v1", "", spec)}, true},
		{"keys in another order", Update{Object: box("v1", sent, `,"spec":{"c":"C","a":"x"}`), Old: box("v1", "", `,"spec":{"a":"x","c":"C"}`)}, true},
		{"a null that is dropped", Update{Object: box("v1", sent, `,"spec":{"a":"x","c":null}`), Old: box("v1", "", spec)}, true},
		{"another spec", Update{Object: box("v1", sent, `,"spec":{"a":"y"}`), Old: box("v1", "", spec)}, false},
		{"a label", Update{Object: box("v1", sent+`,"labels":{"a":"b"}`, spec), Old: box("v1", "", spec)}, false},
		{"a status that is ignored", Update{Object: box("v1", sent, spec+`,"status":{"phase":"x"}`), Old: box("v1", "", spec)}, true},
		{"another status", Update{Subresource: "status", Object: box("v1", sent, spec+`,"status":{"phase":"x"}`), Old: box("v1", "", spec)}, false},
		{"the same status", Update{Subresource: "status", Object: box("v1", sent, `,"spec":{"a":"y"},"status":{"phase":"x"}`), Old: box("v1", "", spec+`,"status":{"phase":"x"}`)}, true},
		{"a patch without effect", Patch{Type: MergePatch, Body: JSON([]byte(`{"spec":{"a":"x"}}`)), Old: box("v1", sent, spec)}, true},
		{"a patch", Patch{Type: MergePatch, Body: JSON([]byte(`{"spec":{"a":"y"}}`)), Old: box("v1", sent, spec)}, false},
		{"the same at another version", Update{Version: "v1beta1", Object: box("v1beta1", sent, `,"spec":{"a":"x","c":"C"}`), Old: box("v1", "", `,"spec":{"a":"x","c":"C"}`)}, true},
		{"a default of another version", Update{Version: "v1beta1", Object: box("v1beta1", sent, spec), Old: box("v1", "", spec)}, false},
		{"stored at another version", Update{Object: box("v1", sent, `,"spec":{"a":"x","c":"C"}`), Old: box("v1beta1", "", `,"spec":{"a":"x","c":"C"}`)}, false},
		{"an unknown field in storage", Update{Object: box("v1", sent, spec), Old: box("v1", "", `,"spec":{"a":"x","y":1}`)}, false},
		{"a stored 1.0", Update{Object: box("v1", sent, `,"spec":{"n":1}`), Old: box("v1", "", `,"spec":{"n":1.0}`)}, false},
		{"the same as a decoded one", Update{Version: "v1beta1", Object: box("v1beta1", sent, `,"spec":{"a":"x","c":"C"}`), Old: box("v1beta1", sent, `,"spec":{"a":"x","c":"C"}`), OldDecoded: true}, true},
		{"a default that a decoded one lacks", Update{Version: "v1beta1", Object: box("v1beta1", sent, spec), Old: box("v1beta1", sent, spec), OldDecoded: true}, false},
		{"invalid UTF-8 in storage", Update{Object: box("v1", sent, `,"spec":{"a":"\ufffd("}`), Old: box("v1", "", ",\"spec\":{\"a\":\"\xc3(\"}")}, false},
		{"invalid UTF-8 in storage, a status", Update{Version: "v1", Subresource: "status", Object: box("v1", sent, spec), Old: box("v1", "", ",\"spec\":{\"a\":\"\xc3(\"}")}, false},
		{"an unpaired surrogate in storage", Update{Object: box("v1", sent, `,"spec":{"a":"\ufffd("}`), Old: box("v1", "", `,"spec":{"a":"\ud800("}`)}, false},
		{"a creation", Create{Object: box("v1", "", spec)}, false},
		{"rejected", Update{Object: box("v1", "", spec), Old: box("v1", "", spec)}, false},
		{"the last finalizer", Update{Object: box("v1", sent, ""), Old: box("v1", `,"deletionTimestamp":"2026-01-06T08:00:00Z","finalizers":["a/b"]`, "")}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, o := range []AdmitOptions{{}, {View: ViewNone}, {View: ViewChanged}, {Trace: rules.TraceAll}} {
				v, err := d.Admit(context.Background(), c.item, o)
				if err != nil || v.Unchanged != c.want {
					t.Errorf("%+v: %v %+v", o, err, v)
				}
			}
		})
	}
	nullable := compileCRD(t, strings.Replace(servedCRD, "status: {type: object", "status: {nullable: true, type: object", 1))
	null := Update{Subresource: "status", Object: box("v1", sent, spec), Old: box("v1", "", spec+`,"status":null`)}
	if v, err := nullable.Admit(context.Background(), null, AdmitOptions{}); err != nil || v.Unchanged {
		t.Errorf("a status of null is removed: %v %+v", err, v)
	}
}
