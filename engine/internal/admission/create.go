package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// Create evaluates a creation up to the storage. The error is a *Fault.
func (d *Definition) Create(ctx context.Context, r *Request) (Outcome, error) {
	return d.run(ctx, r, (*pass).create)
}

func (p *pass) create() error {
	endpoint, err := p.address()
	switch {
	case err != nil || p.out.Rejection != nil:
		return err
	case p.r.AsGiven:
		return p.judgeAsGiven(endpoint)
	case p.r.Stage == StageFinish:
		return p.resume(endpoint)
	case p.r.Stage == StageDecode && p.acceptDecoded(endpoint):
		return p.decoded()
	case p.r.Stage == StageWhole && p.accept(endpoint):
		return p.respond(endpoint)
	}
	if err := expired(p.ctx); err != nil {
		return err
	}
	return p.explain(endpoint)
}

// address reads the body and finds the endpoint. It rejects a body that cannot be read, and a subresource that the
// version does not have. The warnings of the version are part of every answer.
func (p *pass) address() (*Version, error) {
	if err := p.read(); err != nil {
		return nil, err
	}
	v, err := p.endpoint()
	if err == nil && p.unserved() {
		p.out.Version = v
		return v, nil
	}
	if err != nil || v == nil {
		p.out.Rejection = p.unread
		return nil, err
	}
	p.out.Version, p.out.Warnings = v, slices.Clip(v.Warnings)
	if p.r.Status && !v.HasStatus {
		name := p.r.Name
		if name == "" && p.unread == nil {
			name, _ = p.metaString(p.d.Field(p.root, "metadata"), "name")
			name = strings.Clone(name)
		}
		p.out.Rejection = p.def.notFound(name)
		return v, nil
	}
	p.out.Rejection = p.unread
	return v, nil
}

// endpoint returns the version of the request. It returns nil for an unreadable object if the request names no version.
func (p *pass) endpoint() (*Version, error) {
	switch {
	case p.r.Version != "":
		return p.def.endpoint("version", p.r.Version)
	case p.unread != nil:
		return nil, nil
	case p.of.Group != p.def.Group:
		return nil, p.def.noVersion("the object's apiVersion", p.of.GroupVersion().String())
	}
	return p.def.endpoint("the object's version", p.of.Version)
}

// explain evaluates a creation on the exact path: upstream's steps in upstream's order, on a newly parsed document.
func (p *pass) explain(v *Version) error {
	if rejected, err := p.decode(v); rejected || err != nil {
		return err
	}
	p.complete()
	if p.r.Handler && p.handle() || p.forbidden() {
		return nil
	}
	if p.r.Stage == StageDecode {
		return p.decoded()
	}
	p.generateName()
	p.prepare(v)
	return p.judge(v, p.validate)
}

// decode does what the request handler does with the body on the exact path.
func (p *pass) decode(v *Version) (rejected bool, err error) {
	p.out.Explained = true
	if err := p.parse(); err != nil {
		return false, internal(fmt.Errorf("a document was read once, but not twice: %w", err))
	}
	if err := metadata.Fits(p.d, p.d.Field(p.root, "metadata")); err != nil {
		return false, exceeded(err)
	}
	track := p.r.FieldValidation != Ignore
	if p.patching != nil {
		p.out.Strict = slices.Clip(p.patching.unknown)
	}
	if track {
		for duplicate := range p.d.Duplicates(value.Request) {
			p.out.Strict = append(p.out.Strict, duplicate.Text)
		}
	}
	unknown, cause, err := p.shape(metadata.Options{Track: track})
	switch {
	case err != nil:
		return false, err
	case cause != nil:
		p.out.Strict, p.out.Pruned = nil, nil
		p.out.Rejection = p.undecodable(&p.of, cause)
		return true, nil
	}
	if track {
		for _, f := range unknown {
			p.out.Strict = append(p.out.Strict, unknownField(f))
		}
	}
	if err := p.fill(); err != nil {
		return false, err
	}
	if p.reportStrict() {
		return true, nil
	}
	if got := p.of.GroupVersion().String(); got != v.APIVersion && !p.r.Patched {
		text := fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", got,
			v.APIVersion)
		p.out.Rejection = badRequest(text, text)
		return true, nil
	}
	return false, nil
}

// judge validates the tree and sets the outcome.
func (p *pass) judge(v *Version, validate func(*Version) ([]violation.Violation, error)) error {
	found, err := validate(v)
	if err != nil {
		return err
	}
	if err := p.answer(found); err != nil {
		return err
	}
	p.forbidden()
	return p.respond(v)
}

// answer sets the outcome of the violations, or adds the warnings of a valid object. The error is a Fault for a passed
// deadline.
func (p *pass) answer(found []violation.Violation) error {
	p.out.Ratcheted = p.finish(p.ratcheted)
	if len(found) == 0 {
		p.warnFinalizers()
		return expired(p.ctx)
	}
	name := ""
	if meta := p.d.Field(p.root, "metadata"); meta != 0 {
		name, _ = nestedString(p.d, meta, "name")
	}
	name = strings.Clone(name)
	p.out.Rejection = invalid(p.of.GroupKind(), name, found, p.stop)
	if p.r.WantStatus {
		p.out.Rejection.Details.Causes = causes(found)
	}
	p.out.Violations = p.finish(found)
	return expired(p.ctx)
}

// judgeAsGiven validates the tree as it was parsed.
func (p *pass) judgeAsGiven(v *Version) error {
	if rejected, err := p.takeAsGiven(); rejected || err != nil {
		return err
	}
	p.complete()
	p.generateName()
	return p.judge(v, p.validate)
}

// takeAsGiven checks the bounds and duplicate keys of a body that is not changed.
func (p *pass) takeAsGiven() (rejected bool, err error) {
	p.out.Explained = true
	if err := metadata.Fits(p.d, p.d.Field(p.root, "metadata")); err != nil {
		return false, exceeded(err)
	}
	if p.r.FieldValidation == Ignore {
		return false, nil
	}
	for duplicate := range p.d.Duplicates(value.Request) {
		p.out.Strict = append(p.out.Strict, duplicate.Text)
	}
	return p.reportStrict(), nil
}
