package admission

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// handle does what the request handler does to metadata between decoding and the strategy: it checks the name and the
// namespace against the request, and deduplicates owner references. It repeats a part after mutating admission.
//
// Upstream: endpoints/handlers/create.go and update.go.
func (p *pass) handle() (rejected bool) {
	update := p.r.Old != nil
	if p.r.Stage == StageFinish {
		p.dedupOwners(true)
		return !update && p.requireKind() || p.checkNamespace()
	}
	if !update && p.r.Whole {
		p.wipe()
	}
	name, _ := p.metaString(p.root, "name")
	wrongName := func() bool { return p.r.Name != "" && p.checkName(name) }
	rejected = !update && wrongName() || p.checkNamespace() || update && wrongName()
	if !rejected && !p.r.Patched { // a patched object is deduplicated after mutating admission only
		p.dedupOwners(false)
	}
	return rejected
}

// checkName rejects an object or a Scale whose name differs from that of the request. The object of an update must have
// a name.
//
// Upstream: endpoints/handlers/rest.go, checkName.
func (p *pass) checkName(name string) (rejected bool) {
	if name == p.r.Name {
		return false
	}
	text := fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", name, p.r.Name)
	if name == "" && p.r.Old != nil {
		text = fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided",
			p.r.Name)
	}
	p.out.Rejection = badRequest(text, text)
	return true
}

// checkNamespace rejects an object of another namespace than the request's, and sets the namespace of an object without
// one.
//
// Upstream: registry/rest/meta.go, EnsureObjectNamespaceMatchesRequestNamespace.
func (p *pass) checkNamespace() (rejected bool) {
	switch namespace, _ := p.metaString(p.root, "namespace"); {
	case !p.def.Namespaced:
		if namespace != "" {
			p.remove("namespace")
		}
	case p.r.Namespace == "" || namespace == p.r.Namespace:
	case namespace == "":
		p.set("namespace", p.r.Namespace)
	default:
		p.out.Rejection = badRequest(otherNamespace, otherNamespace)
		return true
	}
	return false
}

const otherNamespace = "the namespace of the provided object does not match the namespace sent on the request"

// wipe removes the metadata of a creation that only a server may set. It does not allocate.
//
// Upstream: registry/rest/meta.go, WipeObjectMetaSystemFields.
func (p *pass) wipe() {
	for _, key := range [...]string{"creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds",
		"selfLink"} {
		p.remove(key)
	}
}

// dedupOwners drops repeated owner references. late means after mutating admission.
func (p *pass) dedupOwners(late bool) {
	meta := p.d.Field(p.root, "metadata")
	if p.d.Len(p.d.Field(meta, "ownerReferences")) < 2 {
		return
	}
	m, err := metadata.Decode(p.d, meta)
	if err != nil {
		return // coerced metadata can be decoded
	}
	owners, warning := metadata.DedupOwners(m.OwnerReferences, late)
	if warning == "" {
		return
	}
	m.OwnerReferences = owners
	if err := metadata.Replace(p.d, meta, m); err == nil {
		p.d.MarkDirty(p.root)
	}
	p.warn(warning)
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
	if _, err := schema.ParseGroupVersion(apiVersion); kind != "" && err == nil {
		return p.requireAPIVersion()
	}
	p.out.Rejection = rejectionOf(apierrors.NewInternalError(runtime.NewMissingKindErr("object has no kind field ")))
	return true
}

// requireAPIVersion rejects an object whose apiVersion a patch or mutating admission removed. Other updates without one
// are rejected earlier.
//
// Upstream: registry/rest/update.go, BeforeUpdate; registry/rest/create.go, objectMetaAndKind.
func (p *pass) requireAPIVersion() (rejected bool) {
	text, err := nestedString(p.d, p.root, "apiVersion")
	if of, invalid := schema.ParseGroupVersion(text); err != nil || invalid != nil || of.Version != "" {
		return false
	}
	p.out.Rejection = rejectionOf(apierrors.NewInternalError(
		runtime.NewMissingVersionErr("object has no apiVersion field")))
	return true
}

// errTerminating is the reason to forbid creations.
var errTerminating = errors.New("create not allowed while custom resource definition is terminating")

// closed reports whether the request is a creation while the CRD is being deleted. Updates and writes to subresources
// are allowed. Upstream checks this in admission and not in validation.
//
// Upstream: customresource_handler.go, serveResource and forbidCreateAdmission.
func (p *pass) closed() bool { return p.def.Terminating && p.r.Whole && p.r.Old == nil }

