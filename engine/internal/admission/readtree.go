package admission

import (
	"context"

	"github.com/crdeval/crdeval/engine/internal/convert"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/internal/value"
)

// Tree is an object as it was read, for as long as it is shown.
type Tree struct {
	Doc  *value.Doc
	Root uint32
	// Stop says when nobody waits for an answer any more; it may be nil.
	Stop *interrupt.Signal
}

// ReadTree is Read, but shows the tree instead of printing it. Nothing of the tree may be used after show returned; an error of show is returned as it is.
func (d *Definition) ReadTree(ctx context.Context, r *Request, by convert.Converter, show func(Tree) error) error {
	var shown error
	_, err := d.run(ctx, r, func(p *pass) error {
		p.source = fromStorage
		if err := p.readOther(); err != nil {
			return err
		}
		if err := p.fromStore(r.Target, by); err != nil {
			return err
		}
		shown = show(Tree{p.d, p.root, p.stop})
		return nil
	})
	if err != nil {
		return err
	}
	return shown
}
