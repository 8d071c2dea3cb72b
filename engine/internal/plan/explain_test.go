package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/testenv"
)

// compileText compiles a schema; a leading "v:" stands for an object with the one property v.
func compileText(t *testing.T, schema string, o Options) *Plan {
	t.Helper()
	if rest, ok := strings.CutPrefix(schema, "v:"); ok {
		schema = `{"type":"object","properties":{"v":` + rest + `}}`
	}
	var s apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal([]byte(schema), &s); err != nil {
		t.Fatalf("schema %s: %v", schema, err)
	}
	p, err := Compile(&s, o)
	if err != nil {
		t.Fatalf("schema %s: %v", schema, err)
	}
	return p
}

func parseText(t *testing.T, text string) (*tree.Doc, uint32) {
	t.Helper()
	d := tree.Acquire()
	t.Cleanup(d.Release)
	if rest, ok := strings.CutPrefix(text, "v:"); ok {
		text = `{"v":` + rest + `}`
	}
	root, err := d.ParseJSON([]byte(text), tree.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return d, root
}

func texts(list []violation.Violation) []string {
	var out []string
	for _, v := range list {
		out = append(out, v.Error.Error())
	}
	return out
}

// TestExplain has the results of apiextensions-apiserver v0.37.2, in the order of this package.
func TestExplain(t *testing.T) {
	for _, c := range []struct {
		name, schema, object string
		want                 []string
	}{
		{"integer takes 1.0", `v:{"type":"integer"}`, `v:1.0`, nil},
		{"integer rejects 1.5", `v:{"type":"integer"}`, `v:1.5`, []string{
			`v: Invalid value: "number": v in body must be of type integer: "number"`,
			`<nil>: Invalid value: "": Checked value must be of type integer (default format) in v`}},
		{"integer beyond int64", `v:{"type":"integer"}`, `v:9223372036854775808`, []string{
			`v: Invalid value: "number": v in body must be of type integer: "number"`,
			`<nil>: Invalid value: "": Checked value must be of type integer (default format) in v`}},
		{"number takes an integer", `v:{"type":"number"}`, `v:1`, nil},
		{"a null", `v:{"type":"string"}`, `v:null`, []string{`v: Invalid value: "null": v in body must be of type string: "null"`}},
		{"a nullable null", `v:{"type":"string","nullable":true}`, `v:null`, nil},
		{"a boolean", `v:{"type":"boolean"}`, `v:"true"`, []string{`v: Invalid value: "string": v in body must be of type boolean: "string"`}},
		{"fractional minimum, integer", `v:{"type":"number","minimum":1.5}`, `v:1`, nil},
		{"fractional minimum, too small", `v:{"type":"number","minimum":1.5}`, `v:0`, []string{`v: Invalid value: 0: v in body should be greater than or equal to 1`}},
		{"fractional minimum, float", `v:{"type":"number","minimum":1.5}`, `v:1.4`, []string{`v: Invalid value: 1.4: v in body should be greater than or equal to 1.5`}},
		{"fractional maximum", `v:{"type":"number","maximum":1.5}`, `v:2`, []string{`v: Invalid value: 2: v in body should be less than or equal to 1`}},
		{"exclusive minimum", `v:{"type":"integer","minimum":1,"exclusiveMinimum":true}`, `v:1`, []string{`v: Invalid value: 1: v in body should be greater than 1`}},
		{"exclusive maximum", `v:{"type":"integer","maximum":3,"exclusiveMaximum":true}`, `v:3`, []string{`v: Invalid value: 3: v in body should be less than 3`}},
		{"multipleOf of half", `v:{"type":"number","multipleOf":0.5}`, `v:1`, []string{`v: Invalid value: 0: factor MultipleOf declared for v must be positive: 0`}},
		{"multipleOf of half, float", `v:{"type":"number","multipleOf":0.5}`, `v:1.5`, nil},
		{"multipleOf of half, no multiple", `v:{"type":"number","multipleOf":0.5}`, `v:1.6`, []string{`v: Invalid value: 1.6: v in body should be a multiple of 0.5`}},
		{"minimum that is no integer", `v:{"type":"integer","minimum":0.5}`, `v:1`, []string{
			`<nil>: Invalid value: "": Minimum boundary value must be of type integer (default format) in v`}},
		{"minimum that is no integer, too small", `v:{"type":"integer","minimum":0.5}`, `v:0`, []string{
			`<nil>: Invalid value: "": Minimum boundary value must be of type integer (default format) in v`,
			`v: Invalid value: 0: v in body should be greater than or equal to 0.5`}},
		{"int32", `v:{"type":"integer","format":"int32"}`, `v:2147483648`, []string{
			`<nil>: Invalid value: "": Checked value must be of type integer with format int32 in v`}},
		{"int32 on number", `v:{"type":"number","format":"int32"}`, `v:2147483648`, nil},
		{"float", `v:{"type":"number","format":"float"}`, `v:3.5e38`, []string{
			`<nil>: Invalid value: "": Checked value must be of type number with format float in v`}},
		{"int-or-string, float", `v:{"x-kubernetes-int-or-string":true}`, `v:1.5`, []string{`v: Invalid value: "number": v in body must be of type integer,string: "number"`}},
		{"int-or-string unfolded", `v:{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]}`, `v:true`, []string{
			`v: Invalid value: "boolean": v in body must be of type integer,string: "boolean"`,
			`<nil>: Invalid value: "": "v" must validate at least one schema (anyOf)`,
			`v: Invalid value: "boolean": v in body must be of type integer: "boolean"`}},
		{"enum and null", `v:{"type":"string","nullable":true,"enum":["a",null]}`, `v:null`, []string{`v: Unsupported value: null: supported values: "a", "null"`}},
		{"enum truncates", `v:{"type":"number","enum":[1,2]}`, `v:1.5`, nil},
		{"enum of floats", `v:{"type":"number","enum":[1.5]}`, `v:1`, []string{`v: Unsupported value: 1: supported values: "1.5"`}},
		{"enum and code point", `v:{"x-kubernetes-int-or-string":true,"enum":["A",7]}`, `v:65`, nil},
		{"enum, mixed", `v:{"x-kubernetes-int-or-string":true,"enum":["A",7,true]}`, `v:"Z"`, []string{`v: Unsupported value: "Z": supported values: "A", "7", "true"`}},
		{"enum of objects", `v:{"type":"object","properties":{"a":{"type":"integer"}},"enum":[{"a":1}]}`, `v:{"a":2}`, []string{
			`v: Unsupported value: {"a":2}: supported values: "{\"a\":1}"`}},
		{"string, too long", `v:{"type":"string","maxLength":3,"minLength":2,"pattern":"^[a-z]*$"}`, `v:"ÄÖÜÄ"`, []string{`v: Too long: may not be more than 3 bytes`}},
		{"string, too short", `v:{"type":"string","maxLength":3,"minLength":2,"pattern":"^[a-z]*$"}`, `v:"Ä"`, []string{`v: Invalid value: "Ä": v in body should be at least 2 chars long`}},
		{"string, pattern", `v:{"type":"string","maxLength":3,"minLength":2,"pattern":"^[a-z]*$"}`, `v:"ÄÖ"`, []string{`v: Invalid value: "ÄÖ": v in body should match '^[a-z]*$'`}},
		{"format, array", `v:{"type":"string","format":"uri"}`, `v:[1]`, nil},
		{"format, object", `v:{"type":"string","format":"uri"}`, `v:{}`, []string{`v: Invalid value: "": v in body must be of type uri: ""`}},
		{"format, integer", `v:{"type":"string","format":"uri"}`, `v:1`, []string{`v: Invalid value: "int64": v in body must be of type uri: "int64"`}},
		{"format, text", `v:{"type":"string","format":"uri"}`, `v:"not a uri"`, []string{`v: Invalid value: "not a uri": v in body must be of type uri: "not a uri"`}},
		{"unknown format, array", `v:{"type":"string","format":"no-such"}`, `v:[]`, []string{`v: Invalid value: "array": v in body must be of type string: "array"`}},
		{"items", `v:{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string"}}`, `v:["a",1,"b"]`, []string{
			`v[1]: Invalid value: "integer": v[1] in body must be of type string: "integer"`, `v: Too many: 3: must have at most 2 items`}},
		{"too few items", `v:{"type":"array","minItems":1}`, `v:[]`, []string{`v: Invalid value: 0: v in body should have at least 1 items`}},
		{"too many properties", `v:{"type":"object","maxProperties":1}`, `v:{"a":1,"b":2}`, []string{`v: Too many: 2: must have at most 1 item`}},
		{"too few properties", `v:{"type":"object","minProperties":1}`, `v:{}`, []string{`v: Invalid value: 0: v in body should have at least 1 properties`}},
		{"forbidden property", `v:{"type":"object","additionalProperties":false}`, `v:{"a":1}`, []string{`v: Invalid value: "a": v.a in body is a forbidden property`}},
		{"paths", `{"type":"object","required":["v","w"],"properties":{"v":{"type":"object","additionalProperties":{"type":"array","items":{"type":"object","required":["r"],"properties":{"r":{"type":"integer","minimum":1}}}}}}}`,
			`{"v":{"a.b/c":[{},{"r":0}]}}`, []string{
				`v.a.b/c[0].r: Required value`, `v.a.b/c[1].r: Invalid value: 0: v.a.b/c[1].r in body should be greater than or equal to 1`, `w: Required value`}},
		{"one text at two paths", `v:{"type":"object","properties":{"a.b":{"type":"integer"},"a":{"type":"object","properties":{"b":{"type":"integer"}}}}}`,
			`v:{"a":{"b":"x"},"a.b":"y"}`, []string{`v.a.b: Invalid value: "string": v.a.b in body must be of type integer: "string"`}},
		{"reported once", `v:{"type":"object","allOf":[{"required":["x"]},{"required":["x"]}],"required":["x"]}`, `v:{}`, []string{
			`v.x: Required value`, `<nil>: Invalid value: "": "v" must validate all the schemas (allOf). None validated`}},
		{"operators, none", operators, `v:{}`, []string{
			`<nil>: Invalid value: "": "v" must validate at least one schema (anyOf)`, `v.a: Required value`,
			`<nil>: Invalid value: "": "v" must validate one and only one schema (oneOf). Found none valid`}},
		{"operators, allOf in part", operators, `v:{"a":1}`, []string{
			`v.a: Invalid value: 1: v.a in body should be greater than or equal to 5`, `<nil>: Invalid value: "": "v" must validate all the schemas (allOf)`}},
		{"operators, too many", operators, `v:{"a":1,"b":9}`, []string{
			`<nil>: Invalid value: "": "v" must validate one and only one schema (oneOf). Found 2 valid alternatives`,
			`v.a: Invalid value: 1: v.a in body should be greater than or equal to 5`,
			`v.b: Invalid value: 9: v.b in body should be less than or equal to 5`,
			`<nil>: Invalid value: "": "v" must validate all the schemas (allOf). None validated`,
			`<nil>: Invalid value: "": "v" must not validate the schema (not)`}},
		{"operators, valid", operators, `v:{"b":1}`, nil},
		{"best branch", `v:{"type":"object","oneOf":[{"properties":{"a":{"minimum":5},"b":{"enum":["x"]}}},{"properties":{"a":{"minimum":5},"c":{"type":"integer"}}}]}`,
			`v:{"a":1,"b":"nope","c":9}`, []string{
				`<nil>: Invalid value: "": "v" must validate one and only one schema (oneOf). Found none valid`,
				`v.a: Invalid value: 1: v.a in body should be greater than or equal to 5`}},
		{"kube-openapi's marker", `{"type":"object","anyOf":[{"properties":{"IMPORTANT!":{"minLength":5}}}]}`, `{"IMPORTANT!":"a"}`, []string{
			`<nil>: Invalid value: "": "" must validate at least one schema (anyOf)`,
			`IMPORTANT!: Invalid value: "a": IMPORTANT! in body should be at least 5 chars long`,
			`<nil>: Invalid value: "":  in body should be at least 5 chars long`}},
		{"kube-openapi's marker fails a valid oneOf, even below a not", `{"type":"object","not":{"oneOf":[{},{"properties":{"IMPORTANT!":{"minLength":5}}}]}}`, `{"IMPORTANT!":"a"}`, nil},
		{"the same without the marker", `{"type":"object","not":{"oneOf":[{},{"properties":{"a":{"minLength":5}}}]}}`, `{"a":"a"}`, []string{
			`<nil>: Invalid value: "": "" must not validate the schema (not)`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := compileText(t, c.schema, Options{})
			d, root := parseText(t, c.object)
			if got := texts(p.Explain(d, root, At{})); !slices.Equal(got, c.want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(c.want, "\n\t"))
			}
		})
	}
}

