package cel

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// wrapper is the property that contains a schema that is not a root.
const wrapper = "v"

// ours is the engine's compiler with closures and cel-go.
type ours struct {
	c        *Case
	scope    *celcheck.Scope
	rules    []apiextensionsv1.ValidationRule
	set      *rule.Set
	closures []*closure.Program // by rule; nil for a rule without a closure
	missing  []string           // why a rule has no closure; "" if it does not compile
	plan     *plan.Plan         // fills slots
}

// functions are those that closures call.
var functions = must(celenv.Functions(upstreamEnv()))

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func newOurs(c *Case) (*ours, error) {
	props, err := c.props()
	if err != nil {
		return nil, err
	}
	o := &ours{c: c, rules: c.validations()}
	if c.Root {
		o.scope = celcheck.NewShared().Root(props)
	} else {
		root := &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{wrapper: *props}}
		o.scope = celcheck.NewShared().Root(root).Property(wrapper)
	}
	if o.scope == nil {
		return nil, fmt.Errorf("the schema has no scope")
	}
	if o.plan, err = slotPlan(props, c.Root); err != nil {
		return nil, err
	}
	if o.set, err = rule.Compile(context.Background(), o.scope, o.rules); err != nil {
		return nil, err
	}
	o.closures = make([]*closure.Program, len(o.rules))
	o.missing = make([]string, len(o.rules))
	for i := range o.rules {
		o.compileClosure(i)
	}
	return o, nil
}

// slotPlan returns the plan of a schema, which fills the slots of documents. A trivial rule makes it do so.
func slotPlan(props *apiextensionsv1.JSONSchemaProps, root bool) (*plan.Plan, error) {
	with := props.DeepCopy()
	with.XValidations = apiextensionsv1.ValidationRules{{Rule: "true"}}
	if !root {
		with = &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{wrapper: *with}}
	}
	return plan.Compile(with, plan.Options{Rules: plan.RulesOfResource})
}

// compileClosure compiles the i-th rule's closure again, separately from the Set's.
func (o *ours) compileClosure(i int) {
	optional := o.rules[i].OptionalOldSelf != nil && *o.rules[i].OptionalOldSelf
	checked, bad := o.scope.CompileRule(context.Background(), celenv.Stored(), o.rules[i].Rule, optional)
	if bad != nil || checked == nil {
		return
	}
	p, err := closure.Compile(checked.Ast.NativeRep(), o.scope.Type(), closure.Options{OptionalOldSelf: optional, Functions: functions, Value: celcheck.ValueOf})
	if err != nil {
		o.missing[i] = err.Error()
		return
	}
	o.closures[i] = p
}

// facts returns the facts about each rule in a registration.
func (o *ours) facts(env *celenv.Env) []Compiled {
	out := make([]Compiled, len(o.rules))
	for i := range o.rules {
		f := o.scope.Check(context.Background(), env, env, &o.rules[i])
		out[i] = Compiled{Cost: f.MaxCost, MessageCost: f.MessageMaxCost, Cardinality: f.Cardinality, UsesOldSelf: f.UsesOldSelf, Error: errorText(f.Error), MessageError: errorText(f.MessageError)}
	}
	return out
}

// document is a value and its old value in a Doc.
type document struct {
	doc       *tree.Doc
	self, old uint32
}

// document parses values.
func (o *ours) document(v Values) (d document, err error) {
	d.doc = tree.Acquire()
	if d.self, err = o.parse(d.doc, v.Self, tree.Request); err != nil || v.Old == nil {
		return d, err
	}
	d.old, err = o.parse(d.doc, v.Old, tree.Old)
	if d.old != 0 && d.doc.Nodes[d.old].Kind == tree.Null {
		d.old = 0
	}
	return d, err
}

func (o *ours) parse(d *tree.Doc, n *jsontree.Node, s tree.Source) (uint32, error) {
	if !o.c.Root {
		n = jsontree.Obj(wrapper, n)
	}
	text := n.JSON()
	root, err := d.Parse(text, s, tree.Limits{})
	if err == nil && len(text)%2 == 0 { // fields of the others are found by name
		o.plan.FillSlots(d, root)
	}
	if err != nil || o.c.Root {
		return root, err
	}
	return d.Nodes[root].First, nil
}

// judged is the path of the value.
type judged struct{}

func (judged) Ratchet() bool { return false }

func (judged) Field(below string) string {
	p := field.NewPath("root")
	if below != "" {
		p = p.Child(below)
	}
	return p.String()
}

func (judged) Violation(_ uint32, err *field.Error, _ tree.Path, _ int) violation.Violation {
	return violation.Violation{Error: err}
}

// judge validates a value with a budget, and a limit per call.
func (o *ours) judge(d document, limit uint64, budget int64, closures bool) Verdict {
	r := rule.Start(d.doc)
	defer r.Close()
	r.NoClosures, r.Left = !closures, budget
	if limit != rule.PerCallLimit {
		r.Limit = limit
	}
	if closures && o.set.Holds(r, d.self, d.old) {
		return Verdict{Left: r.Left}
	}
	if closures && r.Left != budget {
		return Verdict{Left: r.Left, Violations: []string{"Holds returned false, and charged for it"}}
	}
	o.set.Evaluate(r, rule.Site{Self: d.self, Old: d.old, Position: judged{}})
	out := Verdict{Left: max(r.Left, -1)}
	for i := range r.Found {
		out.Violations = append(out.Violations, normal(r.Found[i].Error.Error()))
	}
	return out
}

// closure runs the i-th rule's closure.
func (o *ours) closure(i int, d document, limit uint64) (closure.Outcome, uint64) {
	f := closure.Frame{Doc: d.doc, Self: d.self, Old: d.old, Limit: limit}
	out := o.closures[i].Eval(&f)
	return out, f.Cost
}
