package admission

import (
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/convert"
	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/value"
)

// convert converts the object to a version and coerces it to that version's schema. It does not default, and it rejects
// malformed metadata.
//
// Upstream: customresource_handler.go, schemaCoercingConverter.
func (p *pass) convert(target string, by convert.Converter) error {
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
		if err := p.rewrite(to, by); err != nil {
			return err
		}
	}
	p.of.Version = to.Name
	if p.own = nil; p.matches {
		p.own = to
	}
	changes := p.r.WantChanges
	p.r.WantChanges = changes && p.r.Target != ""
	_, rejected, err := p.shape(metadata.Options{})
	p.r.WantChanges = changes
	switch {
	case err != nil:
		return err
	case rejected != nil:
		return p.rejectedConversion(rejected.Error())
	}
	return nil
}

// renames reports whether a conversion changes only apiVersion.
func (d *Definition) renames() bool {
	return d.Conversion == nil || d.Conversion.Strategy != apiextensionsv1.WebhookConverter
}

// rewrite changes apiVersion, or calls the CRD's webhook.
func (p *pass) rewrite(to *Version, by convert.Converter) error {
	c := p.def.Conversion
	if p.def.renames() {
		convert.None(p.d, p.root, to.APIVersion)
		return nil
	}
	reply, err := convert.Webhook(p.ctx, by, convert.Request{
		CRD: p.def.Name, Kind: p.of.Kind, Webhook: c.Webhook, From: p.of.GroupVersion(), To: to.APIVersion,
		Object: p.d.AppendJSON(nil, p.root),
	})
	var unavailable *convert.Unavailable
	switch {
	case errors.As(err, &unavailable):
		return &Fault{Code: ConversionUnavailable, Text: err.Error(), Cause: err}
	case err != nil:
		return p.rejectedConversion(err.Error())
	}
	root, err := p.d.Parse(reply, value.Arena, value.Limits{MaxBytes: max(len(reply), 1)})
	if err != nil {
		return p.rejectedConversion(err.Error())
	}
	p.d.Replace(p.root, root)
	p.d.MarkDirty(p.root)
	return nil
}

// rejectedConversion returns the Fault for a conversion that an API server answers with an error.
func (p *pass) rejectedConversion(text string) error {
	return p.rejected(serverError(text))
}
