package rule

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// Facts are what can be said of one rule before there is an object. (schema/cel/compilation.go, CompilationResult)
type Facts struct {
	// Error is why the rule cannot run, nil if it can; MessageError is the same of its messageExpression, which is looked at only if
	// the rule can run. Texts are upstream's.
	Error, MessageError *apiservercel.Error
	// UsesOldSelf: it is a transition rule. It is set of rules with some errors, too.
	UsesOldSelf bool
	// MaxCost is what the rule may cost for one value, MessageMaxCost the same of the message expression. Both are 0 if it cannot run.
	MaxCost, MessageMaxCost uint64
	// Cardinality is for how many values of one object the rule may run, if nothing around it bounds that.
	Cardinality uint64
	// Rule and Message are the expressions, nil if there is none or if it has an error.
	Rule, Message *Checked
}

// Check compiles a rule of the scope and estimates what it costs. A blank rule has no Facts to speak of: it is refused by its shape.
// s.Decl is not nil. (schema/cel/compilation.go, compileRule)
func (e *Env) Check(r *apiextensionsv1.ValidationRule, s *Scope) Facts { return e.facts(r, s, e) }

// facts compiles the rule in e and its message in another environment.
func (e *Env) facts(r *apiextensionsv1.ValidationRule, s *Scope, forMessage *Env) Facts {
	var f Facts
	if strings.TrimSpace(r.Rule) == "" {
		return f
	}
	optional := r.OptionalOldSelf != nil && *r.OptionalOldSelf
	var c *Checked
	if c, f.Error = e.CompileRule(r.Rule, s, optional); c != nil {
		f.UsesOldSelf = c.UsesOldSelf
	}
	if f.Error != nil {
		return f
	}
	declared := sizes{self: s.Decl}
	cost, err := e.estimate(c, &declared)
	if err != nil {
		f.Error = &apiservercel.Error{Type: apiservercel.ErrorTypeInternal, Detail: "cost estimation failed: " + err.Error()}
		return f
	}
	f.Rule, f.MaxCost, f.Cardinality = c, cost, mostOften(s.Decl.MinSerializedSize)
	if r.MessageExpression == "" {
		return f
	}
	if c, f.MessageError = forMessage.CompileMessage(r.MessageExpression, s, optional); c == nil || f.MessageError != nil {
		return f
	}
	if cost, err = forMessage.estimate(c, &declared); err != nil {
		f.MessageError = &apiservercel.Error{Type: apiservercel.ErrorTypeInternal, Detail: "cost estimation failed for messageExpression: " + err.Error()}
		return f
	}
	f.Message, f.MessageMaxCost = c, cost
	return f
}
