package admission

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// notChecked is upstream's note in place of rules that are not evaluated because of earlier errors.
const notChecked = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"

// rules appends the violations of x-kubernetes-validations. If earlier violations block the rules, it appends a note
// instead. Ratcheted violations are added to p.ratcheted and become warnings.
//
// Upstream: registry/customresource/strategy.go, Validate, ValidateUpdate and hasBlockingErr.
func (p *pass) rules(compiled *plan.Plan, found []violation.Violation, u plan.Update,
	at plan.At) []violation.Violation {
	if !compiled.HasRules() {
		return found
	}
	r := p.run()
	defer r.Close()
	r.Budget, r.Trace = at.Budget, p.r.Trace
	if violation.Blocking(found) && quirk.On(quirk.BlockingErrorsSkipRules) {
		note := violation.Of(violation.Rules, field.Invalid(nil, nil, notChecked), nil)
		note.Node = p.root
		found = append(found, note)
		if p.r.Trace != rule.TraceAll {
			return found
		}
		r.Skip = notChecked // trace the rules as skipped
	} else if !r.NoClosures {
		compiled.FillSlots(p.d, p.root)
		compiled.FillSlots(p.d, u.Old)
	}
	compiled.Rules(r, p.root, u, at)
	p.out.Traces, p.out.OmittedTraces = r.Traces()
	for i := range r.Ratcheted {
		p.warn(r.Ratcheted[i].Error.Error())
	}
	p.ratcheted = append(p.ratcheted, r.Ratcheted...)
	return append(found, r.Found...)
}

// cleanRules reports whether all rules hold for an accepted object.
func (p *pass) cleanRules(compiled *plan.Plan) bool {
	if !compiled.HasRules() {
		return true
	}
	r := p.run()
	defer r.Close()
	return compiled.CleanRules(r, p.root, p.old.root, p.pairs)
}

// run starts an evaluation of rules.
func (p *pass) run() *rule.Run {
	r := rule.Start(p.d)
	r.Context, r.Stop, r.NoClosures = p.ctx, p.stop, p.r.NoClosures
	return r
}
