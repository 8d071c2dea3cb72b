package rule

import (
	"fmt"
	"math"
	"strings"

	"github.com/google/cel-go/common/types"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/rule/interpret"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/rules"
)

// outOfBudget is upstream's text for an object whose budget is used up.
const outOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run"

// Evaluate evaluates the rules as upstream does (schema/cel/validation.go, validateExpressions) and adds their
// violations to the run. It returns false if nothing further may run: the budget is used up, a call crossed its limit,
// or the run was stopped.
func (s *Set) Evaluate(r *Run, at Site) (more bool) {
	e := &r.current
	*e = evaluation{run: r, set: s, at: at}
	if r.Trace == rules.TraceAll {
		if why := e.skipReason(); why != "" {
			e.traceSkipped(0, why)
			return true
		}
	}
	if r.Doc.Nodes[at.Self].Kind == tree.Null && quirk.On(quirk.NullSkipsRules) {
		return true
	}
	e.at.Old = nonNull(r.Doc, at.Old)
	if s.failure != "" {
		return e.add(nil, e.invalid("rule compiler initialization error: "+s.failure))
	}
	if r.Left <= 0 {
		return e.end(nil, e.invalid(outOfBudget))
	}
	for i := range s.rules {
		if r.Trace == rules.TraceNone {
			more = e.evaluate(&s.rules[i])
		} else {
			more = e.evaluateTraced(&s.rules[i])
		}
		if !more {
			return e.continueTracing(i + 1)
		}
	}
	return true
}

// evaluation is the evaluation of one Set for one Site.
type evaluation struct {
	run *Run
	set *Set
	at  Site

	interpreter *interpret.Evaluation // made when it is first needed
	last        interpret.Result      // of the last rule that was evaluated, for its trace
}

func (e *evaluation) evaluate(c *rule) (more bool) {
	switch {
	case c.compileError != "" && quirk.On(quirk.BrokenStoredRuleReported):
		return e.add(c, e.invalid("rule compile error: "+c.compileError))
	case c.blank, c.compileError != "", c.skipped(e.at.Old):
		return true
	}
	v := e.result(c)
	e.last = v
	if v.Interrupted || e.run.Stop.Stopped() {
		return false
	}
	switch {
	case !e.charge(v.Cost):
		return e.end(c, e.invalid(outOfBudget))
	case v.Err != nil:
		return e.addError(c, v.Err)
	case v.Value == types.True:
		return true
	}
	return e.addFalse(c)
}

// result evaluates a rule, with its closure if that has an answer.
func (e *evaluation) result(c *rule) interpret.Result {
	if c.closure != nil && !e.run.NoClosures && quirk.All() {
		switch c.closure.Eval(e.run.closures(e.at.Self, e.at.Old)) {
		case closure.True:
			return interpret.Result{Value: types.True, Cost: e.run.frame.Cost}
		case closure.False:
			return interpret.Result{Value: types.False, Cost: e.run.frame.Cost}
		}
	}
	return e.interpret(c.text, c.optional, c.optional)
}

// interpret evaluates an expression with cel-go: see interpret.Evaluation.Eval.
func (e *evaluation) interpret(text string, declared, given bool) interpret.Result {
	if !e.prepare() {
		return interpret.Result{Interrupted: true}
	}
	result := e.interpreter.Eval(text, declared, given)
	if result.Bound != nil {
		e.run.Budget.Fail(result.Bound)
	}
	return result
}

// prepare makes the values for cel-go once. It returns false if the run is stopped.
func (e *evaluation) prepare() bool {
	if e.interpreter == nil {
		e.interpreter = interpret.New(interpret.Input{
			Doc: e.run.Doc, Self: e.at.Self, Old: e.at.Old, BindsOldSelf: e.set.bindsOldSelf,
			Declared: e.set.declared, Type: e.set.self, Context: e.run.Context, Stop: e.run.Stop, Limit: e.run.Limit,
		})
	}
	return e.interpreter != nil
}

// charge takes a cost off the budget. It returns false if the rest does not suffice.
func (e *evaluation) charge(cost uint64) bool {
	if (cost > math.MaxInt64 || int64(cost) > e.run.Left) && quirk.On(quirk.CostBudgets) {
		return false
	}
	e.run.Left -= int64(cost)
	return true
}

// addError adds the violation of a rule that ended with an error.
func (e *evaluation) addError(c *rule, err error) (more bool) {
	text := err.Error()
	switch {
	case strings.HasPrefix(text, "no such overload") && quirk.On(quirk.NoSuchOverloadText):
		return e.add(c, e.invalid(fmt.Sprintf("'%v': call arguments did not match a supported operator, function or macro "+
			"signature for rule: %v", text, c.displayName())))
	case isLimitError(text):
		return e.end(c, e.invalid(fmt.Sprintf("'%v': no further validation rules will be run due to call cost exceeds "+
			"limit for rule: %v", text, c.displayName())))
	}
	return e.add(c, e.invalid(fmt.Sprintf("%v evaluating rule: %v", text, c.displayName())))
}

func isLimitError(text string) bool {
	return strings.HasPrefix(text, "operation cancelled: actual cost limit exceeded")
}

