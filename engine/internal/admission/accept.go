package admission

import (
	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/rules"
)

// accept evaluates a write on the fast path. If it returns false, the trees are in an undefined state and the exact
// path must start over.
func (p *pass) accept(v *Version) bool {
	decode, create := p.r.Stage == StageDecode, p.r.Old == nil
	if !p.plainRequest(v) || decode && (p.r.Patched || p.r.CompleteMetadata) {
		return false
	}
	meta, normalized := p.normalized()
	if !normalized || p.r.Handler && !p.plainHandler(meta) || !create && (!p.plainOld(v) || !p.plainPreconditions(meta)) {
		return false
	}
	if create && p.r.Whole && p.r.Stage != StageFinish {
		p.wipe()
	}
	mode := p.acceptMode()
	switch {
	case decode:
		return v.Plan.AcceptDecoded(p.d, p.root, mode) && p.reportEdits(v, mode.Edits)
	case create:
		return p.acceptCreate(v, meta, mode)
	case p.r.Status:
		return p.acceptStatus(v, mode)
	}
	return p.acceptUpdate(v, meta, mode)
}

// acceptCreate evaluates a creation on the fast path.
func (p *pass) acceptCreate(v *Version, meta uint32, mode plan.Mode) bool {
	p.generateName()
	if !p.r.SkipMetadata && !metadata.Plain(p.d, meta, p.metadataRules()) {
		return false
	}
	p.setGeneration(1)
	mode.Create = true
	return v.Plan.Accept(p.d, p.root, mode) && p.acceptRules(v, mode)
}

// plainRequest reports whether the request and the type of the object allow the fast path.
func (p *pass) plainRequest(v *Version) bool {
	return !p.r.Exact && !p.closed() && p.r.Trace != rules.TraceAll && (!p.r.WantChanged || !p.r.WantChanges) &&
		p.matches() && p.own == v && !p.def.PreserveUnknown &&
		(p.r.FieldValidation == Ignore || !p.d.HasDuplicates(tree.Request))
}

// normalized coerces the object's metadata. If normalized is false, only the exact path can do that.
func (p *pass) normalized() (meta uint32, normalized bool) {
	meta = p.d.Field(p.root, "metadata")
	normalized, changed := metadata.Normalize(p.d, meta)
	if changed {
		p.d.MarkDirty(p.root, meta)
	}
	return meta, normalized && (!changed || p.r.Stage != StageFinish)
}

func (p *pass) metadataRules() metadata.Rules { return metadata.Rules{Namespaced: p.def.Namespaced} }

// acceptMode returns the mode of every accept walk.
func (p *pass) acceptMode() plan.Mode {
	mode := plan.Mode{Limits: p.r.Limits, Stop: p.stop, Decoded: p.r.Stage == StageFinish, Defaulted: p.r.Defaulted}
	if p.r.FieldValidation != Ignore || p.r.WantChanges {
		mode.Edits = &p.edits
	}
	return mode
}

// acceptRules checks rules and the scale subresource after the plan accepted the object. It reports unknown fields.
func (p *pass) acceptRules(v *Version, mode plan.Mode) bool {
	if p.old.root != 0 {
		p.pairs.Init(p.d, p.stop)
	}
	if !p.cleanRules(v.Plan) || len(v.Scale.violations(p.d, p.root, !p.r.Status)) > 0 || !p.reportEdits(v, mode.Edits) {
		return false
	}
	p.warnFinalizers()
	return true
}

// reportEdits reports what accept changed. It returns false if the request is rejected for it.
func (p *pass) reportEdits(v *Version, edits *plan.Edits) bool {
	d := p.d
	unknown := p.r.FieldValidation != Ignore && edits.Any(plan.Pruned)
	if unknown && p.r.FieldValidation == Strict {
		return false
	}
	if unknown || p.r.WantChanges && len(edits.List) > 0 {
		pruned, defaulted := v.Plan.Changes(d, edits)
		if p.r.WantChanges {
			p.out.Pruned, p.out.Defaulted = p.changes(pruned), p.changes(defaulted)
		}
		if unknown {
			p.addUnknown(pruned)
			p.reportStrict()
		}
	}
	return true
}

// plainHandler reports whether the request handler has nothing to do about normalized metadata.
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

// plainOld reads the old object at the request's version in one pass. It returns false if that is not possible.
func (p *pass) plainOld(v *Version) bool {
	d, q := p.d, p.oldReader()
	if q.parse() != nil || d.HasDuplicates(tree.Old) || !q.typeMeta() || q.own == nil ||
		!p.def.equal(q.own, v) {
		return false
	}
	p.old.root, p.old.converted = q.root, q.own != v
	if !q.acceptStored(v) || p.r.OldDecoded && (q.own != v || d.Nodes[q.root].Flags&tree.Dirty != 0) {
		return false
	}
	meta := d.Field(q.root, "metadata")
	for _, part := range [...]struct{ key, want string }{{"name", p.r.Name}, {"namespace", p.r.Namespace}} {
		if c := d.Field(meta, part.key); part.want != "" && (c == 0 || d.Str(c) != part.want) {
			return false
		}
	}
	return true
}

// acceptDecoded reads the parsed object as one that was read from storage before.
func (p *pass) acceptDecoded(*Version) bool {
	_, normalized := p.normalized()
	return normalized
}

// acceptStored reads the parsed object as one from storage, and converts it to a version.
func (p *pass) acceptStored(v *Version) bool {
	meta, normalized := p.normalized()
	if !normalized {
		return false
	}
	if p.d.Field(meta, "generation") == 0 {
		p.setGeneration(1) // upstream repairs it
	}
	mode := plan.Mode{Limits: p.r.Limits, Stop: p.stop}
	return p.own.Plan.AcceptStored(p.d, p.root, mode) && (p.own == v || p.convertFast(v, mode))
}

// acceptUpdate evaluates an update of the whole object on the fast path. An object that is valid by itself is compared
// with the old one only for metadata and rules.
func (p *pass) acceptUpdate(v *Version, meta uint32, mode plan.Mode) bool {
	if !p.plainUpdate(meta) {
		return false
	}
	p.prepareUpdateMetadata()
	mode.Update = true
	if v.HasStatus {
		mode.Kept = p.d.Field(p.old.root, "status")
	}
	if !v.Plan.Accept(p.d, p.root, mode) {
		return false
	}
	// Rules of the root may compare the metadata of both objects, including the generation.
	p.prepareUpdateGeneration(!p.storing && !p.r.WantObject && v.Plan.Root.Rules == nil || p.sameContent())
	return p.acceptRules(v, mode)
}

// acceptStatus evaluates an update of the status on the fast path. It shapes the whole request body to report unknown
// fields.
func (p *pass) acceptStatus(v *Version, mode plan.Mode) bool {
	mode.StatusOnly = true
	if !v.Plan.Accept(p.d, p.root, mode) {
		return false
	}
	p.prepareStatus()
	return p.plainUpdate(p.d.Field(p.root, "metadata")) && p.acceptRules(v, mode)
}

func (p *pass) plainUpdate(meta uint32) bool {
	return p.r.SkipMetadata ||
		metadata.PlainUpdate(p.d, meta, p.d.Field(p.old.root, "metadata"), p.metadataRules())
}