const operators = `v:{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},
	"anyOf":[{"required":["a"]},{"required":["b"]}],"oneOf":[{"required":["a"]},{"required":["b"]}],
	"allOf":[{"properties":{"a":{"minimum":5}}},{"properties":{"b":{"maximum":5}}}],"not":{"required":["a","b"]}}`

func TestExplainLegacy(t *testing.T) {
	for _, c := range []struct {
		name, schema, object string
		want                 []string
	}{
		{"patternProperties", `v:{"patternProperties":{"^a":{"type":"integer"}},"additionalProperties":false}`, `v:{"ab":"x","b":1}`, []string{
			`v.ab: Invalid value: "string": v.ab in body must be of type integer: "string"`,
			`v: Invalid value: "b": v.b in body is a forbidden property`}},
		{"dependencies", `v:{"dependencies":{"a":["b%"],"c":{"required":["d"]}}}`, `v:{"a":1,"c":1}`, []string{
			`<nil>: Invalid value: "": "v" has a dependency on b%`, `v.c.d: Required value`}},
		{"list of items", `v:{"items":[{"type":"integer"},{"type":"string"}],"additionalItems":false}`, `v:["x","y",1]`, []string{
			`v[0]: Invalid value: "string": v[0] in body must be of type integer: "string"`,
			`<nil>: Invalid value: "": array doesn't allow for additional items`}},
		{"additionalItems", `v:{"items":[{}],"additionalItems":{"type":"string"}}`, `v:[1,2,3]`, []string{
			`v[1]: Invalid value: "integer": v[1] in body must be of type string: "integer"`,
			`v[2]: Invalid value: "integer": v[2] in body must be of type string: "integer"`}},
		{"uniqueItems", `v:{"uniqueItems":true}`, `v:[1,{"a":1},{"a":1}]`, []string{`v: Invalid value: "": v in body shouldn't contain duplicates`}},
		{"broken pattern", `v:{"pattern":"(?=a)"}`, `v:"a"`, []string{
			"v: Invalid value: \"a\": v in body should match '(?=a), but pattern is invalid: error parsing regexp: invalid or unsupported Perl syntax: `(?=`'"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := compileText(t, c.schema, Options{PreserveUnknown: true})
			d, root := parseText(t, c.object)
			if got := texts(p.Explain(d, root, At{})); !slices.Equal(got, c.want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(c.want, "\n\t"))
			}
		})
	}
}

