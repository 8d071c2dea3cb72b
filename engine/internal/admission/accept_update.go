package admission

import (
	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/value"
)

// acceptUpdate evaluates an update on the fast path. An object that is valid by itself is compared with the old one
// only for metadata and rules. If it returns false, the trees are in an undefined state.
func (p *pass) acceptUpdate(v *Version) bool {
	if !p.plainRequest(v) {
		return false
	}
	meta, normalized := p.normalized()
	if !normalized || p.r.Handler && !p.plainHandler(meta) || !p.plainOld(v) || !p.plainPreconditions(meta) {
		return false
	}
	if p.r.Status {
		return p.acceptStatus(v)
	}
	return p.acceptObject(v, meta)
}

// plainOld reads the old object at the request's version in one pass. It returns false if that is not possible.
func (p *pass) plainOld(v *Version) bool {
	d, q := p.d, p.oldReader()
	if q.parse() != nil || d.HasDuplicates(value.Old) || !q.typeMeta() || q.own == nil ||
		q.own != v && !p.def.renames() {
		return false
	}
	meta, normalized := q.normalized()
	if !normalized {
		return false
	}
	for _, part := range [...]struct{ key, want string }{{"name", p.r.Name}, {"namespace", p.r.Namespace}} {
		if c := d.Field(meta, part.key); part.want != "" && (c == 0 || d.Str(c) != part.want) {
			return false
		}
	}
	if d.Field(meta, "generation") == 0 {
		q.prepareMetadata() // upstream repairs it
	}
	p.old.root, p.old.converted = q.root, q.own != v
	mode := plan.Mode{Limits: p.r.Limits, Stop: p.stop}
	return q.own.Plan.AcceptStored(d, q.root, mode) && (q.own == v || p.convertFast(q.root, v, mode))
}

// acceptObject evaluates an update of the whole object on the fast path.
func (p *pass) acceptObject(v *Version, meta uint32) bool {
	d := p.d
	if !p.r.SkipMetadata && !metadata.PlainUpdate(d, meta, d.Field(p.old.root, "metadata"), p.metadataRules()) {
		return false
	}
	p.prepareUpdateMetadata()
	mode := p.acceptMode()
	mode.Update = true
	if v.HasStatus {
		mode.Kept = d.Field(p.old.root, "status")
	}
	if !v.Plan.Accept(d, p.root, mode) {
		return false
	}
	// Rules of the root may compare the metadata of both objects, including the generation.
	if (p.r.WantObject || v.Plan.Root.Rules != nil) && !p.sameContent() {
		p.countUp(d.Field(p.old.root, "metadata"))
	}
	return p.cleanUpdate(v) && p.acceptEdits(v, mode.Edits)
}

// acceptStatus evaluates an update of the status on the fast path. It shapes the whole request body to report unknown
// fields.
func (p *pass) acceptStatus(v *Version) bool {
	d, mode := p.d, p.acceptMode()
	mode.StatusOnly = true
	if !v.Plan.Accept(d, p.root, mode) {
		return false
	}
	p.prepareStatus()
	meta := d.Field(p.root, "metadata")
	// The members of these two are copies without slots, so they are found by name.
	d.Nodes[p.root].Flags &^= value.Slotted
	d.Nodes[meta].Flags &^= value.Slotted
	if !p.r.SkipMetadata && !metadata.PlainUpdate(d, meta, d.Field(p.old.root, "metadata"), p.metadataRules()) {
		return false
	}
	return p.cleanUpdate(v) && p.acceptEdits(v, mode.Edits)
}

// cleanUpdate reports whether all rules hold, including those that use oldSelf.
func (p *pass) cleanUpdate(v *Version) bool {
	p.pairs.Init(p.d, p.stop)
	return p.cleanRules(v.Plan, p.old.root)
}
