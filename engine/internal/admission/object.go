package admission

import (
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// locate sets the positions of violations, which do not depend on the Doc afterwards.
func (p *pass) locate(found []violation.Violation) []violation.Violation {
	if len(found) == 0 {
		return nil
	}
	for i := range found {
		if i%64 == 63 && p.stop.Stopped() {
			break // the caller checks for the deadline
		}
		v := &found[i]
		if !p.old.has(v.Node) || len(v.Path) == 0 {
			v.Position = v.Locate(p.d)
		}
		v.Node = 0
	}
	return found
}

// grown returns an empty buffer for printing an object that was parsed from the text. Objects usually grow by
// metadata.generation and some defaults.
func grown(text []byte) []byte { return make([]byte, 0, len(text)+len(text)/8+128) }

// printed prints the object.
func (p *pass) printed() []byte { return p.d.AppendJSON(grown(p.json), p.root) }

// object prints the object and compares it with the body, as far as the request asks for it.
func (p *pass) object() {
	if !p.r.WantObject && !p.r.WantChanged {
		return
	}
	object := p.d.Raw(p.root)
	if p.d.Nodes[p.root].Flags&(value.Dirty|value.Lossy) != 0 {
		object = p.printed()
		p.out.Changed = p.r.WantChanged && !sameJSON(p.json, object)
	}
	if p.r.WantObject {
		p.out.Object = object
	}
}

// present prints the object and passes it to Request.Show.
func (p *pass) present(v *Version) {
	p.object()
	if p.r.Show != nil {
		p.r.Show(v, Tree{p.d, p.root, p.stop})
	}
}
