package admission

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

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
	p.conflict("uid", fmt.Sprintf("StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: %s, UID in object meta: %s",
		key+p.nameOf(p.old.root), uid, before))
	return true
}

// conflict rejects an update of another state of the object than the stored one.
// The conflict is about a member of metadata.
func (p *pass) conflict(key, text string) {
	p.reject(rejectionOf(apierrors.NewConflict(p.def.resource(), p.nameOf(p.old.root), errors.New(text))),
		p.about(violation.Request, "does not match the stored object: read it again and repeat the change", "metadata", key))
}

// modified is the API server's text about a write to an object that has changed since it was read.
const modified = "the object has been modified; please apply your changes to the latest version and try again"

// checkRevision rejects an update without a resourceVersion, or with another one than the old object's. A value that is
// not a string counts as absent. Only mutating admission can set one.
//
// Upstream: registry/generic/registry/store.go, Update: custom resources do not allow unconditional updates.
func (p *pass) checkRevision() (rejected bool) {
	revision, _ := p.metaString(p.root, "resourceVersion")
	before, _ := p.metaString(p.old.root, "resourceVersion")
	asked, err := strconv.ParseUint(cmp.Or(revision, "0"), 10, 64)
	stored, unknown := strconv.ParseUint(before, 10, 64)
	switch {
	case err != nil:
		p.reject(statusless(err.Error()),
			p.about(violation.Request, "must be an unsigned integer", "metadata", "resourceVersion"))
	case asked == 0:
		p.requireRevision()
	case unknown == nil && stored != asked:
		p.conflict("resourceVersion", modified)
	default:
		return false
	}
	return true
}

// requireRevision rejects an update because it has no resourceVersion.
func (p *pass) requireRevision() {
	at := tree.Path{tree.Name("metadata"), tree.Name("resourceVersion")}
	f := violation.Of(violation.Request, field.Invalid(field.NewPath("metadata", "resourceVersion"), uint64(0),
		"must be specified for an update"), at)
	f.Node, _ = p.d.Finder().Deepest(p.root, at)
	kind := p.def.Plural
	if !quirk.On(quirk.MissingResourceVersionNamesPlural) {
		kind = p.def.Kind
	}
	p.rejectInvalid(schema.GroupKind{Group: p.def.Group, Kind: kind}, p.nameOf(p.old.root), []violation.Violation{f})
}
