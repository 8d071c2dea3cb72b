package admission

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// validateUpdate is the validation of an update, of the object or of its status: what is common to all resources, then the strategy's.
// What is forgiven is in p.forgiven. The error is a Fault: the findings are too many, or the time is over.
//
// Upstream: registry/rest/update.go, ValidateUpdate; registry/customresource/strategy.go and status_strategy.go, ValidateUpdate.
func (p *pass) validateUpdate(v *Version) ([]violation.Violation, error) {
	d, compiled := p.d, v.Plan
	room := violation.NewRoom(p.r.Limits)
	at := plan.At{Stop: p.stop, Room: room}
	p.pairs.Init(d, p.stop)
	whole := p.pairs.Root(compiled.Root, p.root, p.old.root)

	common, own := p.updateErrors(room)
	types := p.typeErrors(v)
	found := types // what is common to all resources keeps no rule from running
	if len(types) == 0 {
		found = append(found, own...)
		var schema []violation.Violation
		if p.r.Status && quirk.On(quirk.StatusUpdateChecksStatusSchema) {
			schema, p.forgiven = compiled.ExplainStatus(d, p.pairs, whole, at)
		} else {
			schema, p.forgiven = compiled.ExplainUpdate(d, p.root, whole, at)
		}
		found = append(append(found, schema...), scale(d, p.root, v.Scale, !p.r.Status)...)
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

// listErrors are the findings about sets and map lists. If the old object has any, those of the new one are forgiven, whatever they are.
func (p *pass) listErrors(compiled *plan.Plan, at plan.At) []violation.Violation {
	found := compiled.ExplainLists(p.d, p.root, at)
	if len(found) == 0 {
		return nil
	}
	room := violation.NewRoom(p.r.Limits)
	if old := compiled.ExplainLists(p.d, p.old.root, plan.At{Stop: p.stop, Room: room}); len(old) == 0 && room.Err() == nil {
		return found
	}
	p.forgiven = append(p.forgiven, found...)
	return nil
}

// updateErrors are the findings about the object's own metadata: those about any resource, and those of the strategy.
func (p *pass) updateErrors(room *violation.Room) (common, own []violation.Violation) {
	d := p.d
	meta, before := d.Field(p.root, "metadata"), d.Field(p.old.root, "metadata")
	if p.r.SkipMetadata {
		return nil, nil
	}
	m, errs := p.objectMeta(meta)
	old, oldErrs := p.objectMeta(before)
	if errs = append(errs, oldErrs...); len(errs) > 0 {
		return nil, p.aboutMetadata(errs[:1], room) // the first that is read wrong ends it
	}
	if p.r.Handler && !p.r.AsGiven {
		m.ManagedFields = nil // as on create
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
