package rule

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/internal/value"
)

// What upstream says when the budget of an object is used up.
const outOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run"

// Evaluate evaluates the rules as upstream does (schema/cel/validation.go, validateExpressions) and adds what it finds to the run. False: the
// budget is used up, a call crossed its limit, or the run was stopped; nothing further may run.
func (s *Set) Evaluate(r *Run, at Site) (more bool) {
	if r.Trace == TraceAll {
		e := evaluation{run: r, set: s, at: at}
		if why := e.skips(); why != "" {
			e.skipAll(0, why)
			return true
		}
	}
	if r.Doc.Nodes[at.Self].Kind == value.Null && quirk.On(quirk.NullSkipsRules) {
		return true
	}
	at.Old = present(r.Doc, at.Old)
	e := &r.current
	*e = evaluation{run: r, set: s, at: at}
	if s.failed != "" {
		return e.found(nil, e.invalid("rule compiler initialization error: "+s.failed), 0)
	}
	if r.Left <= 0 {
		return e.end(nil, e.invalid(outOfBudget))
	}
	for i := range s.rules {
		if more := e.rule(&s.rules[i]); !more {
			return e.goesOn(i + 1)
		}
	}
	return true
}

// evaluation is one Set evaluated at one Site.
type evaluation struct {
	run *Run
	set *Set
	at  Site

	replay replay  // of the site, made when it is first needed
	last   verdict // of the last rule that was evaluated, for its trace
}

// verdict is what evaluating an expression gives: a value or an error, and the cost of either.
type verdict struct {
	value ref.Val
	cost  uint64
	// uncounted: cel-go could not say what the evaluation cost. Details: it told nothing at all.
	uncounted, noDetails bool
	// stopped: there is no verdict. The run was stopped, or its Room has what was too much.
	stopped bool
	err     error
}

func (e *evaluation) rule(c *rule) (more bool) {
	if e.run.Trace != TraceNone {
		return e.traced(c)
	}
	return e.evaluated(c)
}

func (e *evaluation) evaluated(c *rule) (more bool) {
	switch {
	case c.compileError != "" && quirk.On(quirk.BrokenStoredRuleReported):
		return e.found(c, e.invalid("rule compile error: "+c.compileError), 0)
	case c.blank, c.compileError != "", c.skipped(e.at.Old):
		return true
	}
	v := e.judge(c)
	e.last = v
	if v.stopped || e.run.Stopped() {
		return false
	}
	switch {
	case v.noDetails:
		return e.end(c, e.placed("", field.InternalError(nil, fmt.Errorf("runtime cost could not be calculated for validation rule: %v, no further validation rules will be run", c.named()))))
	case v.uncounted:
		return e.end(c, e.invalid(fmt.Sprintf("runtime cost could not be calculated for validation rule: %v, no further validation rules will be run", c.named())))
	case !e.charge(v.cost):
		return e.end(c, e.invalid(outOfBudget))
	case v.err != nil:
		return e.failed(c, v.err)
	case v.value == types.True:
		return true
	}
	return e.notSatisfied(c)
}

// judge evaluates a rule, by its closure if that can tell.
func (e *evaluation) judge(c *rule) verdict {
	if c.clean != nil && !e.run.NoClosures && quirk.All() {
		switch e.run.closure(c.clean, e.at.Self, e.at.Old) {
		case closure.True:
			return verdict{value: types.True, cost: e.run.frame.Cost}
		case closure.False:
			return verdict{value: types.False, cost: e.run.frame.Cost}
		}
	}
	return e.replayed(c.text, c.optional, c.optional)
}

// charge takes a cost off the budget if that is enough.
func (e *evaluation) charge(cost uint64) bool {
	if (cost > math.MaxInt64 || int64(cost) > e.run.Left) && quirk.On(quirk.CostBudgets) {
		return false
	}
	e.run.Left -= int64(cost)
	return true
}

// failed reports a rule that ended in an error.
func (e *evaluation) failed(c *rule, err error) (more bool) {
	text := err.Error()
	report := func(format string, args ...any) *field.Error {
		return e.invalid(fmt.Sprintf(format, args...))
	}
	switch {
	case strings.HasPrefix(text, "no such overload") && quirk.On(quirk.NoSuchOverloadText):
		return e.found(c, report("'%v': call arguments did not match a supported operator, function or macro signature for rule: %v", text, c.named()), 0)
	case limitCrossed(text):
		return e.end(c, report("'%v': no further validation rules will be run due to call cost exceeds limit for rule: %v", text, c.named()))
	}
	return e.found(c, report("%v evaluating rule: %v", text, c.named()), 0)
}

