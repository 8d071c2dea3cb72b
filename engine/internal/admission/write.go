package admission

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// Write evaluates a creation, or an update of r.Old or of its status, up to the storage. It does not compare the
// resourceVersion with that of the storage. The error is a *Fault.
//
// Upstream: registry/rest/update.go, BeforeUpdate.
func (d *Definition) Write(ctx context.Context, r *Request) (Outcome, error) {
	return d.run(ctx, r, (*pass).write)
}

func (p *pass) write() error {
	switch {
	case p.r.Scale:
		return p.conclude(p.updateScale())
	case p.r.Patch != 0:
		return p.conclude(p.updatePatched())
	}
	return p.conclude(p.writeBody())
}

func (p *pass) writeBody() error {
	v, err := p.address()
	switch {
	case err != nil || p.out.Rejection != nil:
		return err
	case p.r.AsGiven || !p.accept(v):
		if err := expired(p.ctx); err != nil {
			return err
		}
		return p.exact(v)
	case p.r.Stage == StageDecode:
		p.decoded()
		if p.r.Then != nil && p.out.Rejection == nil {
			p.validateDecoded(v)
		}
		return nil
	}
	return p.respond(v)
}

// validateDecoded validates the decoded object with Request.Then. The result stays unknown in these cases:
//   - a rule at the root, which may compare metadata that the server sets later
//   - a number that is printed differently, which can change before a separate validation
//   - a write to the status of a version without that subresource
//   - an old object that is not decoded, which can need the defaults of another version
func (p *pass) validateDecoded(v *Version) {
	then := p.r.Then
	if v.Plan.Root.Rules != nil || p.lossy() || then.Status && !v.HasStatus || then.Old != nil && !then.OldDecoded {
		return
	}
	decoded := p.out
	p.r, p.storing, p.attempt = *then, false, attempt{out: Outcome{Version: v}}
	p.warnDeprecated(v)
	if !p.checkNamespace() && p.accept(v) && !p.lossy() {
		decoded.Valid, decoded.Warnings, decoded.ReadsAsWritten = true, p.out.Warnings, p.readsAsWritten(v)
	}
	p.out = decoded
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
	if p.unread != nil {
		p.reject(p.unread, p.because...)
	}
	if err != nil || v == nil {
		return nil, err
	}
	p.out.Version = v
	p.warnDeprecated(v)
	if p.r.Status && !v.HasStatus {
		name := p.r.Name
		if name == "" && p.unread == nil {
			name = p.nameOf(p.root)
		}
		p.reject(p.def.notFound(name))
	}
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

// exact evaluates a write on the exact path: upstream's steps in upstream's order, on a newly parsed document.
func (p *pass) exact(v *Version) error {
	if rejected, err := p.decode(v); rejected || err != nil {
		return err
	}
	update, finish := p.r.Old != nil, p.r.Stage == StageFinish
	// API servers read the old object last. It is read earlier if metadata is completed from it.
	late := update && !p.r.AsGiven && !finish && (!p.r.CompleteMetadata || p.r.Patched)
	if update && !late {
		if err := p.readOld(v); err != nil {
			return err
		}
	}
	p.complete()
	if p.r.Handler && !p.r.AsGiven && p.handle() {
		return nil
	}
	if late {
		if err := p.readOld(v); err != nil {
			return err
		}
	}
	switch {
	case !finish && (update && p.checkUID() || p.forbidden()):
		return nil
	case p.r.Stage == StageDecode:
		p.decoded()
		return nil
	case p.r.Patched && !p.r.AsGiven:
		// Bytes of a storage usually have no resourceVersion; the patched object then has the stored one.
		p.fillRevision()
		if p.r.Handler {
			p.dedupOwners(true)
		}
	}
	return p.finish(v)
}

// decode reads the body on the exact path. The body of a request is decoded as the request handler does it. After
// mutating admission, upstream neither prunes the object nor coerces its metadata. It sets defaults in an object that a
// webhook has changed.
//
// Upstream: endpoints/handlers/create.go; admission/plugin/webhook/mutating/dispatcher.go.
func (p *pass) decode(v *Version) (rejected bool, err error) {
	p.out.Exact = true
	if !p.r.AsGiven {
		if err := p.parse(); err != nil {
			return false, internal(fmt.Errorf("a document was read once, but not twice: %w", err))
		}
	}
	if err := metadata.Fits(p.d, p.d.Field(p.root, "metadata")); err != nil {
		return false, exceeded(err)
	}
	if p.r.Stage == StageFinish {
		if p.r.Defaulted {
			return false, nil
		}
		return false, p.fill()
	}
	track := p.r.FieldValidation != Ignore
	if p.patching != nil && !p.r.AsGiven {
		p.out.Strict = slices.Clip(p.patching.unknown)
	}
	if track {
		p.addDuplicates()
	}
	if p.r.AsGiven {
		return p.reportStrict(), nil
	}
	unknown, failed, err := p.shape(shaping{Options: metadata.Options{Track: track}, changes: p.r.WantChanges})
	switch {
	case err != nil:
		return false, err
	case failed != nil:
		p.out.Strict, p.out.Pruned, p.out.OmittedChanges = nil, nil, 0
		p.reject(p.undecodable(&p.of, failed), failed.reasons...)
		return true, nil
	}
	if track {
		p.addUnknown(unknown)
	}
	if err := p.fill(); err != nil {
		return false, err
	}
	if p.reportStrict() {
		return true, nil
	}
	if got := p.of.GroupVersion().String(); got != v.APIVersion && !p.r.Patched {
		p.reject(otherVersion(got, v.APIVersion), p.otherVersionReason(v.APIVersion))
		return true, nil
	}
	return false, nil
}

// decoded sets the outcome of stage DECODE: the object and the old one at the request's version.
func (p *pass) decoded() {
	p.removeCompleted()
	p.object()
	if p.r.WantObject && p.lossy() {
		p.out.Object = p.d.AppendDecoded(nil, p.root) // keeps 1.0, which rules do not take for an integer
	}
	if p.r.WantObject && p.old.root != 0 {
		p.out.Old = p.d.AppendDecoded(grown(p.d.Src[tree.Old]), p.old.root)
	}
}

// finish does the steps after mutating admission: it prepares and validates the object, and sets the outcome.
func (p *pass) finish(v *Version) error {
	switch {
	case p.old.root == 0:
		p.generateName()
		if !p.r.AsGiven {
			p.prepareCreate(v)
		}
	case p.r.AsGiven:
	case p.r.Whole && (p.checkRevision() || p.requireAPIVersion()):
		return nil
	case p.r.Stage == StageFinish && p.r.Handler && p.checkNamespace():
		return nil
	case p.r.Status:
		p.prepareStatus()
	default:
		p.prepareUpdate(v)
	}
	found, err := p.validate(v)
	if err != nil {
		return err
	}
	p.out.Ratcheted = p.locate(p.ratcheted)
	if len(found) == 0 {
		p.warnFinalizers()
	} else {
		p.rejectInvalid(p.of.GroupKind(), p.nameOf(p.root), found)
	}
	p.forbidden()
	return p.respond(v)
}

// rejectInvalid rejects an object with violations.
func (p *pass) rejectInvalid(kind schema.GroupKind, name string, found []violation.Violation) {
	p.out.Rejection = invalid(kind, name, found, p.stop)
	if p.r.WantStatus {
		p.out.Rejection.Details.Causes = causes(found)
	}
	p.out.Violations = p.locate(found)
}
