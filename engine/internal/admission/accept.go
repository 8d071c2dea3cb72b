package admission

import (
	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/engine/value"
)

// accept evaluates a creation on the fast path. If it returns false, the tree is in an undefined state and the exact
// path must start over.
func (p *pass) accept(v *Version) bool {
	if !p.plainRequest(v) {
		return false
	}
	meta, normalized := p.normalized()
	if !normalized || p.r.Handler && !p.plainHandler(meta) {
		return false
	}
	p.generateName()
	if !p.r.SkipMetadata && !metadata.Plain(p.d, meta, p.metadataRules()) {
		return false
	}
	if p.r.Whole && p.r.Stage != StageFinish {
		p.wipe()
	}
	p.prepareMetadata()
	d, mode := p.d, p.acceptMode()
	mode.Create = true
	return v.Plan.Accept(d, p.root, mode) && p.cleanRules(v.Plan, 0) && p.acceptEdits(v, mode.Edits)
}

// plainRequest reports whether the request and the type of the object allow the fast path.
func (p *pass) plainRequest(v *Version) bool {
	return !p.r.Exact && !p.closed() && p.r.Trace != rule.TraceAll && !p.r.WantChanged && p.matches && p.own == v &&
		!p.def.PreserveUnknown &&
		(p.r.FieldValidation == Ignore || !p.d.HasDuplicates(value.Request))
}

// normalized coerces the object's metadata. If ok is false, only the exact path can do that.
func (p *pass) normalized() (meta uint32, normalized bool) {
	if meta = p.d.Field(p.root, "metadata"); meta == 0 {
		return 0, false
	}
	normalized, changed := metadata.Normalize(p.d, meta)
	if changed {
		p.d.MarkDirty(p.root, meta)
	}
	return meta, normalized && (!changed || p.r.Stage != StageFinish)
}

func (p *pass) metadataRules() metadata.Rules { return metadata.Rules{Namespaced: p.def.Namespaced} }

// acceptMode returns the mode of every accept walk.
func (p *pass) acceptMode() plan.Mode {
	mode := plan.Mode{Limits: p.r.Limits, Stop: p.stop, Decoded: p.r.Stage == StageFinish}
	if p.r.FieldValidation != Ignore || p.r.WantChanges {
		mode.Edits = p.edits
	}
	return mode
}

// acceptEdits reports unknown fields and checks the scale subresource after the plan accepted the object.
func (p *pass) acceptEdits(v *Version, edits *plan.Edits) bool {
	if !plainScale(p.d, p.root, v.Scale) || !p.reportEdits(v, edits) {
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
			for _, c := range pruned {
				p.out.Strict = append(p.out.Strict, unknownField(c.Text))
			}
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