func limitCrossed(text string) bool {
	return strings.HasPrefix(text, "operation cancelled: actual cost limit exceeded")
}

// notSatisfied reports a rule that is false.
func (e *evaluation) notSatisfied(c *rule) (more bool) {
	below := ""
	if quirk.On(quirk.RuleFieldPathBrackets) {
		below = c.fieldPath
	}
	detail := ""
	if c.messageExpr != "" {
		text, fatal := e.message(c)
		switch {
		case e.run.Stopped():
			return false
		case fatal != nil:
			e.forgivable(c, e.placed(below, fatal))
			e.run.Left = -1
			return false
		}
		detail = text
	}
	if detail == "" {
		detail = c.ownMessage()
	}
	var bad any = field.OmitValueType{}
	if kind := e.set.self.Name; kind != "object" && kind != "array" || !quirk.On(quirk.RuleBadValues) {
		bad = e.run.Doc.Any(e.at.Self)
	}
	return e.forgivable(c, e.placed(below, errorFor(c.reason, bad, detail)))
}

// placed gives an error its place: that of the site, or a Child of it unless below is "".
func (e *evaluation) placed(below string, err *field.Error) *field.Error {
	err.Field = e.at.Field(below)
	return err
}

// invalid is an error about the value as such, of which upstream shows the type.
func (e *evaluation) invalid(detail string) *field.Error {
	return e.placed("", field.Invalid(nil, e.set.self.Name, detail))
}

// errorFor is an error without a place.
func errorFor(reason apiextensionsv1.FieldValueErrorReason, bad any, detail string) *field.Error {
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

// ownMessage is what the rule says without a message expression.
func (r *rule) ownMessage() string {
	if r.message == "" {
		return "failed rule: " + r.named()
	}
	return trimmed(r.message)
}

// named is what stands for the rule in messages about its evaluation.
func (r *rule) named() string {
	if r.message != "" {
		return trimmed(r.message)
	}
	return trimmed(r.text)
}

func trimmed(text string) string {
	if !quirk.On(quirk.RuleMessagesTrimmed) {
		return text
	}
	return strings.TrimSpace(text)
}

// keyword is where the rule stands in its schema node.
func (r *rule) keyword() string {
	if r.index < len(fewKeywords) {
		return fewKeywords[r.index]
	}
	return ruleKeyword + strconv.Itoa(r.index)
}

const ruleKeyword = "x-kubernetes-validations/"

var fewKeywords = func() (list [16]string) {
	for k := range list {
		list[k] = ruleKeyword + strconv.Itoa(k)
	}
	return list
}()

// forgivable adds a finding, or forgives it: rules that compare with the old value are never forgiven.
func (e *evaluation) forgivable(c *rule, err *field.Error) (more bool) {
	if c.usesOldSelf && quirk.On(quirk.TransitionRulesNotRatcheted) || !e.at.Ratchet() {
		return e.found(c, err, len(c.steps))
	}
	if !e.run.Room.Take(violation.Size(err), false) {
		return false
	}
	e.run.Forgiven = append(e.run.Forgiven, e.violation(c, err, len(c.steps)))
	return true
}

// found adds a finding; steps is how many steps of the rule's field path lead from self to its place.
func (e *evaluation) found(c *rule, err *field.Error, steps int) (more bool) {
	if !e.run.Room.Take(violation.Size(err), false) {
		return false
	}
	e.run.Found = append(e.run.Found, e.violation(c, err, steps))
	return true
}

// end adds the last finding: nothing further runs.
func (e *evaluation) end(c *rule, err *field.Error) (more bool) {
	e.found(c, err, 0)
	e.run.Left = -1
	return false
}

func (e *evaluation) violation(c *rule, err *field.Error, steps int) violation.Violation {
	node := e.at.Self
	var below value.Path
	keyword := ""
	if c != nil {
		below, keyword = c.steps[:steps], c.keyword()
		for _, step := range below {
			next := e.run.Doc.Field(node, step.Key())
			if next == 0 {
				break
			}
			node = next
		}
	}
	v := e.at.Violation(node, err, below, keyword)
	v.Step = violation.Rules
	if c != nil {
		v.Rule = &violation.RuleRef{Index: c.index, Text: c.text, Reason: string(c.reason)}
	}
	return v
}
