package admission

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// stored is an object as a storage has it.
const stored = `"name":"g","namespace":"n","resourceVersion":"7","uid":"u","generation":4,"creationTimestamp":"2024-01-01T00:00:00Z"`

// sent is what a client sends to change it.
const sent = `"name":"g","namespace":"n","resourceVersion":"7"`

// after is the metadata of the object that comes out: what the server adds follows.
func after(generation string) string {
	return sent + `,"generation":` + generation + `,"uid":"u","creationTimestamp":"2024-01-01T00:00:00Z"`
}

// TestUpdate runs each case on the path that the request takes, and on the exact path. The answers are those of v0.37.2.
func TestUpdate(t *testing.T) {
	ordinary, cluster := define(t, nil), define(t, clusterScoped)
	spec := `,"spec":{"must":1}`
	immutable := func(field, value string) string {
		return "METADATA metadata." + field + ": Invalid value: " + value + ": field is immutable"
	}
	twice := func(violation string) []string { return []string{violation, violation} }
	tests := []struct {
		name string
		d    *Definition
		r    Request
		old  string
		want outcome
		// ratcheted are the ratcheted violations.
		ratcheted []string
	}{
		{name: "nothing changes", r: Request{Body: []byte(gadget(sent, spec))}, old: gadget(stored, spec),
			want: outcome{object: gadget(after("4"), spec)}},
		{name: "the spec changes", r: Request{Body: []byte(gadget(sent, `,"spec":{"must":2}`))}, old: gadget(stored, spec),
			want: outcome{object: gadget(after("5"), `,"spec":{"must":2}`)}},
		{name: "metadata changes", r: Request{Body: []byte(gadget(sent+`,"labels":{"a":"b"}`, spec))}, old: gadget(stored, spec),
			want: outcome{object: gadget(sent+`,"labels":{"a":"b"},"generation":4,"uid":"u","creationTimestamp":"2024-01-01T00:00:00Z"`, spec)}},
		{name: "a generation in the request is ignored", r: Request{Body: []byte(gadget(sent+`,"generation":9`, spec))}, old: gadget(stored, spec),
			want: outcome{object: gadget(sent+`,"generation":4,"uid":"u","creationTimestamp":"2024-01-01T00:00:00Z"`, spec)}},
		{name: "the old object has no generation", r: Request{Body: []byte(gadget(sent, spec))}, old: gadget(sent, ``),
			want: outcome{object: gadget(sent+`,"generation":1`, spec)}},
		{name: "the old status is kept", r: Request{Body: []byte(gadget(sent, spec+`,"status":{"selector":"new"}`))}, old: gadget(stored, spec+`,"status":{"selector":"old"}`),
			want: outcome{object: gadget(after("4"), spec+`,"status":{"selector":"old"}`)}},
		{name: "the old object has no status", r: Request{Body: []byte(gadget(sent, spec+`,"status":{"selector":"new","x":1}`))}, old: gadget(stored, spec),
			want: outcome{object: gadget(after("4"), spec), warnings: []string{`unknown field "status.x"`}}},
		{name: "defaults of the old object count", r: Request{Body: []byte(gadget(sent, `,"spec":{}`))}, old: gadget(stored, ``),
			want: outcome{object: gadget(after("4"), `,"spec":{"must":1}`)}},
		{name: "times and uids", r: Request{Body: []byte(gadget(sent+`,"uid":"v","creationTimestamp":"2025-01-01T00:00:00Z","deletionTimestamp":"2025-01-01T00:00:00Z","deletionGracePeriodSeconds":5`, spec))},
			old: gadget(stored, spec),
			want: outcome{rejection: "Invalid", violations: slices.Concat(
				[]string{immutable("uid", `"v"`), immutable("deletionTimestamp", `"2025-01-01T00:00:00Z"`), immutable("deletionGracePeriodSeconds", `5`)},
				[]string{immutable("uid", `"v"`), immutable("deletionTimestamp", `"2025-01-01T00:00:00Z"`), immutable("deletionGracePeriodSeconds", `5`)})}},
		{name: "an object that is being deleted", r: Request{Body: []byte(gadget(sent+`,"finalizers":["a/b","a/c"]`, spec))},
			old: gadget(stored+`,"deletionTimestamp":"2025-01-01T00:00:00Z","deletionGracePeriodSeconds":5,"finalizers":["a/b"]`, spec),
			want: outcome{rejection: "Invalid", violations: twice(
				`METADATA metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"a/c"}`)}},
		{name: "one finalizer less", r: Request{Body: []byte(gadget(sent+`,"finalizers":["a/b"]`, spec))},
			old:  gadget(stored+`,"deletionTimestamp":"2025-01-01T00:00:00Z","deletionGracePeriodSeconds":5,"finalizers":["a/b","a/c"]`, spec),
			want: outcome{}},
		{name: "new finalizers", r: Request{Body: []byte(gadget(sent+`,"finalizers":["old","new"]`, spec))}, old: gadget(stored+`,"finalizers":["old"]`, spec),
			want: outcome{warnings: finalizerWarnings("new")}},
		{name: "another name", r: Request{Body: []byte(gadget(`"name":"h","namespace":"n","resourceVersion":"7"`, spec))}, old: gadget(stored, spec),
			want: outcome{rejection: "Invalid", violations: twice(immutable("name", `"h"`))}},
		{name: "no resourceVersion", r: Request{Body: []byte(gadget(plain, spec))}, old: gadget(stored, spec),
			want: outcome{rejection: "Invalid", violations: twice(`METADATA metadata.resourceVersion: Invalid value: "": must be specified for an update`)}},
		{name: "completed", r: Request{Body: []byte(gadget(``, spec)), CompleteMetadata: true}, old: gadget(stored, spec),
			want: outcome{object: gadget(after("4"), spec)}},
		{name: "completed, but not corrected", r: Request{Body: []byte(gadget(`"name":"h"`, spec)), CompleteMetadata: true}, old: gadget(stored, spec),
			want: outcome{rejection: "Invalid", violations: twice(immutable("name", `"h"`))}},
		{name: "labels", r: Request{Body: []byte(gadget(sent+`,"labels":{"a":"é"}`, spec))}, old: gadget(stored+`,"labels":{"a":"é"}`, spec),
			want: outcome{rejection: "Invalid", violations: slices.Repeat([]string{`METADATA metadata.labels: Invalid value: "é": a valid label must be an empty string or consist of alphanumeric characters, ` +
				`'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`}, 3)}},
		{name: "managed fields are not validated", r: Request{Body: []byte(gadget(sent+`,"managedFields":[{"operation":"x"}]`, spec)), Handler: true}, old: gadget(stored, spec), want: outcome{}},

		{name: "another kind", r: Request{Version: "v1", Body: []byte(`{"apiVersion":"example.com/v1","kind":"Other","metadata":{` + sent + `}}`)}, old: gadget(stored, spec),
			want: outcome{rejection: "Invalid", violations: []string{`TYPE_META kind: Invalid value: "Other": must be Gadget`}}},
		{name: "the name of the request", r: Request{Body: []byte(gadget(`"name":"h","namespace":"n"`, spec)), Name: "g", Handler: true}, old: gadget(stored, spec), want: outcome{rejection: "BadRequest"}},
		{name: "no name", r: Request{Body: []byte(gadget(``, spec)), Name: "g", Namespace: "n", Handler: true}, old: gadget(stored, spec), want: outcome{rejection: "BadRequest"}},
		{name: "the namespace of the request", r: Request{Body: []byte(gadget(`"name":"g","resourceVersion":"7"`, spec)), Name: "g", Namespace: "n", Handler: true}, old: gadget(stored, spec), want: outcome{}},
		{name: "cluster scope", d: cluster, r: Request{Body: []byte(gadget(`"name":"g","namespace":"n","resourceVersion":"7"`, spec)), Handler: true}, old: gadget(`"name":"g"`, spec), want: outcome{}},
		{name: "strictly", r: Request{Body: []byte(gadget(sent, spec+`,"x":1`)), FieldValidation: Strict}, old: gadget(stored, spec), want: outcome{rejection: "BadRequest"}},
		{name: "unreadable", r: Request{Version: "v1", Body: []byte(`{`)}, old: gadget(stored, spec), want: outcome{rejection: "BadRequest"}},

		{name: "an unchanged value is ratcheted", r: Request{Body: []byte(gadget(sent, `,"spec":{"must":"x","note":"b"}`))}, old: gadget(stored, `,"spec":{"must":"x","note":"a"}`),
			ratcheted: []string{`SCHEMA spec.must: Invalid value: "string": spec.must in body must be of type integer: "string"`}},
		{name: "a changed value is not ratcheted", r: Request{Body: []byte(gadget(sent, `,"spec":{"must":"y"}`))}, old: gadget(stored, `,"spec":{"must":"x"}`),
			want: outcome{rejection: "Invalid", violations: []string{`SCHEMA spec.must: Invalid value: "string": spec.must in body must be of type integer: "string"`}}},
		{name: "lists whose old items were unique", r: Request{Body: []byte(gadget(sent, `,"spec":{"tags":["a","a"]}`))}, old: gadget(stored, `,"spec":{"tags":["a"]}`),
			want: outcome{rejection: "Invalid", violations: []string{`LIST spec.tags[1]: Duplicate value: "a"`}}},
		{name: "lists whose old items were not unique", r: Request{Body: []byte(gadget(sent, `,"spec":{"tags":["b","b"]}`))}, old: gadget(stored, `,"spec":{"tags":["a","a"]}`),
			ratcheted: []string{`LIST spec.tags[1]: Duplicate value: "b"`}},
		{name: "embedded resources are never ratcheted", r: Request{Body: []byte(gadget(sent, `,"spec":{"template":{"kind":"X"}}`))}, old: gadget(stored, `,"spec":{"template":{"kind":"X"}}`),
			want: outcome{rejection: "Invalid", violations: []string{`EMBEDDED spec.template.apiVersion: Required value`}}},
		{name: "replicas of the old status", r: Request{Body: []byte(gadget(sent, spec))}, old: gadget(stored, spec+`,"status":{"replicas":-1}`),
			want: outcome{rejection: "Invalid", violations: []string{`SCALE .status.replicas: Invalid value: -1: should be a non-negative integer`}}},

		{name: "status", r: Request{Body: []byte(gadget(sent, `,"spec":{"must":9,"x":1},"status":{"selector":"new"}`)), Status: true}, old: gadget(stored+`,"labels":{"a":"b"}`, spec+`,"status":{"selector":"old"}`),
			want: outcome{object: gadget(stored+`,"labels":{"a":"b"}`, spec+`,"status":{"selector":"new"}`), warnings: []string{`unknown field "spec.x"`}}},
		{name: "a status that the old object lacks", r: Request{Body: []byte(gadget(``, `,"status":{"selector":"new"}`)), Status: true}, old: gadget(stored, spec),
			want: outcome{object: gadget(stored, spec+`,"status":{"selector":"new"}`)}},
		{name: "a status is removed", r: Request{Body: []byte(gadget(``, ``)), Status: true}, old: gadget(stored, spec+`,"status":{"selector":"old"}`),
			want: outcome{object: gadget(stored, spec)}},
		{name: "status and finalizers", r: Request{Body: []byte(gadget(`"finalizers":["new"]`, ``)), Status: true}, old: gadget(stored, spec), want: outcome{object: gadget(stored, spec)}},
		{name: "status, from bytes of a storage", r: Request{Body: []byte(gadget(sent, `,"status":{"selector":"new"}`)), Status: true}, old: gadget(plain, spec),
			want: outcome{object: gadget(plain+`,"generation":1,"resourceVersion":"7"`, spec+`,"status":{"selector":"new"}`)}},
		{name: "status of another kind", r: Request{Version: "v1", Body: []byte(`{"apiVersion":"example.com/v1","kind":"Other","metadata":{},"status":{"selector":"new"}}`), Status: true}, old: gadget(stored, spec),
			want: outcome{object: gadget(stored, spec+`,"status":{"selector":"new"}`)}},
		{name: "status and replicas", r: Request{Body: []byte(gadget(sent, `,"status":{"replicas":-1}`)), Status: true}, old: gadget(stored, `,"spec":{"must":1,"replicas":-1}`),
			want: outcome{rejection: "Invalid", violations: []string{`SCALE .status.replicas: Invalid value: -1: should be a non-negative integer`}}},
		{name: "a version without the status subresource", r: Request{Body: []byte(`{"apiVersion":"example.com/v2","kind":"Gadget","metadata":{` + sent + `}}`), Status: true}, old: gadget(stored, spec), want: outcome{rejection: "NotFound"}},

		{name: "stored at another version", r: Request{Body: []byte(`{"apiVersion":"example.com/v2","kind":"Gadget","metadata":{` + sent + `},"spec":{"note":"a"}}`)}, old: gadget(stored, `,"spec":{"must":1,"note":"a"}`),
			// The old object has no spec.since: defaults come before the conversion.
			want: outcome{object: `{"apiVersion":"example.com/v2","kind":"Gadget","metadata":{` + after("5") + `},"spec":{"note":"a","since":2}}`}},
		{name: "as given", r: Request{Body: []byte(gadget(sent, `,"spec":{"x":1,"must":"x"}`)), AsGiven: true}, old: gadget(sent, `,"spec":{"x":1,"must":"x"}`),
			want: outcome{object: gadget(sent, `,"spec":{"x":1,"must":"x"}`)}, ratcheted: []string{`SCHEMA spec.must: Invalid value: "string": spec.must in body must be of type integer: "string"`}},
	}
	for _, tt := range tests {
		for _, exact := range []bool{false, true} {
			name := tt.name
			if exact {
				name += " (exact)"
			}
			t.Run(name, func(t *testing.T) {
				d := tt.d
				if d == nil {
					d = ordinary
				}
				r := tt.r
				r.Old, r.Exact, r.WantObject = []byte(tt.old), exact, true
				got, err := d.Write(context.Background(), &r)
				if err != nil {
					t.Fatal(err)
				}
				expect(t, &got, tt.want)
				var ratcheted []string
				for _, f := range got.Ratcheted {
					ratcheted = append(ratcheted, string(f.Step)+" "+f.Error.Error())
				}
				if !slices.Equal(ratcheted, tt.ratcheted) {
					t.Errorf("ratcheted %q, want %q", ratcheted, tt.ratcheted)
				}
			})
		}
	}
}

