package admission

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/patch"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// patching is a patch while it is applied. It exists as long as the request: messages show the patched object, and
// violations have positions in the patch.
type patching struct {
	doc     *value.Doc // of the patch
	held    *value.Doc // of the object that is patched
	patch   patch.Document
	yaml    *value.YAMLSource
	tree    *patch.Tree
	unknown []string // unknown fields of the patch itself
}

// release returns the Docs to their pool. After a panic they are left to the garbage collector.
func (q *patching) release() {
	if q.doc != nil {
		q.doc.Release()
	}
	if q.held != nil {
		q.held.Release()
	}
}

// updatePatched applies the patch to the old object at the request's version, and continues with the result like with
// the body of an update. Request.Patched marks the differences.
//
// Upstream: endpoints/handlers/patch.go, PatchResource, patchResource and applyPatch.
func (p *pass) updatePatched() error {
	v, err := p.addressOld()
	if err != nil || p.out.Rejection != nil {
		return err
	}
	if rejected, err := p.readPatch(); rejected || err != nil {
		return err
	}
	if err := p.readOld(v, p.by); err != nil {
		return err
	}
	p.addressAsOld(p.d, p.old.root)
	q := p.patching
	q.held = p.d
	rejected, err := p.apply(patch.Object{Doc: q.held, Root: p.old.root})
	p.d = value.Acquire()
	if done := p.ctx.Done(); done != nil {
		p.d.StopOn(done)
	}
	if rejected || err != nil {
		return err
	}
	p.r.Body, p.r.YAML, p.r.Patched, p.r.Whole = q.tree.AppendJSON(nil), false, true, true
	p.r.Exact = p.r.Exact || len(q.unknown) > 0
	p.json, p.yaml, p.old = nil, nil, oldObject{}
	p.out.Warnings, p.warned = nil, nil
	if err := p.updateBody(p.by); err != nil {
		return ofPatched(err)
	}
	p.positionInPatch()
	p.out.Changed = true // the body is a patch and not an object
	return nil
}

// readPatch reads the patch.
//
// Upstream: endpoints/handlers/patch.go, validateAndTranscodePatch.
func (p *pass) readPatch() (rejected bool, err error) {
	q := &patching{doc: value.Acquire()}
	p.patching = q
	if done := p.ctx.Done(); done != nil {
		q.doc.StopOn(done)
	}
	q.patch = patch.Document{Type: p.r.Patch, Doc: q.doc, Text: p.r.Body}
	if p.r.YAML {
		if q.patch.Text, q.yaml, err = value.YAMLToJSON(p.r.Body, p.r.Limits); err == nil {
			q.patch.Root, err = q.doc.ParseFromYAML(q.patch.Text, q.yaml, value.Request, p.r.Limits)
		}
	} else {
		q.patch.Root, err = q.doc.Parse(q.patch.Text, value.Request, p.r.Limits)
	}
	limit := new(value.LimitError)
	switch {
	case err == nil:
	case errors.As(err, &limit):
		return false, ofPatch(exceeded(err))
	default:
		if late := expired(p.ctx); late != nil {
			return false, late
		}
		text := "invalid JSON patch"
		if json.Valid(q.patch.Text) { // a number outside of float64
			text = q.patch.OutOfRange(err, p.r.FieldValidation != Ignore)
		}
		p.out.Rejection = badRequest(text, text)
		p.warn(notice + "the patch cannot be read: " + err.Error())
		return true, nil
	}
	if p.r.FieldValidation != Ignore {
		q.unknown = q.patch.Unknown()
	}
	return false, nil
}

// apply applies the patch to an object.
func (p *pass) apply(o patch.Object) (rejected bool, err error) {
	q := p.patching
	q.tree, err = patch.Apply(o, q.patch, p.r.FieldValidation != Ignore, p.stop)
	e, limit := new(patch.Error), new(value.LimitError)
	switch {
	case err == nil:
		return false, nil
	case errors.As(err, &limit):
		return false, ofPatch(exceeded(err))
	case !errors.As(err, &e):
		if late := expired(p.ctx); late != nil {
			return false, late
		}
		return false, internal(err)
	}
	switch e.Code {
	case http.StatusBadRequest:
		p.out.Rejection = badRequest(e.Text, e.Text)
	case http.StatusUnprocessableEntity:
		p.out.Rejection = rejectionOf(apierrors.NewGenericServerResponse(e.Code, "", schema.GroupResource{}, "",
			e.Detail, 0, false))
	case http.StatusRequestEntityTooLarge:
		p.out.Rejection = rejectionOf(apierrors.NewRequestEntityTooLargeError(e.Text))
	default:
		p.out.Rejection = statusless(e.Text)
	}
	if e.Detail != "" {
		p.warn(notice + "the patch was not applied: " + e.Detail)
	}
	return true, nil
}

// finishPatched does what upstream does with a patched object after mutating admission. Bytes of a storage usually have
// no resourceVersion; the patched object then has the stored one.
func (p *pass) finishPatched() {
	if p.r.Handler {
		p.dedupOwners(metadata.DedupOwnersLate)
	}
	p.fillRevision()
}

