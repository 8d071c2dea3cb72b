package admission

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/convert"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/value"
)

// Prune coerces metadata and removes unknown fields, including those of embedded metadata. It keeps nulls and sets no
// defaults. The error is a *Fault.
func (d *Definition) Prune(ctx context.Context, r *Request) (Outcome, error) {
	return d.run(ctx, r, nil, func(p *pass) error {
		if err := p.readKnown(); err != nil {
			return err
		}
		if err := p.coerce(metadata.Options{}, true); err != nil {
			return err
		}
		p.object()
		return nil
	})
}

// Default removes nulls of non-nullable fields and sets defaults. It does not prune and keeps metadata. The error is a
// *Fault.
func (d *Definition) Default(ctx context.Context, r *Request) (Outcome, error) {
	return d.run(ctx, r, nil, func(p *pass) error {
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

// Tree is an object while Request.Show has it.
type Tree struct {
	Doc  *value.Doc
	Root uint32
	// Stop fires when the result is no longer needed. It may be nil.
	Stop *interrupt.Signal
}

// Read does to an object what API servers do to one from storage. The error is a *Fault.
//
// Upstream: customresource_handler.go, crdConversionRESTOptionsGetter: decode leniently, default, convert, coerce.
func (d *Definition) Read(ctx context.Context, r *Request, by convert.Converter) (Outcome, error) {
	if err := d.served(); err != nil {
		return Outcome{}, err
	}
	return d.run(ctx, r, by, (*pass).readStored)
}

func (p *pass) readStored() error {
	p.source = fromStorage
	if err := p.readOther(); err != nil {
		return err
	}
	if err := p.fromStore(p.r.Target); err != nil {
		return err
	}
	p.removeCompleted()
	p.present(p.own)
	return nil
}

// coerce is shape with a Fault for a rejection.
func (p *pass) coerce(o metadata.Options, keepNulls bool) error {
	_, cause, err := p.shape(o, keepNulls)
	if err != nil || cause == nil {
		return err
	}
	return rejected(p.undecodable(&p.of, cause))
}

// fromStore decodes, defaults and converts a body that was read. An empty target is the object's own version.
func (p *pass) fromStore(target string) error {
	if err := p.coerce(metadata.Options{Lenient: true}, false); err != nil {
		return err
	}
	if err := p.fill(); err != nil {
		return err
	}
	return p.convert(cmp.Or(target, p.of.Version))
}

// Convert converts an object to the target version and coerces it to that version's schema. The error is a *Fault.
func (d *Definition) Convert(ctx context.Context, r *Request, by convert.Converter) (Outcome, error) {
	return d.run(ctx, r, by, func(p *pass) error {
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

// readOther reads a body that is not a write. An unreadable body is a Fault.
func (p *pass) readOther() error {
	if err := p.read(); err != nil {
		return err
	}
	if p.unread != nil {
		return rejected(p.unread)
	}
	if want := p.r.Version; want != "" {
		v := p.def.Find(want)
		if v == nil {
			return p.def.noVersion("version", want)
		}
		if got := p.of.GroupVersion().String(); got != v.APIVersion {
			return rejected(otherVersion(got, v.APIVersion))
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

func rejected(r *Rejection) error {
	return &Fault{Code: ObjectRejected, Text: r.Message, Rejection: r}
}

// convert converts the object to a version and coerces it to that version's schema. It does not default, and it rejects
// malformed metadata.
//
// Upstream: customresource_handler.go, schemaCoercingConverter.
func (p *pass) convert(target string) error {
	to := p.def.Find(target)
	switch {
	case p.of.Group != p.def.Group:
		return &Fault{Code: VersionNotFound, Text: fmt.Sprintf(
			"%v is unstructured and is not suitable for converting to %q", p.of.String(), p.def.Group+"/"+target)}
	case to == nil:
		return &Fault{Code: VersionNotFound, Text: fmt.Sprintf(
			"request to convert CR to an invalid group/version: %s/%s", p.def.Group, target)}
	case p.def.Find(p.of.Version) == nil:
		return &Fault{Code: VersionNotFound, Text: "request to convert CR from an invalid group/version: " +
			p.of.GroupVersion().String()}
	}
	if to.Name != p.of.Version {
		if err := p.rewrite(to); err != nil {
			return err
		}
	}
	p.of.Version = to.Name
	if p.own = nil; p.matches {
		p.own = to
	}
	changes := p.r.WantChanges
	p.r.WantChanges = changes && p.r.Target != ""
	_, cause, err := p.shape(metadata.Options{}, false)
	p.r.WantChanges = changes
	switch {
	case err != nil:
		return err
	case cause != nil:
		return rejected(serverError(cause.Error()))
	}
	return nil
}

// renames reports whether a conversion changes only apiVersion.
func (d *Definition) renames() bool {
	return d.Conversion == nil || d.Conversion.Strategy != apiextensionsv1.WebhookConverter
}

// rewrite changes apiVersion, or calls the CRD's webhook.
func (p *pass) rewrite(to *Version) error {
	c := p.def.Conversion
	if p.def.renames() {
		p.put(p.root, "apiVersion", p.plainText(to.APIVersion))
		return nil
	}
	reply, err := convert.Webhook(p.ctx, p.by, convert.Request{
		CRD: p.def.Name, Kind: p.of.Kind, Webhook: c.Webhook, From: p.of.GroupVersion(), To: to.APIVersion,
		Object: p.d.AppendJSON(nil, p.root),
	})
	var unavailable *convert.Unavailable
	switch {
	case errors.As(err, &unavailable):
		return &Fault{Code: ConversionUnavailable, Text: err.Error(), Cause: err}
	case err != nil:
		return rejected(serverError(err.Error()))
	}
	root, err := p.d.Parse(reply, value.Arena, value.Limits{MaxBytes: max(len(reply), 1)})
	if err != nil {
		return rejected(serverError(err.Error()))
	}
	p.d.Replace(p.root, root)
	p.d.MarkDirty(p.root)
	return nil
}
