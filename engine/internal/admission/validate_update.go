package admission

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// validateUpdate returns the violations of an update of the object or of its status: those about any resource, then
// those of the strategy. It sets p.ratcheted. The error is a Fault: too many violations, or a passed deadline.
//
// Upstream: registry/rest/update.go, ValidateUpdate; registry/customresource/strategy.go and status_strategy.go,
// ValidateUpdate.
func (p *pass) validateUpdate(v *Version) ([]violation.Violation, error) {
	d, compiled := p.d, v.Plan
	room := violation.NewRoom(p.r.Limits)
	at := plan.At{Stop: p.stop, Room: room}
	p.pairs.Init(d, p.stop)
	whole := p.pairs.Root(compiled.Root, p.root, p.old.root)

	common, own := p.updateErrors(room)
	types := p.typeErrors(v)
	found := types // violations about any resource do not block rules
	if len(types) == 0 {
		found = append(found, own...)
		var schema []violation.Violation
		if p.r.Status && quirk.On(quirk.StatusUpdateChecksStatusSchema) {
			schema, p.ratcheted = compiled.ExplainStatus(d, p.pairs, whole, at)
		} else {
			schema, p.ratcheted = compiled.ExplainUpdate(d, p.root, whole, at)
		}
		found = append(append(found, schema...), scaleViolations(d, p.root, v.Scale, !p.r.Status)...)
	}
	if len(types) == 0 || quirk.On(quirk.WrongKindSkipsSchema) {
		if !p.r.Status {
			found = append(found, compiled.ExplainEmbedded(d, p.root, at)...)
		}
		found = append(found, p.listErrors(compiled, at)...)
		found = p.rules(compiled, found, plan.Update{Old: p.old.root, Pairs: p.pairs, Ratchet: true}, at)
	}
	if err := expired(p.ctx); err != nil {
		return nil, err
	}
	if err := room.Err(); err != nil {
		return nil, exceeded(err)
	}
	return append(common, found...), nil
}

// listErrors returns the violations about sets and map lists. They are ratcheted if the old object has any.
func (p *pass) listErrors(compiled *plan.Plan, at plan.At) []violation.Violation {
	found := compiled.ExplainLists(p.d, p.root, at)
	if len(found) == 0 {
		return nil
	}
	room := violation.NewRoom(p.r.Limits)
	if old := compiled.ExplainLists(p.d, p.old.root, plan.At{Stop: p.stop, Room: room}); len(old) == 0 &&
		room.Err() == nil {
		return found
	}
	p.ratcheted = append(p.ratcheted, found...)
	return nil
}

// updateErrors returns the violations about the object's own metadata: those about any resource, and those of the
// strategy.
func (p *pass) updateErrors(room *violation.Room) (common, own []violation.Violation) {
	d := p.d
	meta, before := d.Field(p.root, "metadata"), d.Field(p.old.root, "metadata")
	if p.r.SkipMetadata {
		return nil, nil
	}
	m, errs := p.objectMeta(meta)
	old, oldErrs := p.objectMeta(before)
	if errs = append(errs, oldErrs...); len(errs) > 0 {
		return nil, p.aboutMetadata(errs[:1], room) // upstream stops at the first that cannot be read
	}
	if p.r.Handler && !p.r.AsGiven {
		m.ManagedFields = nil // as for a creation
	}
	whole, change := metadata.ValidateCommon(m, old, p.def.Namespaced)
	common = append(p.aboutMetadata(whole, room), p.aboutMetadata(change, room)...)
	return common, p.aboutMetadata(metadata.ValidateUpdate(m, old, p.def.Namespaced), room)
}

func (p *pass) objectMeta(meta uint32) (*metav1.ObjectMeta, field.ErrorList) {
	if meta == 0 {
		return &metav1.ObjectMeta{}, nil
	}
	return metadata.FromTree(p.d, meta)
}