// TestUpdateFast checks that ordinary updates take the fast path.
func TestUpdateFast(t *testing.T) {
	d := define(t, nil)
	for name, r := range map[string]Request{
		"update":            {Body: []byte(gadget(sent+`,"labels":{"a":"b"}`, `,"spec":{"note":"x","tags":["a"]}`))},
		"update, handler":   {Body: []byte(gadget(sent, `,"status":{"selector":"x"}`)), Handler: true, Name: "g", Namespace: "n"},
		"status":            {Body: []byte(gadget(sent, `,"status":{"selector":"x"}`)), Status: true},
		"status, completed": {Body: []byte(gadget(sent, `,"status":{"selector":"x"}`)), Status: true, CompleteMetadata: true},
	} {
		t.Run(name, func(t *testing.T) {
			r.Old = []byte(gadget(stored, `,"spec":{"note":"old"},"status":{"selector":"old","replicas":1}`))
			got, err := d.Write(context.Background(), &r)
			if err != nil || got.Rejection != nil || got.Explained {
				t.Errorf("%v, %+v, explained %v", err, got.Rejection, got.Explained)
			}
		})
	}
}

// TestUpdateFaults has old objects that no API server could have found for the request.
func TestUpdateFaults(t *testing.T) {
	d := define(t, nil)
	byWebhook := define(t, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{ConversionReviewVersions: []string{"v1"}}}
	})
	for _, tt := range []struct {
		name, old string
		d         *Definition
		r         Request
		want      Code
		text      string
	}{
		{name: "unreadable", old: `{`, want: ObjectRejected, text: "old object: "},
		{name: "of nothing", old: `{}`, want: ObjectRejected, text: "old object: "},
		{name: "of another kind", old: `{"apiVersion":"example.com/v1","kind":"Other","metadata":{}}`, want: InvalidArgument, text: "old object: it is of Other.example.com, and the request is about Gadget.example.com"},
		{name: "of another group", old: `{"apiVersion":"v1","kind":"Gadget","metadata":{}}`, want: InvalidArgument, text: "old object: it is of Gadget, "},
		{name: "of no version", old: `{"apiVersion":"example.com/v9","kind":"Gadget","metadata":{"name":"g"}}`, want: VersionNotFound, text: "old object: "},
		{name: "without metadata", old: `{"apiVersion":"example.com/v1","kind":"Gadget"}`, want: InvalidArgument, text: "old object: it has no metadata"},
		{name: "of another name", old: gadget(stored, ``), r: Request{Name: "h", Body: []byte(gadget(`"name":"h","namespace":"n"`, ``)), Handler: true}, want: InvalidArgument, text: `old object: its name is "g", that of the request "h"`},
		{name: "of another namespace", old: gadget(stored, ``), r: Request{Namespace: "m", Body: []byte(gadget(`"name":"g"`, ``)), Handler: true}, want: InvalidArgument, text: `old object: its namespace is "n", that of the request "m"`},
		{name: "too large", old: `"` + strings.Repeat("x", 4<<20) + `"`, want: LimitExceeded, text: "old object: document size"},
		{name: "without a converter", d: byWebhook, old: `{"apiVersion":"example.com/v2","kind":"Gadget","metadata":{` + stored + `}}`, want: ConversionUnavailable, text: "old object: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.d == nil {
				tt.d = d
			}
			if tt.r.Body == nil {
				tt.r.Body = []byte(gadget(sent, ``))
			}
			tt.r.Old = []byte(tt.old)
			_, err := tt.d.Write(context.Background(), &tt.r)
			var f *Fault
			if !errors.As(err, &f) || f.Code != tt.want || !strings.HasPrefix(f.Text, tt.text) {
				t.Errorf("%v, want %s: %s", err, tt.want, tt.text)
			}
		})
	}
}

