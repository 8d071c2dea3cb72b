package definition

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// rules evaluates the rules of s for a default without other errors. They run twice: as an update that keeps the
// default, then, if they pass, as a creation. All defaults of a schema share one cost budget. The more expensive run is
// charged.
// (k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go, validate)
func (c *defaultCheck) rules(s *schema.Props, root uint32, path *field.Path) {
	if !schema.HasRules(s) {
		return
	}
	compiled, err := plan.Compile(s, plan.Options{ForDefaults: true, Rules: plan.RulesOfField, Context: c.ctx, Memory: c.memory})
	if c.ctx.Err() != nil {
		return // the caller checks the context
	}
	if err != nil {
		c.errs = append(c.errs, field.Invalid(path, "", err.Error()))
		return
	}
	compiled.FillSlots(c.d, root)
	pairs := new(plan.Pairs)
	pairs.Init(c.d, c.stop)
	found, left := c.run(compiled, root, plan.Update{Old: root, Pairs: pairs}, path)
	if len(found) == 0 {
		var asNew int64
		found, asNew = c.run(compiled, root, plan.Update{}, path)
		left = min(left, asNew)
	}
	c.errs = append(c.errs, violation.Errors(found)...)
	c.budget = left
}

func (c *defaultCheck) run(compiled *plan.Plan, root uint32, u plan.Update, path *field.Path) (found []violation.Violation, left int64) {
	r := rule.Start(c.d)
	defer r.Close()
	r.Context, r.Stop, r.Room, r.Left = c.ctx, c.stop, c.room, c.budget
	compiled.Rules(r, root, u, plan.At{Field: path, Room: c.room, Stop: c.stop})
	return r.Found, r.Left
}
