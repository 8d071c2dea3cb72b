package admission

import (
	"testing"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

func TestGetScale(t *testing.T) {
	view := Scale{SpecReplicas: scalePath(".spec.replicas"), StatusReplicas: scalePath(".status.replicas"), LabelSelector: scalePath(".status.selector")}
	for _, c := range []struct{ name, object, want, err string }{
		{name: "all", object: `{"metadata":{"name":"a","namespace":"b","uid":"u","resourceVersion":"7","creationTimestamp":"2026-01-02T03:04:05Z","labels":{"x":"y"}},
			"spec":{"replicas":3},"status":{"replicas":2,"selector":"x=y"}}`,
			want: `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"a","namespace":"b","uid":"u","resourceVersion":"7",` +
				`"creationTimestamp":"2026-01-02T03:04:05Z"},"spec":{"replicas":3},"status":{"replicas":2,"selector":"x=y"}}`},
		{name: "only required fields", object: `{"spec":{"replicas":0}}`,
			want: `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{},"spec":{},"status":{"replicas":0}}`},
		{name: "more than 32 bits", object: `{"spec":{"replicas":4294967297}}`,
			want: `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{},"spec":{"replicas":1},"status":{"replicas":0}}`},
		{name: "no replicas", object: `{"spec":{}}`, err: `Internal error occurred: the spec replicas field ".spec.replicas" does not exist`},
		{name: "no spec", object: `{}`, err: `Internal error occurred: the spec replicas field ".spec.replicas" does not exist`},
		{name: "a null spec", object: `{"spec":null}`, err: `Internal error occurred: the spec replicas field ".spec.replicas" does not exist`},
		{name: "a float", object: `{"spec":{"replicas":1.5}}`, err: ".spec.replicas accessor error: 1.5 is of the type float64, expected int64"},
		{name: "a null", object: `{"spec":{"replicas":null}}`, err: ".spec.replicas accessor error: <nil> is of the type <nil>, expected int64"},
		{name: "a string on the path", object: `{"spec":"x"}`, err: ".spec.replicas accessor error: x is of the type string, expected map[string]interface{}"},
		{name: "a selector that is not a string", object: `{"spec":{"replicas":1},"status":{"selector":{}}}`,
			err: ".status.selector accessor error: map[] is of the type map[string]interface {}, expected string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := tree.Acquire()
			defer d.Release()
			root, err := d.Parse([]byte(c.object), tree.Request, tree.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := view.Get(d, root)
			if string(got) != c.want || err == nil && c.err != "" || err != nil && err.Error() != c.err {
				t.Errorf("%s, %v; want %s, %s", got, err, c.want, c.err)
			}
		})
	}
}
