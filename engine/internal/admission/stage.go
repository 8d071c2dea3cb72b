package admission

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/value"
)

// decoded sets the outcome of stage DECODE: the object and the old one at the request's version.
func (p *pass) decoded() error {
	p.removeCompleted()
	p.object()
	if p.r.WantObject && p.lossy() {
		p.out.Object = p.d.AppendDecoded(p.r.Buffer, p.root) // keeps 1.0, which rules do not take for an integer
	}
	if p.r.WantObject && p.old.root != 0 {
		old := p.d.Src[value.Old]
		p.out.Old = p.d.AppendDecoded(make([]byte, 0, len(old)+len(old)/8+room), p.old.root)
	}
	return expired(p.ctx)
}

// acceptDecoded evaluates stage DECODE on the fast path. If it returns false, the trees are in an undefined state.
func (p *pass) acceptDecoded(v *Version) bool {
	if !p.plainRequest(v) || p.r.Patched {
		return false
	}
	meta, normalized := p.normalized()
	if !normalized || p.r.Handler && !p.plainHandler(meta) || p.r.CompleteMetadata {
		return false
	}
	if p.r.Old != nil {
		if !p.plainOld(v) || !p.plainPreconditions(meta) {
			return false
		}
	} else if p.r.Whole {
		p.wipe()
	}
	mode := p.acceptMode()
	return v.Plan.AcceptDecoded(p.d, p.root, mode) && p.reportEdits(v, mode.Edits)
}

// resume evaluates stage FINISH of a creation. Upstream defaults the object after mutating webhooks, but neither prunes
// it nor coerces its metadata.
//
// Upstream: admission/plugin/webhook/mutating/dispatcher.go; endpoints/handlers/create.go; registry/rest/create.go,
// BeforeCreate.
func (p *pass) resume(v *Version) error {
	if p.accept(v) {
		return p.respond(v)
	}
	if err := p.decodeAgain(); err != nil {
		return err
	}
	p.complete()
	if p.r.Handler {
		p.dedupOwners(metadata.DedupOwnersLate)
		if p.requireKind() || p.checkNamespace() {
			return nil
		}
	}
	p.generateName()
	p.prepare(v)
	return p.judge(v, p.validate)
}

// resumeUpdate is resume for an update.
func (p *pass) resumeUpdate(v *Version) error {
	if p.acceptUpdate(v) {
		return p.respond(v)
	}
	if err := p.decodeAgain(); err != nil {
		return err
	}
	if err := p.readOld(v, p.by); err != nil {
		return err
	}
	p.complete()
	if p.r.Handler {
		p.dedupOwners(metadata.DedupOwnersLate)
		if p.checkNamespace() {
			return nil
		}
	}
	if err := expired(p.ctx); err != nil {
		return err
	}
	return p.change(v)
}

// requireKind rejects an object whose kind or version mutating admission removed.
//
// Upstream: registry/rest/create.go, objectMetaAndKind.
func (p *pass) requireKind() (rejected bool) {
	if !p.r.Whole {
		return false
	}
	kind, _ := nestedString(p.d, p.root, "kind")
	apiVersion, _ := nestedString(p.d, p.root, "apiVersion")
	gv, err := schema.ParseGroupVersion(apiVersion)
	switch {
	case kind == "" || err != nil:
		p.out.Rejection = rejectionOf(apierrors.NewInternalError(
			runtime.NewMissingKindErr("object has no kind field ")))
	case gv.Version == "":
		p.out.Rejection = rejectionOf(apierrors.NewInternalError(
			runtime.NewMissingVersionErr("object has no apiVersion field")))
	default:
		return false
	}
	return true
}

// decodeAgain reads a body that was decoded before.
func (p *pass) decodeAgain() error {
	if err := expired(p.ctx); err != nil {
		return err
	}
	p.out.Explained = true
	if err := p.parse(); err != nil {
		return internal(fmt.Errorf("a document was read once, but not twice: %w", err))
	}
	if err := metadata.Fits(p.d, p.d.Field(p.root, "metadata")); err != nil {
		return exceeded(err)
	}
	return p.fill()
}
