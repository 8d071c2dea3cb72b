package admission

import (
	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/program"
	"github.com/crdeval/crdeval/engine/value"
)

// accept goes the fast way. True: that settled the matter. False: the tree is half done.
func (p *pass) accept(v *Version) bool {
	if p.r.Exact || p.r.WantChanged || !p.matches || p.own != v || p.def.PreserveUnknown ||
		p.r.FieldValidation != Ignore && p.d.HasDuplicates(value.Request) {
		return false
	}
	d := p.d
	if meta := d.Field(p.root, "metadata"); meta != 0 {
		settled, changed := metadata.Settle(d, meta)
		if !settled {
			return false
		}
		if changed {
			d.MarkDirty(p.root, meta)
		}
		if p.r.Handler && !p.plainHandler(meta) {
			return false
		}
		if !p.r.SkipMetadata && !metadata.Plain(d, meta, metadata.Rules{Namespaced: p.def.Namespaced}) {
			return false
		}
	} else {
		return false
	}
	p.prepareMetadata()
	mode := program.Mode{Create: true, Limits: p.r.Limits, Stop: p.stop}
	if p.r.FieldValidation != Ignore || p.r.WantChanges {
		mode.Edits = p.edits
	}
	return v.Plan.Accept(d, p.root, mode) && p.cleanRules(v.Plan, 0) && p.acceptEdits(v, mode.Edits)
}

// acceptEdits does what remains when the plan accepts: unknown fields are told, the scale subresource judged. edits is nil if
// nobody asks for them.
func (p *pass) acceptEdits(v *Version, edits *program.Edits) bool {
	d := p.d
	unknown := p.r.FieldValidation != Ignore && edits.Any(program.Pruned)
	if unknown && p.r.FieldValidation == Strict || !plainScale(d, p.root, v.Scale) {
		return false
	}
	if unknown || p.r.WantChanges && len(edits.List) > 0 {
		pruned, defaulted := v.Plan.Changes(d, edits)
		if p.r.WantChanges {
			p.out.Pruned, p.out.Defaulted = p.changes(pruned), p.changes(defaulted)
		}
		if unknown {
			for _, c := range pruned {
				p.out.Strict = append(p.out.Strict, unknownField(c.Text))
			}
			p.strictly()
		}
	}
	p.warnFinalizers()
	p.object()
	return true
}

// plainHandler reports that the request handler has nothing to do about metadata that is settled.
func (p *pass) plainHandler(meta uint32) bool {
	d := p.d
	if p.r.Name != "" {
		if c := d.Field(meta, "name"); c == 0 || d.Str(c) != p.r.Name {
			return false
		}
	}
	if !metadata.DistinctOwners(d, d.Field(meta, "ownerReferences")) {
		return false
	}
	c := d.Field(meta, "namespace")
	if !p.def.Namespaced {
		return c == 0
	}
	return p.r.Namespace == "" || c != 0 && d.Str(c) == p.r.Namespace
}
