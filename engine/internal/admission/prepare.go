package admission

import (
	"slices"

	"github.com/crdeval/crdeval/engine/value"
)

// prepare changes the object as the strategy does before validation.
//
// Upstream: registry/customresource/strategy.go, PrepareForCreate.
func (p *pass) prepare(v *Version) {
	if v.HasStatus {
		prev := uint32(0)
		for c := p.d.Nodes[p.root].First; c != 0; c = p.d.Nodes[c].Next {
			if p.d.Key(c) == "status" {
				p.d.Remove(p.root, prev, c)
				p.out.Defaulted = slices.DeleteFunc(p.out.Defaulted,
					func(c Change) bool { return len(c.Path) > 0 && c.Path[0] == value.Name("status") })
				break
			}
			prev = c
		}
	}
	p.prepareMetadata()
}

// prepareMetadata sets metadata.generation to 1. It does not allocate.
func (p *pass) prepareMetadata() {
	d := p.d
	meta := p.metadata()
	c := d.Field(meta, "generation")
	if c != 0 && d.Nodes[c].Kind == value.Int && d.Int(c) == 1 {
		return
	}
	off := uint32(len(d.Src[value.Arena]))
	d.Src[value.Arena] = append(d.Src[value.Arena], '1')
	made := uint32(len(d.Nodes))
	d.Nodes = append(d.Nodes, value.Node{Kind: value.Int, Src: value.Arena, Off: off, End: off + 1, Val: 1})
	p.put(meta, c, "generation", made)
}