// requireAPIVersion rejects an object whose apiVersion a patch or mutating admission removed. Other updates without one
// are rejected earlier.
//
// Upstream: registry/rest/update.go, BeforeUpdate; registry/rest/create.go, objectMetaAndKind.
func (p *pass) requireAPIVersion() (rejected bool) {
	text, err := nestedString(p.d, p.root, "apiVersion")
	if of, odd := schema.ParseGroupVersion(text); err != nil || odd != nil || of.Version != "" {
		return false
	}
	p.out.Rejection = rejectionOf(apierrors.NewInternalError(
		runtime.NewMissingVersionErr("object has no apiVersion field")))
	return true
}

// fillRevision fills in a resourceVersion if neither the body nor the old object has one.
func (p *pass) fillRevision() {
	revision, ok := p.metaString(p.d.Field(p.root, "metadata"), "resourceVersion")
	before, _ := p.metaString(p.d.Field(p.old.root, "metadata"), "resourceVersion")
	if ok && revision == "" && before == "" {
		p.fillIn("resourceVersion", "1")
	}
}

// modified is the API server's text about a write to an object that has changed since it was read.
const modified = "the object has been modified; please apply your changes to the latest version and try again"

// checkRevision rejects an update that requires another resourceVersion than the old object's.
func (p *pass) checkRevision() (rejected bool) {
	revision, ok := p.metaString(p.d.Field(p.root, "metadata"), "resourceVersion")
	before, _ := p.metaString(p.d.Field(p.old.root, "metadata"), "resourceVersion")
	if !ok || revision == "" {
		return false // requireRevision rejects it
	}
	asked, err := strconv.ParseUint(revision, 10, 64)
	switch {
	case err != nil:
		p.out.Rejection = statusless(err.Error())
		return true
	case asked == 0 || before == "":
		return false
	}
	if stored, err := strconv.ParseUint(before, 10, 64); err == nil && stored != asked {
		p.conflict(modified)
		return true
	}
	return false
}

// sameRevision reports whether a patch kept the resourceVersion.
func (p *pass) sameRevision() bool {
	revision, ok := p.metaString(p.d.Field(p.root, "metadata"), "resourceVersion")
	before, _ := p.metaString(p.d.Field(p.old.root, "metadata"), "resourceVersion")
	return ok && revision != "" && revision == before
}

// rejectPatched returns the rejection of a patched object that cannot be decoded, or that has unknown fields where
// these are rejected.
//
// Upstream: endpoints/handlers/patch.go, applyPatchToCurrentObject.
func (p *pass) rejectPatched(cause string) *Rejection {
	if !utf8.ValidString(cause) {
		cause = string([]rune(cause)) // as JSON encodes it in a Status
	}
	e := field.Invalid(field.NewPath("patch"), string(p.patching.tree.Printed()), cause)
	r := rejectionOf(apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{e}))
	r.Cause = cause
	f := violation.Of(violation.Decode, e, nil)
	p.out.Violations = []violation.Violation{f}
	return r
}

// strictError returns upstream's strict decoding error with these texts.
func strictError(texts []string) error {
	errs := make([]error, len(texts))
	for i, text := range texts {
		errs[i] = errors.New(text)
	}
	return runtime.NewStrictDecodingError(errs)
}

// patchScale applies the patch to a Scale. It returns nil if the patch is rejected.
func (p *pass) patchScale(current *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
	text, err := json.Marshal(current)
	if err != nil {
		return nil, internal(err)
	}
	q := p.patching
	q.held = value.Acquire()
	root, err := q.held.Parse(text, value.Request, value.Limits{})
	if err != nil {
		return nil, internal(err)
	}
	if rejected, err := p.apply(patch.Object{Doc: q.held, Root: root, Printed: true}); rejected || err != nil {
		return nil, err
	}
	made, err := decodeScale(q.tree.Printed(), false, p.r.FieldValidation, nil)
	if err != nil {
		p.out.Rejection = p.rejectPatched(err.Error())
		return nil, nil
	}
	p.out.Strict = slices.Concat(q.unknown, made.strict)
	if len(p.out.Strict) > 0 && p.r.FieldValidation == Strict {
		p.out.Rejection = p.rejectPatched(strictError(p.out.Strict).Error())
		return nil, nil
	}
	for _, text := range p.out.Strict {
		p.warn(StrictWarnings(text)...)
	}
	return made.scale, nil
}

// ofPatch returns a Fault about the patch.
func ofPatch(f *Fault) error { return about(f, "patch: ") }

// ofPatched returns a Fault about the patched object.
func ofPatched(err error) error {
	var f *Fault
	if !errors.As(err, &f) || f.Code != LimitExceeded {
		return err
	}
	return about(f, "patched object: ")
}

// about returns a copy of a Fault whose text starts with what instead of "object: ".
func about(f *Fault, what string) error {
	other := *f
	other.Text = what + strings.TrimPrefix(f.Text, "object: ")
	return &other
}