// addFalse adds the violation of a rule that is false.
func (e *evaluation) addFalse(c *rule) (more bool) {
	below := ""
	if quirk.On(quirk.RuleFieldPathBrackets) {
		below = c.fieldPath
	}
	detail := ""
	if c.messageExpr != "" {
		text, fatal := e.message(c)
		switch {
		case e.run.Stop.Stopped():
			return false
		case fatal != nil:
			e.addOrRatchet(c, e.locate(below, fatal))
			e.run.Left = -1
			return false
		}
		detail = text
	}
	if detail == "" {
		if detail = c.displayName(); c.message == "" {
			detail = "failed rule: " + detail
		}
	}
	var bad any = field.OmitValueType{}
	if kind := e.set.self.Name; kind != "object" && kind != "array" || !quirk.On(quirk.RuleBadValues) {
		bad = e.run.Doc.Any(e.at.Self)
	}
	return e.addOrRatchet(c, e.locate(below, errorOf(c.reason, bad, detail)))
}

// message evaluates the message expression of a rule that is false, with a plain oldSelf even where the rule has an
// optional one. It returns "" if the rule's own message applies: the expression failed or its value cannot be a
// message. fatal ends the evaluation of the object; the caller sets its path.
//
// Upstream: schema/cel/validation.go, evalMessageExpression.
func (e *evaluation) message(c *rule) (text string, fatal *field.Error) {
	v := e.interpret(c.messageExpr, c.optional, c.optional && !quirk.On(quirk.MessageExpressionPlainOldSelf))
	kind := e.set.self.Name
	switch {
	case v.Interrupted:
		return "", nil // the caller checks
	case !e.charge(v.Cost):
		return "", field.Invalid(nil, kind, "messageExpression evaluation failed due to running out of cost budget, "+
			"no further validation rules will be run")
	case v.Err != nil && isLimitError(v.Err.Error()):
		return "", field.Invalid(nil, kind, fmt.Sprintf("no further validation rules will be run due to call cost exceeds "+
			"limit for messageExpression: %q", c.messageExpr))
	}
	if v.Err == nil {
		text, _ = v.Value.Value().(string)
	}
	text = strings.TrimSpace(text)
	tooLong := len(text) > celconfig.MaxEvaluatedMessageExpressionSizeBytes || strings.Contains(text, "\n")
	if tooLong && quirk.On(quirk.MessageExpressionFallback) {
		return "", nil
	}
	return text, nil
}

// locate sets the path of an error: the site, or a child of it unless below is "".
func (e *evaluation) locate(below string, err *field.Error) *field.Error {
	err.Field = e.at.Field(below)
	return err
}

// invalid returns an error about the value, with its type as upstream prints it.
func (e *evaluation) invalid(detail string) *field.Error {
	return e.locate("", field.Invalid(nil, e.set.self.Name, detail))
}

// errorOf returns an error without a path.
func errorOf(reason apiextensionsv1.FieldValueErrorReason, bad any, detail string) *field.Error {
	if !quirk.On(quirk.RuleReasonsDropText) {
		return field.Invalid(nil, bad, detail)
	}
	switch reason {
	case apiextensionsv1.FieldValueForbidden:
		return field.Forbidden(nil, detail)
	case apiextensionsv1.FieldValueRequired:
		return field.Required(nil, detail)
	case apiextensionsv1.FieldValueDuplicate:
		return field.Duplicate(nil, bad)
	}
	return field.Invalid(nil, bad, detail)
}

func (r *rule) ref() *rules.Ref {
	return &rules.Ref{Index: int(r.index), Text: r.text, Reason: string(r.reason)}
}

// displayName returns the message of the rule, or else its text, for errors.
func (r *rule) displayName() string {
	name := r.message
	if name == "" {
		name = r.text
	}
	if !quirk.On(quirk.RuleMessagesTrimmed) {
		return name
	}
	return strings.TrimSpace(name)
}

// addOrRatchet adds a violation, or ratchets it unless the rule is a transition rule.
func (e *evaluation) addOrRatchet(c *rule, err *field.Error) (more bool) {
	list := &e.run.Ratcheted
	if c.usesOldSelf && quirk.On(quirk.TransitionRulesNotRatcheted) || !e.at.Ratchet() {
		list = &e.run.Found
	}
	return e.addTo(list, c, err, len(c.steps))
}

// add adds a violation about the value itself.
func (e *evaluation) add(c *rule, err *field.Error) (more bool) {
	return e.addTo(&e.run.Found, c, err, 0)
}

// addTo adds a violation to a list. steps is the length of the rule's field path to apply.
func (e *evaluation) addTo(list *[]violation.Violation, c *rule, err *field.Error, steps int) (more bool) {
	if !e.run.Budget.Take(violation.Size(err), false) {
		return false
	}
	if *list == nil {
		*list = make([]violation.Violation, 0, 4) // the usual number
	}
	*list = append(*list, e.violation(c, err, steps))
	return true
}

// end adds the last violation: nothing further runs.
func (e *evaluation) end(c *rule, err *field.Error) (more bool) {
	e.add(c, err)
	e.run.Left = -1
	return false
}

func (e *evaluation) violation(c *rule, err *field.Error, steps int) violation.Violation {
	node := e.at.Self
	var below tree.Path
	index := -1
	if c != nil {
		below, index = c.steps[:steps], int(c.index)
		for _, step := range below {
			next := e.run.Doc.Field(node, step.Key())
			if next == 0 {
				break
			}
			node = next
		}
	}
	v := e.at.Violation(node, err, below, index)
	v.Step = violation.Rules
	if c != nil {
		v.Rule = c.ref()
	}
	return v
}