// TestExplainAt: a default and a status have a path of their own. The texts begin with the path within the value.
func TestExplainAt(t *testing.T) {
	at := field.NewPath("spec").Child("validation").Child("default")
	p := compileText(t, `{"type":"object","additionalProperties":{"type":"integer"},"required":["r"],"maxProperties":0}`, Options{ForDefaults: true})
	d, root := parseText(t, `{"a":"x"}`)
	got := p.Explain(d, root, At{Field: at, Path: tree.Path{tree.Name("spec")}, Schema: "/properties/spec"})
	want := []string{
		`spec.validation.default: Too many: 1: must have at most 0 items`,
		`spec.validation.default.a: Invalid value: "string": .a in body must be of type integer: "string"`,
		`spec.validation.default.r: Required value`,
	}
	if !slices.Equal(texts(got), want) {
		t.Fatalf("got %q", texts(got))
	}
	if v := got[1]; v.Path.Pointer() != "/spec/a" || v.Schema != "/properties/spec/additionalProperties/type" || d.Str(v.Node) != "x" || v.Step != violation.Schema {
		t.Errorf("path %s, schema %s, node %d, step %s", v.Path, v.Schema, v.Node, v.Step)
	}
	if v := got[2]; v.Path.Pointer() != "/spec/r" || v.Schema != "/properties/spec/required" || v.Node != root {
		t.Errorf("path %s, schema %s, node %d", v.Path, v.Schema, v.Node)
	}

	p = compileText(t, `{"type":"object","properties":{"b":{"type":"integer","minimum":5}}}`, Options{})
	d, root = parseText(t, `{"b":1}`)
	if got := texts(p.Explain(d, root, At{Field: field.NewPath("status")})); !slices.Equal(got, []string{`status.b: Invalid value: 1: b in body should be greater than or equal to 5`}) {
		t.Errorf("got %q", got)
	}
}