// forbidden rejects such a creation. It is called at mutating admission, and again at validating admission for stage
// FINISH.
func (p *pass) forbidden() (rejected bool) {
	if !p.closed() || p.out.Rejection != nil {
		return false
	}
	name := p.r.Name
	generated := p.generated || p.r.Stage != StageFinish && slices.Contains(p.completed, "name")
	if name == "" && !generated {
		name = p.nameOf(p.root)
	}
	p.out.Rejection = rejectionOf(apierrors.NewForbidden(p.def.resource(), name, errTerminating))
	return true
}

// plainPreconditions reports whether uid and resourceVersion allow an update. It also requires a resourceVersion in
// stage DECODE, which would allow updates without one.
func (p *pass) plainPreconditions(meta uint32) bool {
	if !p.r.Whole {
		return true
	}
	d, old := p.d, p.d.Field(p.old.root, "metadata")
	if uid, before := d.Field(meta, "uid"), d.Field(old, "uid"); uid != 0 && before != 0 &&
		d.Str(uid) != d.Str(before) {
		return false
	}
	revision, before := d.Field(meta, "resourceVersion"), d.Field(old, "resourceVersion")
	if revision == 0 || before != 0 && d.Str(revision) != d.Str(before) || before == 0 && p.r.Patched {
		return false
	}
	n, err := strconv.ParseUint(d.Str(revision), 10, 64)
	return err == nil && n != 0
}

// checkUID rejects an update whose uid differs from the old object's. A uid in a patch is not a precondition. An old
// object without a uid cannot come from a storage, and is not compared.
//
// Upstream: registry/rest/update.go, Preconditions; storage/interfaces.go, Check; storage/errors/storage.go,
// InterpretUpdateError.
func (p *pass) checkUID() (rejected bool) {
	if !p.r.Whole || p.r.Patched {
		return false
	}
	uid, _ := p.metaString(p.root, "uid")
	return p.compareUID(uid)
}

// compareUID rejects an update with another uid than the old object's.
func (p *pass) compareUID(uid string) (rejected bool) {
	before, _ := p.metaString(p.old.root, "uid")
	if uid == "" || before == "" || uid == before {
		return false
	}
	namespace, _ := p.metaString(p.old.root, "namespace")
	key := "/registry/" + p.def.Group + "/" + p.def.Plural + "/" // in etcd, for the default prefix
	if p.def.Namespaced {
		key += namespace + "/"
	}
	p.conflict(fmt.Sprintf("StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: %s, UID in object meta: %s",
		key+p.nameOf(p.old.root), uid, before))
	return true
}

// conflict rejects an update of another state of the object than the stored one.
func (p *pass) conflict(text string) {
	p.out.Rejection = rejectionOf(apierrors.NewConflict(p.def.resource(), p.nameOf(p.old.root), errors.New(text)))
}

// modified is the API server's text about a write to an object that has changed since it was read.
const modified = "the object has been modified; please apply your changes to the latest version and try again"

// checkRevision rejects an update without a resourceVersion, or with another one than the old object's. Validation
// reports one that is not a string.
//
// Upstream: registry/generic/registry/store.go, Update: custom resources do not allow unconditional updates.
func (p *pass) checkRevision() (rejected bool) {
	revision, ok := p.metaString(p.root, "resourceVersion")
	before, _ := p.metaString(p.old.root, "resourceVersion")
	asked, err := strconv.ParseUint(cmp.Or(revision, "0"), 10, 64)
	stored, unknown := strconv.ParseUint(before, 10, 64)
	switch {
	case !ok:
		return false
	case err != nil:
		p.out.Rejection = statusless(err.Error())
	case asked == 0:
		p.requireRevision()
	case unknown == nil && stored != asked:
		p.conflict(modified)
	default:
		return false
	}
	return true
}

// requireRevision rejects an update because it has no resourceVersion.
func (p *pass) requireRevision() {
	at := value.Path{value.Name("metadata"), value.Name("resourceVersion")}
	f := violation.Of(violation.Request, field.Invalid(field.NewPath("metadata", "resourceVersion"), uint64(0),
		"must be specified for an update"), at)
	f.Node, _ = p.d.Finder().Deepest(p.root, at)
	kind := p.def.Plural
	if !quirk.On(quirk.MissingResourceVersionNamesPlural) {
		kind = p.def.Kind
	}
	p.rejectInvalid(schema.GroupKind{Group: p.def.Group, Kind: kind}, p.nameOf(p.old.root), []violation.Violation{f})
}
