package admission

import (
	"encoding/json"

	"github.com/crdeval/crdeval/engine/value"
)

// metaString returns a string of metadata, or "". ok is false if the value is not a string.
func (p *pass) metaString(meta uint32, key string) (text string, ok bool) {
	if meta == 0 {
		return "", true
	}
	text, err := nestedString(p.d, meta, key)
	return text, err == nil
}

// remove removes a field of metadata.
func (p *pass) remove(meta uint32, key string) {
	if meta == 0 || p.d.Nodes[meta].Kind != value.Object {
		return
	}
	prev := uint32(0)
	for c := p.d.Nodes[meta].First; c != 0; c = p.d.Nodes[c].Next {
		if p.d.Key(c) == key {
			p.d.Remove(meta, prev, c)
			p.d.MarkDirty(p.root, meta)
			return
		}
		prev = c
	}
}

// set sets a field of metadata to a string.
func (p *pass) set(name, text string) {
	meta := p.metadata()
	quoted, _ := json.Marshal(text)                           // cannot fail for a string
	made, _ := p.d.Parse(quoted, value.Arena, value.Limits{}) // cannot fail for JSON
	p.put(meta, p.d.Field(meta, name), name, made)
}

// put replaces the field c of metadata by a node, or adds the node if c is 0.
func (p *pass) put(meta, c uint32, name string, made uint32) {
	if c != 0 {
		p.d.Replace(c, made)
	} else {
		p.d.SetKey(made, name)
		p.d.Append(meta, made)
	}
	p.d.MarkDirty(p.root, meta)
}

// metadata returns the node of the metadata. It adds metadata to an object without it.
func (p *pass) metadata() uint32 {
	d := p.d
	meta := d.Field(p.root, "metadata")
	if meta != 0 && d.Nodes[meta].Kind == value.Object {
		return meta
	}
	made, _ := d.Parse([]byte("{}"), value.Arena, value.Limits{}) // cannot fail for JSON
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
