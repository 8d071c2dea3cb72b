package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/patch"
)

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

func scaled(t testing.TB) *Definition {
	t.Helper()
	d, report, err := Compile(context.Background(), JSON([]byte(scaledCRD)), Options{})
	if err != nil || d == nil {
		t.Fatal(err, report)
	}
	return d
}

// tooManyOperations is what is said of a patch of one operation more than there may be, as a whole.
const tooManyOperations = "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"

// TestPatch checks the results of patches, and the rejections of invalid ones.
func TestPatch(t *testing.T) {
	d := scaled(t)
	const before, after = `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"x","namespace":"default","uid":"u","generation":`,
		`,"status":{"replicas":1,"selector":"a=b"}}`
	for _, c := range []struct {
		name, patch       string
		write             Patch // without its patch
		o                 AdmitOptions
		object            string
		code              int32
		message           string // a part
		warning           string // a part of one
		violation, pruned string // the field, and line:column in the patch
		reason            Reason
		yaml, list        bool
		line, column      int
	}{
		{name: "merge patch", patch: `{"spec":{"replicas":2,"image":null}}`, object: before + `4},"spec":{"replicas":2}` + after},
		{name: "merge patch that changes nothing", patch: `{"spec":{"replicas":1}}`, object: before + `3},"spec":{"replicas":1,"image":"a<b"}` + after},
		{name: "merge patch in YAML", patch: "spec:\n  replicas: 2\n  image:\n", yaml: true, object: before + `4},"spec":{"replicas":2}` + after},
		{name: "JSON patch", list: true, patch: `[{"op":"test","path":"/spec/replicas","value":1},{"op":"replace","path":"/spec/replicas","value":3}]`,
			object: before + `4},"spec":{"replicas":3,"image":"a<b"}` + after},
		{name: "the status stays", patch: `{"status":{"replicas":5}}`, object: before + `3},"spec":{"replicas":1,"image":"a<b"}` + after},
		{name: "a status", write: Patch{Subresource: "status"}, patch: `{"spec":{"replicas":5},"status":{"replicas":5}}`,
			object: before + `3},"spec":{"replicas":1,"image":"a<b"},"status":{"replicas":5,"selector":"a=b"}}`},
		{name: "an old object of another version", write: Patch{Version: "v2"}, patch: `{}`,
			object: `{"apiVersion":"stable.example.com/v2","kind":"CronTab","metadata":{"name":"x","namespace":"default","uid":"u","generation":3},"spec":{"replicas":1}}`},
		{name: "a violation has its position in the patch", patch: "{\"spec\":{\n \"replicas\": 9}}", code: 422, message: `spec.replicas in body should be less than or equal to 5`, violation: "spec.replicas", line: 2, column: 14},
		{name: "so it does in an operation", list: true, patch: "[\n{\"op\":\"add\",\"path\":\"/spec/list\",\"value\":[{\"n\":\"x\"}]}]", code: 422, violation: "spec.list[0].n", line: 2, column: 47},
		{name: "the last operation counts", list: true, patch: "[\n{\"op\":\"add\",\"path\":\"/spec/replicas\",\"value\":8},\n{\"op\":\"test\",\"path\":\"/spec/replicas\",\"value\":8},\n {\"op\":\"add\",\"path\":\"/spec\",\"value\":{\"replicas\":9}}]",
			code: 422, violation: "spec.replicas", line: 4, column: 49},
		{name: "so it does in YAML", yaml: true, patch: "spec:\n  replicas: 9\n", code: 422, violation: "spec.replicas", line: 2, column: 13},
		{name: "so it does in an operation in YAML", yaml: true, list: true, patch: "- op: add\n  path: /metadata/labels\n  value: {}\n- op: add\n  path: /spec\n  value:\n    list:\n    - \"n\": x\n", code: 422,
			violation: "spec.list[0].n", line: 8, column: 12},
		{name: "an unknown field in an operation in YAML", yaml: true, list: true, patch: "- op: add\n  path: /spec/x\n  value: 1\n- op: add\n  path: /spec/list\n  value:\n  - \"n\": 1\n    m: 2\n",
			warning: `unknown field "spec.list[0].m"`, pruned: "spec.list[0].m", line: 8, column: 5, object: before + `4},"spec":{"replicas":1,"image":"a<b","list":[{"n":1}]}` + after},
		{name: "a rule", patch: `{"spec":{"replicas":4}}`, code: 422, message: "not 4", violation: "spec", line: 1, column: 9},
		{name: "an unknown field", patch: `{"spec":{"x":1}}`, warning: `unknown field "spec.x"`, pruned: "spec.x", line: 1, column: 10, object: before + `3},"spec":{"replicas":1,"image":"a<b"}` + after},
		{name: "an unknown field, strictly", patch: `{"spec":{"x":1}}`, o: AdmitOptions{FieldValidation: FieldValidationStrict}, code: 422, message: `strict decoding error: unknown field "spec.x"`},
		{name: "a duplicate field", patch: `{"spec":{"replicas":1,"replicas":2}}`, warning: `duplicate field "spec.replicas"`, object: before + `4},"spec":{"replicas":2,"image":"a<b"}` + after},
		{name: "no patch", patch: `{`, code: 400, message: "invalid JSON patch", warning: "crdeval: the patch cannot be read"},
		{name: "a number outside of float64", list: true, patch: `[{"op":"add","path":"/spec/replicas","value":1E400}]`, code: 400, warning: "crdeval: the patch cannot be read",
			message: "error decoding patch: json: cannot unmarshal number 1E400 into Go struct field jsonPatchOp.value of type float64"},
		{name: "one for a text", list: true, patch: `[{"op":"add","from":1E400}]`, code: 400, warning: "crdeval: the patch cannot be read",
			message: "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.from of type string"},
		{name: "one in an unknown member", list: true, patch: `[{"op":"test","path":"/a","x":1E400}]`, code: 400, warning: "crdeval: the patch cannot be read",
			message: "error decoding patch: json: cannot unmarshal number 1E400 into Go value of type float64"},
		{name: "one in a merge patch", patch: `{"spec":{"replicas":1E400}}`, code: 400, warning: "crdeval: the patch cannot be read",
			message: "error decoding patch: json: cannot unmarshal number 1E400 into Go value of type float64"},
		{name: "nothing but one", patch: `1E400`, code: 400, warning: "crdeval: the patch cannot be read",
			message: "error decoding patch: json: cannot unmarshal number into Go value of type map[string]interface {}"},
		{name: "nothing but one, with no eye on fields", patch: `1E400`, o: AdmitOptions{FieldValidation: FieldValidationIgnore}, code: 400, warning: "crdeval: the patch cannot be read",
			message: "Invalid JSON Patch"},
		{name: "nothing but one as a list of operations, with no eye on fields", list: true, patch: `1E400`, o: AdmitOptions{FieldValidation: FieldValidationIgnore}, code: 400,
			warning: "crdeval: the patch cannot be read", message: "json: cannot unmarshal number into Go value of type jsonpatch.Patch"},
		{name: "one as an operation, with no eye on fields", list: true, patch: `[1E400]`, o: AdmitOptions{FieldValidation: FieldValidationIgnore}, code: 400,
			warning: "crdeval: the patch cannot be read", message: "json: cannot unmarshal number into Go value of type jsonpatch.Operation"},
		{name: "a patch that does not fit", list: true, patch: `[{"op":"remove","path":"/spec/y"}]`, code: 422, message: "the server rejected our request due to an error in our request",
			warning: `crdeval: the patch was not applied: operation 0 (remove /spec/y): there is no "y" to remove`},
		{name: "a path that is cut within a letter", list: true, patch: `[{"op":"remove","path":"/` + strings.Repeat("x", 198) + `é"}]`, code: 422, warning: "operation 0 (remove /" + strings.Repeat("x", 198) + "…)"},
		{name: "a text is compared as it is printed", list: true, patch: `[{"op":"test","path":"/spec/image","value":"a<b"}]`, code: 422, warning: "written differently"},
		{name: "a crash", list: true, patch: `[{"op":"test","path":""}]`, code: 500, message: "panic"},
		{name: "another name", patch: `{"metadata":{"name":"y"}}`, code: 400, message: "the name of the object (y) does not match the name on the URL (x)"},
		{name: "another namespace", patch: `{"metadata":{"namespace":"y"}}`, code: 400, message: "the namespace of the provided object does not match"},
		{name: "another uid", patch: `{"metadata":{"uid":"y"}}`, code: 422, message: "metadata.uid: Invalid value: \"y\": field is immutable"},
		{name: "another resourceVersion", patch: `{"metadata":{"resourceVersion":"8"}}`, code: 409, message: "the object has been modified"},
		{name: "no resourceVersion", patch: `{"metadata":{"resourceVersion":null}}`, code: 422, message: "must be specified for an update"},
		{name: "another version", patch: `{"apiVersion":"stable.example.com/v2"}`, code: 422, message: "apiVersion: Invalid value: \"stable.example.com/v2\": must be stable.example.com/v1", warning: `unknown field "spec.image"`},
		{name: "no kind", patch: `{"kind":null}`, code: 422, message: "Object 'Kind' is missing"},
		{name: "no such subresource", write: Patch{Version: "v2", Subresource: "status"}, patch: `{}`, code: 404},
		{name: "no old object", write: Patch{Name: "none"}, patch: `{}`, reason: ReasonInvalidArgument},
		{name: "too large", patch: `{"a":"` + strings.Repeat("x", 3<<20) + `"}`, reason: ReasonLimitExceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := c.write
			if w.Name != "none" {
				w.Old = JSON([]byte(stored))
			}
			w.Type, w.Body = MergePatch, JSON([]byte(c.patch))
			if c.list {
				w.Type = JSONPatch
			}
			if c.yaml {
				w.Body = YAML([]byte(c.patch))
			}
			v, err := d.Admit(context.Background(), w, c.o)
			if ReasonOf(err) != c.reason {
				t.Fatalf("%v, want %s", err, c.reason)
			}
			if err != nil {
				return
			}
			if string(v.Object) != c.object {
				t.Errorf("object %s\nwant   %s", v.Object, c.object)
			}
			if c.code == 0 != v.Allowed || c.code != 0 && (v.Rejection.Code != c.code || !strings.Contains(v.Rejection.Message, c.message)) {
				t.Errorf("rejection %+v, want %d %s", v.Rejection, c.code, c.message)
			}
			if !strings.Contains(strings.Join(textsOf(v.Warnings), "\n"), c.warning) || c.warning == "" && len(v.Warnings) > 0 && c.code != 500 {
				t.Errorf("warnings %q, want %q", textsOf(v.Warnings), c.warning)
			}
			if c.violation != "" && (len(v.Violations) == 0 || v.Violations[0].Field != c.violation || v.Violations[0].Position == nil || v.Violations[0].Position.Line != c.line || v.Violations[0].Position.Column != c.column) {
				t.Errorf("violations %+v %+v, want %s at %d:%d", v.Violations, v.Violations[0].Position, c.violation, c.line, c.column)
			}
			if c.pruned != "" && (len(v.Pruned) == 0 || v.Pruned[0].Path != c.pruned || v.Pruned[0].Position == nil || v.Pruned[0].Position.Line != c.line || v.Pruned[0].Position.Column != c.column) {
				t.Errorf("pruned %+v %+v, want %s at %d:%d", v.Pruned, v.Pruned[0].Position, c.pruned, c.line, c.column)
			}
		})
	}
}

