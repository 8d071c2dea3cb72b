package metadata

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

func TestCoerce(t *testing.T) {
	tests := []struct {
		name, in, want string
		options        Options
		unknown        []string
		err            string
	}{
		{name: "canonical", in: `{"name":"x","namespace":"d","labels":{"a":"b"}}`, want: `{"name":"x","namespace":"d","labels":{"a":"b"}}`},
		{name: "empty values vanish", in: `{"name":"x","creationTimestamp":null,"labels":{},"annotations":null,"finalizers":[],"generation":0,"uid":""}`, want: `{"name":"x"}`},
		{name: "unknown fields", in: `{"name":"x","foo":1,"Labels":{}}`, options: Options{Track: true}, want: `{"name":"x"}`, unknown: []string{"metadata.Labels", "metadata.foo"}},
		{name: "unknown below", in: `{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"1","z":2}]}`, options: Options{Track: true},
			want: `{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"1"}]}`, unknown: []string{"metadata.ownerReferences[0].z"}},
		{name: "times are rewritten", in: `{"creationTimestamp":"2024-02-29T12:00:00.5+02:00","name":"x"}`, want: `{"creationTimestamp":"2024-02-29T10:00:00Z","name":"x"}`},
		{name: "owner references get their fields", in: `{"ownerReferences":[{"kind":"Pod"}]}`, want: `{"ownerReferences":[{"kind":"Pod","apiVersion":"","name":"","uid":""}]}`},
		{name: "numbers", in: `{"generation":1.0}`, want: `{"generation":1}`},
		{name: "null", in: `null`, want: `{}`},
		{name: "wrong type", in: `{"labels":{"a":1}}`, err: "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"},
		{name: "no object", in: `[]`, err: "json: cannot unmarshal array into Go value of type v1.ObjectMeta"},
		{name: "lenient", in: `{"name":"x","labels":{"a":1,"b":"c"},"finalizers":"f"}`, options: Options{Lenient: true, RepairGeneration: true}, want: `{"name":"x","generation":1}`},
		{name: "lenient, unknown fields", in: `{"labels":1,"foo":{"b":1},"Name":"y","a.b":2,"name":"x","ownerReferences":[{"uid":"1","z":2}]}`,
			options: Options{Lenient: true, Track: true}, want: `{"name":"x","ownerReferences":[{"uid":"1","apiVersion":"","kind":"","name":""}]}`,
			unknown: []string{"metadata.Name", "metadata.a.b", "metadata.foo", "metadata.ownerReferences[0].z"}},
		{name: "repair", in: `{"name":"x"}`, options: Options{Lenient: true, RepairGeneration: true}, want: `{"name":"x","generation":1}`},
		{name: "managed fields", in: `{"managedFields":[{"manager":"m","operation":"Update","time":"2024-01-02T03:04:05Z","fieldsV1":{"f:a":{}}}]}`,
			want: `{"managedFields":[{"manager":"m","operation":"Update","time":"2024-01-02T03:04:05Z","fieldsV1":{"f:a":{}}}]}`},
		{name: "whole numbers in managed fields are integers", in: `{"managedFields":[{"operation":"Update","fieldsV1":{"a":[1.0,1e3,0.5]}}]}`,
			want: `{"managedFields":[{"operation":"Update","fieldsV1":{"a":[1,1000,0.5]}}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := tree.Acquire()
			defer d.Release()
			root, err := d.ParseJSON([]byte(`{"a":1,"metadata":`+tt.in+`}`), tree.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			_, unknown, err := Coerce(d, root, tt.options)
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Fatalf("error %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := `{"a":1,"metadata":` + tt.want + `}`
			if got := string(d.AppendJSON(nil, root)); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			plain := tree.Acquire()
			defer plain.Release()
			if at, err := plain.ParseJSON([]byte(want), tree.Limits{}); err != nil || !reflect.DeepEqual(d.Any(root), plain.Any(at)) {
				t.Errorf("got %#v, want %#v (%v)", d.Any(root), plain.Any(at), err)
			}
			if !reflect.DeepEqual(unknown, tt.unknown) {
				t.Errorf("unknown %v, want %v", unknown, tt.unknown)
			}
		})
	}
}

// FuzzCoerce compares coercion on the tree with apimachinery's: what is normalized without it must be what it would have made, and
// what is plain must be valid.
func FuzzCoerce(f *testing.F) {
	for _, s := range []string{
		`{"name":"x","namespace":"d","labels":{"a":"b","example.com/c":""},"annotations":{"k":"v"},"generation":3}`,
		`{"creationTimestamp":"2024-12-31T23:59:59Z","deletionTimestamp":null,"deletionGracePeriodSeconds":0,"uid":"u"}`,
		`{"creationTimestamp":"2023-02-29T23:59:60Z"}`, `{"creationTimestamp":"0000-01-01T00:00:00Z"}`,
		`{"name":"a.b-c.d","finalizers":["example.com/x","orphan"],"ownerReferences":[{"apiVersion":"apps/v1","kind":"A","name":"b","uid":"c","controller":true}]}`,
		`{"name":"..","namespace":"","generateName":"a-","selfLink":"/x","resourceVersion":"1"}`,
		`{"managedFields":[{"manager":"m","operation":"Apply","apiVersion":"v1","time":"2024-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"a":{"b":1.0}},"subresource":"status"}]}`,
		`{"name":"x","labels":{"a":null},"annotations":{"A/b":"c"}}`, `{"generation":-1}`, `{"name":"Ä","labels":{"a..b":"-"}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, meta []byte) {
		d := tree.Acquire()
		defer d.Release()
		root, err := d.ParseJSON([]byte(`{"metadata":`+string(meta)+`}`), tree.Limits{})
		if err != nil || d.Len(root) != 1 {
			return
		}
		before := d.Any(d.Field(root, "metadata"))
		want, _, err := decode(before, Options{})
		normalized, _ := Normalize(d, d.Field(root, "metadata"))
		if !normalized {
			if _, _, err := Coerce(d, root, Options{Track: true}); err != nil {
				return
			}
		} else if err != nil {
			t.Fatalf("normalized, but apimachinery says: %v", err)
		}
		compare(t, d, root, want)
		for _, r := range []Rules{{}, {Namespaced: true}, {Embedded: true}} {
			if !Plain(d, d.Field(root, "metadata"), r) {
				continue
			}
			errs := Validate(want, r.Namespaced)
			if r.Embedded {
				errs = validateEmbeddedMeta(d, d.Field(root, "metadata"), nil)
			}
			if len(errs) > 0 {
				t.Fatalf("plain under %+v, but: %v", r, errs)
			}
		}
	})
}

func compare(t *testing.T, d *tree.Doc, root uint32, want *metav1.ObjectMeta) {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want)
	if err != nil {
		t.Fatal(err)
	}
	wantText, _ := json.Marshal(map[string]any{"metadata": content})
	gotText, _ := json.Marshal(d.Any(root))
	if string(gotText) != string(wantText) {
		t.Fatalf("got  %s\nwant %s", gotText, wantText)
	}
}

// TestKnownFields checks that lenient decoding skips unknown fields.
func TestKnownFields(t *testing.T) {
	of := reflect.TypeFor[metav1.ObjectMeta]()
	for i := range of.NumField() {
		if name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); kindOf(name) == noKind {
			t.Errorf("ObjectMeta has a field %s that is not known", name)
		}
	}
}
