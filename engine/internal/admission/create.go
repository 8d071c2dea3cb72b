package admission

import (
	"context"
	"fmt"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/value"
	"github.com/crdeval/crdeval/engine/violation"
)

// Create evaluates a create up to and including list types: all that an API server does but for the rules and for what only a
// server can do. The error is a *Fault.
func (d *Definition) Create(ctx context.Context, r *Request) (Outcome, error) {
	return d.run(ctx, r, (*pass).create)
}

func (p *pass) create() error {
	if err := p.read(); err != nil {
		return err
	}
	endpoint, err := p.endpoint()
	if err != nil || p.unread != nil && endpoint == nil {
		p.out.Refusal = p.unread
		return err
	}
	p.out.Version = endpoint
	p.out.Warnings = slices.Clip(endpoint.Warnings)
	switch {
	case p.unread != nil:
		p.out.Refusal = p.unread
		return nil
	case p.r.AsGiven:
		return p.judgeAsGiven(endpoint)
	}
	if p.accept(endpoint) {
		return nil
	}
	if err := expired(p.ctx); err != nil {
		return err
	}
	return p.explain(endpoint)
}

// endpoint resolves the request's version. An unreadable object to a request that names none has no endpoint, and no error.
func (p *pass) endpoint() (*Version, error) {
	switch {
	case p.r.Version != "":
		return p.def.endpoint("version", p.r.Version)
	case p.unread != nil:
		return nil, nil
	case p.of.Group != p.def.Group:
		return nil, p.def.noVersion("the object's apiVersion", p.of.GroupVersion().String())
	}
	return p.def.endpoint("the version in the object's apiVersion,", p.of.Version)
}

// explain goes the exact way: the separate steps in upstream's order, over the document parsed anew.
func (p *pass) explain(v *Version) error {
	p.out.Explained = true
	if err := p.parse(); err != nil {
		return internal(fmt.Errorf("a document was read once, but not twice: %w", err))
	}
	if err := metadata.Fits(p.d, p.d.Field(p.root, "metadata")); err != nil {
		return exceeded(err)
	}
	track := p.r.FieldValidation != Ignore
	if track {
		for duplicate := range p.d.Duplicates(value.Request) {
			p.out.Strict = append(p.out.Strict, duplicate.Text)
		}
	}
	unknown, refused, err := p.shape(metadata.Options{Track: track})
	switch {
	case err != nil:
		return err
	case refused != nil:
		p.out.Strict, p.out.Pruned = nil, nil
		p.out.Refusal = p.undecodable(&p.of, refused)
		return nil
	}
	if track {
		for _, f := range unknown {
			p.out.Strict = append(p.out.Strict, unknownField(f))
		}
	}
	if err := p.fill(); err != nil {
		return err
	}
	if p.strictly() {
		return nil
	}
	if got := p.of.GroupVersion().String(); got != v.APIVersion {
		text := fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", got, v.APIVersion)
		p.out.Refusal = badRequest(text, text)
		return nil
	}
	p.complete()
	if p.r.Handler && p.handle() {
		return nil
	}
	p.prepare(v)
	found, err := p.validate(v)
	if err != nil {
		return err
	}
	if err := p.answer(found); err != nil {
		return err
	}
	p.object()
	return nil
}

// answer makes findings the outcome, or adds the warnings of an object that has none. The error is a Fault: the time is over.
func (p *pass) answer(found []violation.Violation) error {
	if len(found) == 0 {
		p.warnFinalizers()
		return nil
	}
	name := ""
	if meta := p.d.Field(p.root, "metadata"); meta != 0 {
		name, _, _ = nestedString(p.d, meta, "name")
	}
	p.out.Refusal = invalid(p.of.GroupKind(), name, found, p.stop)
	p.finish(found)
	return expired(p.ctx)
}

// judgeAsGiven validates the tree as it was parsed.
func (p *pass) judgeAsGiven(v *Version) error {
	p.out.Explained = true
	if err := metadata.Fits(p.d, p.d.Field(p.root, "metadata")); err != nil {
		return exceeded(err)
	}
	if p.r.FieldValidation != Ignore {
		for duplicate := range p.d.Duplicates(value.Request) {
			p.out.Strict = append(p.out.Strict, duplicate.Text)
		}
		if p.strictly() {
			return nil
		}
	}
	p.complete()
	found, err := p.validate(v)
	if err != nil {
		return err
	}
	if err := p.answer(found); err != nil {
		return err
	}
	p.object()
	return nil
}
