package admission

import (
	"cmp"
	"context"
	"fmt"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Prune coerces metadata and removes unknown fields, including those of embedded metadata. It keeps nulls and sets no
// defaults. The error is a *Fault.
func (d *Definition) Prune(ctx context.Context, r *Request) (Outcome, error) {
	return d.step(ctx, r, func(p *pass) error { return p.coerce(shaping{keepNulls: true}) })
}

// Default removes nulls of non-nullable fields, unless r.KeepNulls is set, and sets defaults. It does not prune and
// keeps metadata. The error is a *Fault.
func (d *Definition) Default(ctx context.Context, r *Request) (Outcome, error) {
	return d.step(ctx, r, func(p *pass) error {
		if p.matches() && !d.PreserveUnknown && !r.KeepNulls {
			if _, err := p.own.Plan.DropNulls(p.d, p.root, false); err != nil {
				return exceeded(err)
			}
		}
		return p.fill()
	})
}

// step does a single step to an object, for which it needs the schema of the object's version.
func (d *Definition) step(ctx context.Context, r *Request, do func(*pass) error) (Outcome, error) {
	return d.run(ctx, r, func(p *pass) error {
		p.source = fromCaller
		if err := p.readOther(); err != nil {
			return err
		}
		if p.out.Version == nil {
			return p.def.noVersion("the object's apiVersion", p.of.GroupVersion().String())
		}
		if err := do(p); err != nil {
			return err
		}
		p.object()
		return nil
	})
}

// Tree is an object while Request.Show has it.
type Tree struct {
	Doc  *tree.Doc
	Root uint32
	// Stop fires when the result is no longer needed. It may be nil.
	Stop *interrupt.Signal
}

// Read does to an object what API servers do to one from storage. The error is a *Fault.
//
// Upstream: customresource_handler.go, crdConversionRESTOptionsGetter: decode leniently, default, convert, coerce.
func (d *Definition) Read(ctx context.Context, r *Request) (Outcome, error) {
	if err := d.served(); err != nil {
		return Outcome{}, err
	}
	return d.run(ctx, r, (*pass).readStored)
}

func (p *pass) readStored() error {
	p.source = fromStorage
	if err := p.readOther(); err != nil {
		return err
	}
	v, accepts := p.plainRead(), p.acceptStored
	if p.r.Decoded && p.own != nil && p.own.Name == p.r.Target && len(p.completed) == 0 && !p.d.HasDuplicates(tree.Request) {
		v, accepts = p.own, p.acceptDecoded
	}
	if v != nil {
		if accepts(v) {
			p.present(v)
			return nil
		}
		if err := p.parse(); err != nil { // again, because the tree is in an undefined state
			return exceeded(err)
		}
	}
	if err := p.fromStore(p.r.Target); err != nil {
		return err
	}
	p.removeCompleted()
	p.present(p.own)
	return nil
}

// plainRead returns the version at which the fast path reads the object, or nil.
func (p *pass) plainRead() *Version {
	v := p.def.Find(cmp.Or(p.r.Target, p.of.Version))
	if !p.matches() || p.own == nil || v == nil || !p.def.equal(p.own, v) || p.r.Exact || p.r.WantChanges ||
		len(p.completed) > 0 || p.def.PreserveUnknown || p.d.HasDuplicates(tree.Request) {
		return nil
	}
	return v
}

// coerce is shape with a Fault for a rejection.
func (p *pass) coerce(o shaping) error {
	o.changes = p.r.WantChanges
	_, failed, err := p.shape(o)
	if err != nil || failed == nil {
		return err
	}
	return p.rejected(p.undecodable(&p.of, failed), failed.reasons...)
}

// fromStore decodes, defaults and converts a body that was read. An empty target is the object's own version.
func (p *pass) fromStore(target string) error {
	if err := p.coerce(shaping{Options: metadata.Options{Lenient: true}}); err != nil {
		return err
	}
	if err := p.fill(); err != nil {
		return err
	}
	return p.convert(cmp.Or(target, p.of.Version))
}

// Convert converts an object to the target version and coerces it to that version's schema. The error is a *Fault.
func (d *Definition) Convert(ctx context.Context, r *Request) (Outcome, error) {
	return d.run(ctx, r, func(p *pass) error {
		p.source, p.held = fromStorage, true
		if err := p.readOther(); err != nil {
			return err
		}
		if err := p.convert(r.Target); err != nil {
			return err
		}
		p.object()
		return nil
	})
}

// otherKind is the note about an object of another kind than the CRD's, cut to a readable length.
const otherKind = "API servers prune and default only objects of the CRD's kind %s, and this one is of kind %.100q"

// readOther reads a body that is not a write. An unreadable body is a Fault.
func (p *pass) readOther() error {
	if err := p.read(); err != nil {
		return err
	}
	if p.unread != nil {
		return p.rejected(p.unread, p.because...)
	}
	if want := p.r.Version; want != "" {
		v := p.def.Find(want)
		if v == nil {
			return p.def.noVersion("version", want)
		}
		if got := p.of.GroupVersion().String(); got != v.APIVersion {
			return p.rejected(otherVersion(got, v.APIVersion), p.otherVersionReason(v.APIVersion))
		}
	}
	if v := p.def.Find(p.of.Version); v != nil && p.of.Group == p.def.Group {
		p.out.Version = v
		p.warnDeprecated(v)
	}
	if p.of.Group == p.def.Group && !p.matches() { // upstream's coercer and defaulter return such objects as they are
		p.note(fmt.Sprintf(otherKind, p.def.Kind, p.of.Kind))
	}
	return nil
}
