package admission

import (
	"context"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/plan"
)

// Judge decodes and defaults an object of any version of the CRD, served or not, and validates all of it: its status
// too. Unknown fields are in Outcome.Unknown and do not reject the object. The error is a *Fault.
func (d *Definition) Judge(ctx context.Context, r *Request) (Outcome, error) {
	return d.run(ctx, r, func(p *pass) error {
		p.source = fromCaller
		if err := p.readOther(); err != nil {
			return err
		}
		if !p.matches() || p.own == nil {
			return p.def.noVersion("the object's type", p.of.String())
		}
		if p.acceptWhole() {
			p.object()
			return nil
		}
		if err := p.parse(); err != nil { // again, because the tree is in an undefined state
			return exceeded(err)
		}
		unknown, failed, err := p.shape(shaping{Options: metadata.Options{Track: true}, changes: p.r.WantChanges})
		switch {
		case err != nil:
			return err
		case failed != nil:
			return p.rejected(p.undecodable(&p.of, failed), failed.reasons...)
		}
		p.out.Unknown = texts(unknown)
		if err := p.fill(); err != nil {
			return err
		}
		if p.out.Violations, err = p.validate(p.own); err == nil {
			p.object()
		}
		return err
	})
}

// acceptWhole is Judge on the fast path. If it returns false, the tree is in an undefined state.
func (p *pass) acceptWhole() bool {
	meta, normalized := p.normalized()
	if !normalized || !metadata.Plain(p.d, meta, p.metadataRules()) {
		return false
	}
	mode := p.acceptMode()
	mode.Edits = &p.edits
	v := p.own
	return !p.def.PreserveUnknown && v.Plan.Accept(p.d, p.root, mode) && !mode.Edits.Any(plan.Pruned) &&
		p.cleanRules(v.Plan) && len(v.Scale.violations(p.d, p.root, true)) == 0
}