// TestUpdatePositions checks that a violation has a position in the body only if its value comes from the body.
func TestUpdatePositions(t *testing.T) {
	d := define(t, nil)
	for _, tt := range []struct {
		name string
		r    Request
		line int
	}{
		{"sent", Request{Body: []byte("{\"apiVersion\":\"example.com/v1\",\"kind\":\"Gadget\",\"metadata\":{" + sent + "},\n\"spec\":\n{\"must\":\"x\"}}")}, 3},
		{"missing in what was sent", Request{Body: []byte("{\"apiVersion\":\"example.com/v1\",\"kind\":\"Gadget\",\"metadata\":{" + sent + "},\n\"spec\":{\"template\":\n{\"kind\":\"X\"}}}")}, 3},
		{"from the old object", Request{Body: []byte("{\"apiVersion\":\"example.com/v1\",\"kind\":\"Gadget\",\"metadata\":{" + sent + "},\n\"status\":{\"replicas\":1}}")}, 0},
		{"sent for the status", Request{Status: true, Body: []byte("{\"apiVersion\":\"example.com/v1\",\"kind\":\"Gadget\",\"metadata\":{" + sent + "},\n\"status\":\n\"x\"}")}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.r.Old = []byte(gadget(stored, `,"status":{"replicas":-1}`))
			got, err := d.Write(context.Background(), &tt.r)
			if err != nil || len(got.Violations) == 0 {
				t.Fatalf("%v, %+v", err, got)
			}
			found := &got.Violations[0]
			if found.Step == "SCALE" && tt.line != 0 {
				found = &got.Violations[1]
			}
			if line := found.Position.Line; line != tt.line {
				t.Errorf("%s: line %d, want %d", found.Error.Error(), line, tt.line)
			}
		})
	}
}

// TestUpdateConverted checks that a webhook converts the old object to the version of the request.
func TestUpdateConverted(t *testing.T) {
	d := define(t, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{ConversionReviewVersions: []string{"v1"}}}
	})
	d.Converter = func(context.Context, string, *apiextensionsv1.WebhookConversion, string, [][]byte) ([][]byte, error) {
		return [][]byte{[]byte(gadget(stored, `,"spec":{"must":"x","note":"b"}`))}, nil
	}
	r := Request{Body: []byte(gadget(sent, `,"spec":{"must":"x","note":"a"}`)), Old: []byte(`{"apiVersion":"example.com/v2","kind":"Gadget","metadata":{` + stored + `}}`), WantObject: true}
	got, err := d.Write(context.Background(), &r)
	if err != nil || got.Rejection != nil || len(got.Ratcheted) != 1 {
		t.Errorf("%v, %+v, ratcheted %d", err, got.Rejection, len(got.Ratcheted))
	}
}
