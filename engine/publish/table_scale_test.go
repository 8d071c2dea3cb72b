package publish_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/publish"
)

func TestScaleTable(t *testing.T) {
	d := scaled(t)
	const columns = `"columnDefinitions":[{"name":"Name","type":"string","format":"name","description":"` +
		`Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names","priority":0},` +
		`{"name":"Desired","type":"integer","format":"","description":"Number of desired replicas","priority":0},` +
		`{"name":"Available","type":"integer","format":"","description":"Number of actual replicas","priority":0},` +
		`{"name":"Age","type":"date","format":"","description":"CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata","priority":0}],`
	const metadata = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"x","namespace":"default","uid":"u","resourceVersion":"7"}}`
	for _, c := range []struct {
		name, object, want string
		options            publish.TableOptions
		reason             engine.Reason
		code               int32
	}{
		{name: "default", object: stored, want: `"metadata":{"resourceVersion":"7"},` + columns + `"rows":[{"cells":["x",1,1,null],"object":` + metadata + `}]}`},
		{name: "no columns and objects", object: stored, options: publish.TableOptions{NoHeaders: true, Object: publish.RowNone, ResourceVersion: "9"},
			want: `"metadata":{"resourceVersion":"9"},"columnDefinitions":null,"rows":[{"cells":["x",1,1,null],"object":null}]}`},
		{name: "whole", object: stored, options: publish.TableOptions{NoHeaders: true, Object: publish.RowWhole},
			want: `"metadata":{"resourceVersion":"7"},"columnDefinitions":null,"rows":[{"cells":["x",1,1,null],"object":{"kind":"Scale","apiVersion":"autoscaling/v1",` +
				`"metadata":{"name":"x","namespace":"default","uid":"u","resourceVersion":"7"},"spec":{"replicas":1},"status":{"replicas":1,"selector":"a=b"}}}]}`},
		{name: "no replicas", object: strings.Replace(stored, `"replicas":1,"image"`, `"image"`, 1), reason: engine.ReasonObjectRejected, code: 500},
		{name: "unknown object", object: stored, options: publish.TableOptions{Object: 3}, reason: engine.ReasonInvalidArgument},
		{name: "no JSON", object: `{`, reason: engine.ReasonObjectRejected},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := publish.ScaleTable(t.Context(), d, "v1", engine.JSON([]byte(c.object)), c.options)
			if engine.ReasonOf(err) != c.reason {
				t.Fatal(err)
			}
			var e *engine.Error
			if c.code != 0 && (!errors.As(err, &e) || e.Rejection == nil || e.Rejection.Code != c.code) {
				t.Errorf("%+v, want %d", err, c.code)
			}
			if want := `{"kind":"Table","apiVersion":"meta.k8s.io/v1",` + c.want; c.want != "" && string(got.JSON()) != want {
				t.Errorf("%s\nwant %s", got.JSON(), want)
			}
		})
	}
	table, err := publish.ScaleTable(t.Context(), d, "v1", engine.JSON([]byte(stored)), publish.TableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := table.Text(t.Context(), publish.TextOptions{ShowKind: true})
	if want := "NAME                  DESIRED   AVAILABLE   AGE\nscale.autoscaling/x   1         1           \n"; err != nil || string(text) != want {
		t.Errorf("%q, %v, want %q", text, err, want)
	}
	if _, err := publish.ScaleTable(t.Context(), d, "v2", engine.JSON([]byte(stored)), publish.TableOptions{}); engine.ReasonOf(err) != engine.ReasonInvalidArgument {
		t.Errorf("a version without a scale: %v", err)
	}
}
