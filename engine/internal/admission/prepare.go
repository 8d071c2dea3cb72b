package admission

import (
	"encoding/json"
	"slices"

	"github.com/crdeval/crdeval/engine/value"
)

// prepare is what the strategy does before it validates.
//
// Upstream: registry/customresource/strategy.go, PrepareForCreate.
func (p *pass) prepare(v *Version) {
	if v.HasStatus {
		prev := uint32(0)
		for c := p.d.Nodes[p.root].First; c != 0; c = p.d.Nodes[c].Next {
			if p.d.Key(c) == "status" {
				p.d.Remove(p.root, prev, c)
				p.out.Defaulted = slices.DeleteFunc(p.out.Defaulted, func(c Change) bool { return len(c.Path) > 0 && c.Path[0] == value.Name("status") })
				break
			}
			prev = c
		}
	}
	p.prepareMetadata()
}

// prepareMetadata sets metadata.generation to 1. It allocates nothing.
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

// set puts a member of metadata to a text.
func (p *pass) set(name, text string) {
	meta := p.metadata()
	quoted, _ := json.Marshal(text)                           // a string has a JSON text
	made, _ := p.d.Parse(quoted, value.Arena, value.Limits{}) // which is JSON
	p.put(meta, p.d.Field(meta, name), name, made)
}

// put puts a node in the place of the member c of metadata, or adds it if that is 0.
func (p *pass) put(meta, c uint32, name string, made uint32) {
	if c != 0 {
		p.d.Replace(c, made)
	} else {
		p.d.SetKey(made, name)
		p.d.Append(meta, made)
	}
	p.d.MarkDirty(p.root, meta)
}

// metadata is the node of the metadata, made if there is none.
func (p *pass) metadata() uint32 {
	d := p.d
	meta := d.Field(p.root, "metadata")
	if meta != 0 && d.Nodes[meta].Kind == value.Object {
		return meta
	}
	made, _ := d.Parse([]byte("{}"), value.Arena, value.Limits{}) // it is JSON
	if meta != 0 {
		d.Replace(meta, made)
	} else {
		meta = made
		d.SetKey(meta, "metadata")
		d.Append(p.root, meta)
	}
	d.MarkDirty(p.root)
	return meta
}
