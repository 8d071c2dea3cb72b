package admission

import (
	"context"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/value"
)

// SetScale sets the replicas of r.Old to those of the Scale in the body. It does no other step of a write. The error is
// a *Fault.
//
// Upstream: registry/customresource/etcd.go, scaleUpdatedObjectInfo.UpdatedObject.
func (d *Definition) SetScale(ctx context.Context, r *Request) (Outcome, error) {
	return d.run(ctx, r, func(p *pass) error {
		v := p.def.Find(p.r.Version)
		sent := p.decodeScale()
		if sent == nil {
			return nil
		}
		if err := fitsScale(sent); err != nil {
			return err
		}
		q := p.oldReader()
		if err := p.openOld(q); err != nil {
			return err
		}
		if q.d.Nodes[q.d.Field(q.root, "metadata")].Kind != value.Object {
			return ofOld(&Fault{Code: InvalidArgument, Text: "it has no metadata"})
		}
		p.root, p.old.root = q.root, q.root
		if err := metadata.Fits(p.d, p.d.Field(p.root, "metadata")); err != nil {
			return ofOld(exceeded(err))
		}
		p.addressAsOld(p.d, p.root)
		if p.checkScale(sent) || p.checkScaleUID(sent) {
			return nil
		}
		if _, _, err := v.Scale.View().Of(p.d, p.root); err != nil {
			p.out.Rejection = statusless(err.Error())
			return nil
		}
		if p.setReplicas(v, sent) {
			return nil
		}
		p.object()
		return nil
	})
}
