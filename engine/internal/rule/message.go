package rule

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/crdeval/crdeval/engine/internal/quirk"
)

// message evaluates the message expression of a rule that is false, with the plain oldSelf even where the rule has an optional one. "" means that
// the rule's own message stands: the expression failed, or gave nothing that can be a message. fatal ends the evaluation of the object; its
// place is the caller's to fill in.
//
// Upstream: schema/cel/validation.go, evalMessageExpression.
func (e *evaluation) message(c *rule) (text string, fatal *field.Error) {
	v := e.replayed(c.messageExpr, c.optional, c.optional && !quirk.On(quirk.MessageExpressionPlainOldSelf))
	kind := e.set.self.Name
	switch {
	case v.stopped:
		return "", nil // the caller looks
	case v.noDetails, v.uncounted:
		return "", field.InternalError(nil, fmt.Errorf("runtime cost could not be calculated for messageExpression: %q", c.messageExpr))
	case !e.charge(v.cost):
		return "", field.Invalid(nil, kind, "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run")
	case v.err != nil && limitCrossed(v.err.Error()):
		return "", field.Invalid(nil, kind, fmt.Sprintf("no further validation rules will be run due to call cost exceeds limit for messageExpression: %q", c.messageExpr))
	}
	if v.err == nil {
		text, _ = v.value.Value().(string)
	}
	text = strings.TrimSpace(text)
	if !quirk.On(quirk.MessageExpressionFallback) {
		return text, nil
	}
	if len(text) > celconfig.MaxEvaluatedMessageExpressionSizeBytes || strings.Contains(text, "\n") {
		return "", nil
	}
	return text, nil
}
