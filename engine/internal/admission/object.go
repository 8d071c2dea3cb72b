package admission

import (
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// finish sets the positions of violations, which do not depend on the Doc afterwards.
func (p *pass) finish(found []violation.Violation) []violation.Violation {
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

// room is the usual growth of a printed object: metadata.generation and some defaults.
const room = 128

// object prints the object and compares it with the body, as far as the request asks for it.
func (p *pass) object() {
	flags := p.d.Nodes[p.root].Flags
	if p.r.WantChanged {
		p.out.Changed = flags&value.Lossy != 0 || flags&value.Dirty != 0 && !p.asSent()
	}
	if !p.r.WantObject {
		return
	}
	if flags&(value.Dirty|value.Lossy) == 0 && p.r.Buffer == nil {
		p.out.Object = p.d.Raw(p.root)
		return
	}
	buffer := p.r.Buffer
	if buffer == nil {
		buffer = make([]byte, 0, len(p.json)+len(p.json)/8+room)
	}
	p.out.Object = p.d.AppendJSON(buffer, p.root)
}

// present prints the object and passes it to Request.Show.
func (p *pass) present(v *Version) {
	p.object()
	if p.r.Show != nil && v != nil {
		p.r.Show(v, Tree{p.d, p.root, p.stop})
	}
}

// asSent compares the tree with the body, since edits can cancel each other out.
func (p *pass) asSent() bool {
	original := value.Acquire()
	defer original.Release()
	root, err := original.Parse(p.json, value.Request, value.Limits{MaxBytes: len(p.json)})
	return err == nil && value.Equal(p.d, p.root, original, root)
}
