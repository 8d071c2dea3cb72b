package definition

import (
	"errors"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/value"
)

// longRule is from how many bytes on a rule is checked aside: cel-go's checker takes seconds for tens of thousands of operators, and cannot be
// stopped.
const longRule = 4 << 10

// aside are the long rules that are being checked in this process, those included that nobody waits for any more. When there are as many as
// this, others wait.
var aside = make(chan struct{}, 4)

// check checks one rule, and gives up when the context ends: ok is unset then. What was given up goes on until cel-go is done with it, as one of
// aside; cel-go's own bound of 100,000 code points ends that.
func (c *ruleCheck) check(r *apiextensionsv1.ValidationRule, s *rule.Scope) (f rule.Facts, ok bool) {
	if len(r.Rule)+len(r.MessageExpression) < longRule && !rule.Doubles(r.Rule) && !rule.Doubles(r.MessageExpression) {
		return c.env.Check(r, s), true
	}
	select {
	case aside <- struct{}{}:
	case <-c.ctx.Done():
		return f, false
	}
	done := make(chan rule.Facts, 1)
	go func() {
		defer func() { <-aside }()
		// A scope of its own: nobody else uses that while, and after, this one is given up.
		done <- c.env.Check(r, s.Apart())
	}()
	select {
	case f = <-done:
		return f, true
	case <-c.ctx.Done():
		return f, false
	}
}

// grows fails the room if a rule of the schema grows too large when its macros are expanded.
func (s *spec) grows(p *schema.Props) bool {
	var limit *value.LimitError
	if errors.As(expands(p), &limit) {
		s.room.Fail(limit)
		return true
	}
	return false
}

// expands returns a *value.LimitError if a rule of the schema grows too large when its macros are expanded.
func expands(s *schema.Props) error {
	var err error
	schema.Any(s, func(s *schema.Props) bool {
		for i := range s.XValidations {
			if err = rule.Expands(s.XValidations[i].Rule); err == nil {
				err = rule.Expands(s.XValidations[i].MessageExpression)
			}
			if err != nil {
				return true
			}
		}
		return false
	})
	return err
}
