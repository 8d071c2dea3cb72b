package admission

import (
	"context"
	"fmt"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/convert"
	"github.com/crdeval/crdeval/engine/internal/metadata"
)

// Prune coerces metadata and removes unknown fields, including those of embedded metadata. It keeps nulls and sets no
// defaults. The error is a *Fault.
func (d *Definition) Prune(ctx context.Context, r *Request) (Outcome, error) {
	return d.run(ctx, r, func(p *pass) error {
		if err := p.readKnown(); err != nil {
			return err
		}
		if err := p.prune(); err != nil {
			return err
		}
		p.object()
		return nil
	})
}

// Default removes nulls of non-nullable fields and sets defaults. It does not prune and keeps metadata. The error is a
// *Fault.
func (d *Definition) Default(ctx context.Context, r *Request) (Outcome, error) {
	return d.run(ctx, r, func(p *pass) error {
		if err := p.readKnown(); err != nil {
			return err
		}
		if p.matches && !d.PreserveUnknown {
			p.own.Plan.DropNulls(p.d, p.root)
		}
		if err := p.fill(); err != nil {
			return err
		}
		p.object()
		return nil
	})
}

// Read does to an object what API servers do to one from storage. The error is a *Fault.
//
// Upstream: customresource_handler.go, crdConversionRESTOptionsGetter: decode leniently, default, convert, coerce.
func (d *Definition) Read(ctx context.Context, r *Request, by convert.Converter) (Outcome, error) {
	if err := d.served(); err != nil {
		return Outcome{}, err
	}
	return d.run(ctx, r, func(p *pass) error {
		p.source = fromStorage
		if err := p.readOther(); err != nil {
			return err
		}
		if err := p.fromStore(r.Target, by); err != nil {
			return err
		}
		p.present(p.own)
		return nil
	})
}

// fromStore decodes, defaults and converts a body that was read. An empty target is the object's own version.
func (p *pass) fromStore(target string, by convert.Converter) error {
	_, rejected, err := p.shape(metadata.Options{Lenient: true})
	switch {
	case err != nil:
		return err
	case rejected != nil:
		return p.rejected(p.undecodable(&p.of, rejected))
	}
	if err := p.fill(); err != nil {
		return err
	}
	if target == "" {
		target = p.of.Version
	}
	return p.convert(target, by)
}

// Convert converts an object to the target version and coerces it to that version's schema. The error is a *Fault.
func (d *Definition) Convert(ctx context.Context, r *Request, by convert.Converter) (Outcome, error) {
	return d.run(ctx, r, func(p *pass) error {
		p.source, p.held = fromStorage, true
		if err := p.readOther(); err != nil {
			return err
		}
		if err := p.convert(r.Target, by); err != nil {
			return err
		}
		p.object()
		return nil
	})
}

// readOther reads a body that is not a write. An unreadable body is a Fault.
func (p *pass) readOther() error {
	if err := p.read(); err != nil {
		return err
	}
	if p.unread != nil {
		return p.rejected(p.unread)
	}
	if want := p.r.Version; want != "" {
		v := p.def.Find(want)
		if v == nil {
			return p.def.noVersion("version", want)
		}
		if got := p.of.GroupVersion().String(); got != v.APIVersion {
			text := fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", got,
				v.APIVersion)
			return p.rejected(badRequest(text, text))
		}
	}
	if v := p.def.Find(p.of.Version); v != nil && p.of.Group == p.def.Group {
		p.out.Version = v
		p.out.Warnings = slices.Clip(v.Warnings)
	}
	return nil
}

// readKnown is readOther for calls that need the schema of the object's version.
func (p *pass) readKnown() error {
	p.source = fromCaller
	if err := p.readOther(); err != nil {
		return err
	}
	if p.out.Version == nil {
		return p.def.noVersion("the object's apiVersion", p.of.GroupVersion().String())
	}
	return nil
}

func (p *pass) rejected(r *Rejection) error {
	return &Fault{Code: ObjectRejected, Text: r.Message, Rejection: r}
}