// TestPatchOfTooManyOperations: the words of the rejection stand once in it, and in the Status.
func TestPatchOfTooManyOperations(t *testing.T) {
	body := JSON([]byte("[" + strings.Repeat("{},", patch.MaxOperations) + "{}]"))
	v, err := scaled(t).Admit(context.Background(), Patch{Type: JSONPatch, Body: body, Old: JSON([]byte(stored))}, AdmitOptions{WithStatus: true})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Rejection{Code: 413, Reason: "RequestEntityTooLarge", Message: tooManyOperations}); v.Rejection == nil || v.Rejection.Code != want.Code || v.Rejection.Reason != want.Reason || v.Rejection.Message != want.Message {
		t.Errorf("%+v, want %+v", v.Rejection, want)
	}
	const want = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"` + tooManyOperations + `","reason":"RequestEntityTooLarge","code":413}`
	if got := strings.TrimSpace(string(v.Status)); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// BenchmarkPatch compares an update with patches to the same effect.
func BenchmarkPatch(b *testing.B) {
	d := scaled(b)
	whole := JSON([]byte(strings.Replace(stored, `"replicas":1`, `"replicas":2`, 1)))
	old := JSON([]byte(stored))
	for _, c := range []struct {
		name string
		item Write
	}{
		{"update", Update{Object: whole, Old: old}},
		{"merge", Patch{Type: MergePatch, Body: JSON([]byte(`{"spec":{"replicas":2}}`)), Old: old}},
		{"json", Patch{Type: JSONPatch, Body: JSON([]byte(`[{"op":"replace","path":"/spec/replicas","value":2}]`)), Old: old}},
		{"scale", Update{Subresource: "scale", Object: JSON([]byte(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"x"},"spec":{"replicas":2}}`)), Old: old}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if v, err := d.Admit(context.Background(), c.item, AdmitOptions{}); err != nil || !v.Allowed {
					b.Fatal(err, v)
				}
			}
		})
	}
}

// TestPatchObserved checks that an observer receives the size of everything that was sent.
func TestPatchObserved(t *testing.T) {
	observer := &recorder{}
	d, _, err := Compile(t.Context(), JSON([]byte(scaledCRD)), Options{Observer: observer})
	if err != nil {
		t.Fatal(err)
	}
	const patch = `{"spec":{"replicas":2}}`
	if _, err := d.Admit(t.Context(), Patch{Type: MergePatch, Body: JSON([]byte(patch)), Old: JSON([]byte(stored))}, AdmitOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, want := observer.evaluated[0].Bytes, len(stored)+len(patch); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}
