package rule

import (
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// props reads a schema written as YAML.
func props(t testing.TB, text string) *schema.Props {
	t.Helper()
	s := &schema.Props{}
	if err := yaml.UnmarshalStrict([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

// testPosition is the position of a test: a path, and whether it is unchanged.
type testPosition struct {
	at      *field.Path
	ratchet bool
}

func (s testPosition) Field(below string) string {
	if below != "" {
		return s.at.Child(below).String()
	}
	return s.at.String()
}
func (s testPosition) Ratchet() bool { return s.ratchet }
func (s testPosition) Violation(node uint32, err *field.Error, below tree.Path, index int) violation.Violation {
	return violation.Violation{Error: err, Node: node, Path: below, Schema: fmt.Sprintf("/x-kubernetes-validations/%d", index)}
}

// evaluated is what evaluating the rules of a schema's root against a value gives.
type evaluated struct {
	found, ratcheted []string
	left             int64
	more             bool
	run              *Run
}

type trial struct {
	schema     string
	self, old  string // JSON; old "" for none
	notRoot    bool   // the schema is that of a field
	ratchet    bool
	left       int64 // of the budget; 0: all
	limit      uint64
	noClosures bool
}

func (x trial) evaluate(t testing.TB) evaluated {
	t.Helper()
	s := props(t, x.schema)
	scope := celcheck.NewShared().Root(s)
	if x.notRoot {
		scope = celcheck.NewShared().Field(s)
	}
	set := compile(t, scope, s.XValidations)
	d := tree.Acquire()
	t.Cleanup(d.Release)
	r := Start(d)
	defer r.Close()
	r.NoClosures = x.noClosures
	if x.left != 0 {
		r.Left = x.left
	}
	if x.limit != 0 {
		r.Limit = x.limit
	}
	site := Site{Position: testPosition{field.NewPath("spec"), x.ratchet}}
	site.Self = parse(t, d, x.self, tree.Request)
	if x.old != "" {
		site.Old = parse(t, d, x.old, tree.Old)
	}
	out := evaluated{more: set.Evaluate(r, site), left: r.Left, run: r}
	for _, v := range r.Found {
		out.found = append(out.found, v.Error.Error())
	}
	for _, v := range r.Ratcheted {
		out.ratcheted = append(out.ratcheted, v.Error.Error())
	}
	return out
}

func compile(t testing.TB, s *celcheck.Scope, rules []apiextensionsv1.ValidationRule) *Set {
	t.Helper()
	set, err := Compile(t.Context(), s, rules)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func parse(t testing.TB, d *tree.Doc, text string, s tree.Source) uint32 {
	t.Helper()
	root, err := d.Parse([]byte(text), s, tree.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func TestEvaluate(t *testing.T) {
	object := `{type: object, properties: {i: {type: integer}, s: {type: string}, ios: {x-kubernetes-int-or-string: true}, l: {type: array, items: {type: integer}}}, x-kubernetes-validations: `
	for name, c := range map[string]struct {
		rules string
		self  string
		old   string
		want  string
	}{
		"holds":             {`[{rule: "self.i == 1"}]`, `{"i":1}`, "", ``},
		"default message":   {`[{rule: " self.i == 1 "}]`, `{"i":2}`, "", `spec: Invalid value: failed rule: self.i == 1`},
		"message":           {`[{rule: "self.i == 1", message: " must be one "}]`, `{"i":2}`, "", `spec: Invalid value: must be one`},
		"expression":        {`[{rule: "self.i == 1", messageExpression: "' is ' + string(self.i)"}]`, `{"i":2}`, "", `spec: Invalid value: is 2`},
		"division":          {`[{rule: "1 / self.i == 1", message: div}]`, `{"i":0}`, "", `spec: Invalid value: "object": division by zero evaluating rule: div`},
		"overload":          {`[{rule: "self.ios + 1 == 2"}]`, `{"ios":"a"}`, "", `spec: Invalid value: "object": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: self.ios + 1 == 2`},
		"no such key":       {`[{rule: "self.s == 'a'"}]`, `{}`, "", `spec: Invalid value: "object": no such key: s evaluating rule: self.s == 'a'`},
		"compile error":     {`[{rule: "self.x == 1"}]`, `{}`, "", "spec: Invalid value: \"object\": rule compile error: compilation failed: ERROR: <input>:1:5: undefined field 'x'\n | self.x == 1\n | ....^"},
		"not a bool":        {`[{rule: "self.i"}]`, `{}`, "", `spec: Invalid value: "object": rule compile error: cel expression must evaluate to a bool`},
		"transition":        {`[{rule: "self.i >= oldSelf.i"}]`, `{"i":1}`, `{"i":2}`, `spec: Invalid value: failed rule: self.i >= oldSelf.i`},
		"transition create": {`[{rule: "self.i >= oldSelf.i"}]`, `{"i":1}`, "", ``},
		"field path":        {`[{rule: "self.i == 1", fieldPath: .s, reason: FieldValueRequired}]`, `{"i":2,"s":"x"}`, "", `spec.s: Required value: failed rule: self.i == 1`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, off := range []bool{false, true} {
				got := trial{schema: object + c.rules + "}", self: c.self, old: c.old, notRoot: true, noClosures: off}.evaluate(t)
				if text := strings.Join(got.found, "; "); text != c.want || !got.more {
					t.Errorf("closures off %v: got %s, want %s", off, text, c.want)
				}
			}
		})
	}
}