func TestExplainPaths(t *testing.T) {
	p := compileText(t, `v:{"type":"array","items":{"type":"object","additionalProperties":{"x-kubernetes-int-or-string":true,"anyOf":[{"minLength":2},{"enum":[true]}]}}}`, Options{})
	d, root := parseText(t, `v:[{},{"a/b":"x","c":true}]`)
	var got []string
	for _, v := range p.Explain(d, root, At{}) {
		got = append(got, v.Path.Pointer()+" "+v.Schema)
		if d.Finder().Lookup(root, v.Path) != v.Node {
			t.Errorf("%s is not node %d", v.Path, v.Node)
		}
	}
	const item = "/properties/v/items/additionalProperties"
	want := []string{
		"/v/1/a~1b " + item + "/anyOf", "/v/1/a~1b " + item + "/anyOf/0/minLength",
		"/v/1/c " + item + "/x-kubernetes-int-or-string",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestExplainStops(t *testing.T) {
	done := make(chan struct{})
	close(done)
	p := compileText(t, `v:{"type":"array","items":{"type":"string"}}`, Options{})
	d, root := parseText(t, `v:[`+strings.Repeat("1,", 5000)+`1]`)
	if got := p.Explain(d, root, At{Stop: interrupt.On(done)}); len(got) > 1000 {
		t.Errorf("%d violations after the stop", len(got))
	}
}

// TestBoundedBranches: a branch with very many errors fails, and the rest of the schema is validated.
func TestBoundedBranches(t *testing.T) {
	many := strings.Repeat("1,", 10_000) + "1"
	for _, c := range []struct {
		name, schema, want string
	}{
		{"anyOf", `v:{"type":"object","anyOf":[{"properties":{"l":{"items":{"minimum":5}}}},{"required":["x"]}]}`, `<nil>: Invalid value: "": "v" must validate at least one schema (anyOf)`},
		{"oneOf", `v:{"type":"object","oneOf":[{"properties":{"l":{"items":{"minimum":5}}}},{"required":["x"]}]}`, `<nil>: Invalid value: "": "v" must validate one and only one schema (oneOf). Found none valid`},
		{"not, and required", `v:{"type":"object","not":{"properties":{"l":{"items":{"minimum":5}}}},"required":["x"]}`, `v.x: Required value`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := compileText(t, c.schema, Options{})
			d, root := parseText(t, `v:{"l":[`+many+`]}`)
			found := p.Explain(d, root, At{})
			if !slices.ContainsFunc(found, func(v violation.Violation) bool { return v.Error.Error() == c.want }) {
				t.Errorf("%d violations, and %s is not among them", len(found), c.want)
			}
		})
	}
}

// TestViolationsAreBoundedInBytes: each violation of an enum lists its values.
func TestViolationsAreBoundedInBytes(t *testing.T) {
	enum := `"` + strings.Repeat("e", 10_000) + `"`
	p := compileText(t, `v:{"type":"array","items":{"type":"string","enum":[`+enum+`]}}`, Options{})
	d, root := parseText(t, `v:["`+strings.Repeat(`x","`, 1_000)+`x"]`)
	budget := violation.NewBudget(tree.Limits{})
	if p.Explain(d, root, At{Budget: budget}); budget.Err() == nil {
		t.Error("budget for 10 MB")
	}
}

func TestViolationsAreBoundedInNumber(t *testing.T) {
	p := compileText(t, `{"type":"object","properties":{"v":{"type":"array","items":{"type":"integer"}},
		"o":{"type":"array","items":{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}}}}`, Options{})
	limits := tree.Limits{MaxViolations: 100}
	for _, c := range []struct {
		name, text string
		found      int
		fits       bool
	}{
		{"as many as the limit", `{"v":[` + strings.Repeat(`"x",`, 99) + `"x"]}`, 100, true},
		{"one more", `{"v":[` + strings.Repeat(`"x",`, 100) + `"x"]}`, 101, false},
		{"valid branches", `{"o":[` + strings.Repeat(`{"b":1},`, 1000) + `{"b":1}]}`, 0, true},
		{"invalid branches", `{"o":[` + strings.Repeat(`{"c":1},`, 49) + `{"c":1}]}`, 100, true},
		{"one more invalid branch", `{"o":[` + strings.Repeat(`{"c":1},`, 50) + `{"c":1}]}`, 102, false},
	} {
		d, root := parseText(t, c.text)
		budget := violation.NewBudget(limits)
		found := p.Explain(d, root, At{Budget: budget})
		if fits := budget.Err() == nil; fits != c.fits || fits && len(found) != c.found {
			t.Errorf("%s: %d violations, %v", c.name, len(found), budget.Err())
		}
		if got := len(p.Explain(d, root, At{})); got != c.found {
			t.Errorf("%s: %d violations without a bound, want %d", c.name, got, c.found)
		}
	}
}

// TestExplainStopsSoon: each part that can take long stops.
func TestExplainStopsSoon(t *testing.T) {
	done := make(chan struct{})
	close(done)
	for _, c := range []struct{ name, schema, text string }{
		{"very many violations", `v:{"type":"array","items":{"type":"integer"}}`, `v:[` + strings.Repeat(`"x",`, 500_000) + `"x"]`},
		{"very many branches", `v:{"type":"array","items":{"type":"string","anyOf":[` + strings.Repeat(`{"pattern":"^x$"},`, 900) + `{"pattern":"^x$"}]}}`,
			`v:[` + strings.Repeat(`"aaaa",`, 20_000) + `"aaaa"]`},
		{"a set", `v:{"type":"array","x-kubernetes-list-type":"set","items":{"type":"integer"}}`, `v:[` + strings.Repeat(`1,`, 500_000) + `1]`},
		{"very many required names", `v:{"type":"object","x-kubernetes-preserve-unknown-fields":true,"required":["` + strings.Repeat(`x","`, 200_000) + `x"]}`,
			`v:{"k":[` + strings.Repeat(`1,`, 200_000) + `1]}`},
	} {
		p := compileText(t, c.schema, Options{})
		d, root := parseText(t, c.text)
		start := testenv.CPUTime()
		at := At{Stop: interrupt.On(done)}
		p.Explain(d, root, at)
		p.ExplainLists(d, root, at)
		if took := testenv.CPUTime() - start; took > 10*time.Second { // some milliseconds on an idle machine, minutes if nothing stopped it
			t.Errorf("%s: took %v after it was stopped", c.name, took)
		}
	}
}

// TestManyRequiredNames: looking up each in an object of very many members takes no time that grows with their product.
func TestManyRequiredNames(t *testing.T) {
	var names, members strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&names, `"a%d",`, i)
		fmt.Fprintf(&members, `"a%d":1,`, i)
	}
	p := compileText(t, `v:{"type":"object","x-kubernetes-preserve-unknown-fields":true,"required":[`+names.String()+`"z"]}`, Options{})
	for attempt := 1; ; attempt++ { // a busy machine may suspend the test for seconds once
		start := testenv.CPUTime()
		d, root := parseText(t, `v:{`+members.String()+`"y":1}`)
		if p.Accept(d, root, Mode{}) {
			t.Error("accepted without z")
		}
		d, root = parseText(t, `v:{`+members.String()+`"y":1}`)
		if got := p.Explain(d, root, At{}); len(got) != 1 {
			t.Errorf("%d violations", len(got))
		}
		took := testenv.CPUTime() - start
		if took <= 3*time.Second {
			return
		}
		if attempt == 3 {
			t.Fatalf("took %v", took)
		}
	}
}
