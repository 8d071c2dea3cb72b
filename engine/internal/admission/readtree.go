package admission

import (
	"context"

	"github.com/crdeval/crdeval/engine/internal/convert"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/value"
)

// Tree is an object while ReadTree or Request.Show passes it to a callback.
type Tree struct {
	Doc  *value.Doc
	Root uint32
	// Stop fires when the result is no longer needed. It may be nil.
	Stop *interrupt.Signal
}

// ReadTree is Read with a callback instead of printed JSON. The tree is invalid after show returns. An error of show is
// returned unchanged.
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
