package admission

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
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
	return revision != 0 && !isZero(d.Str(revision)) && isNumber(d.Str(revision)) &&
		(before == 0 && !p.r.Patched || p.sameRevision())
}

// isNumber reports whether a resourceVersion is a decimal number of fewer than 20 digits.
func isNumber(revision string) bool {
	for i := range len(revision) {
		if revision[i] < '0' || revision[i] > '9' {
			return false
		}
	}
	return len(revision) < 20 // fits into 64 bits
}

// isZero reports whether a resourceVersion is empty or 0. API servers treat these alike.
func isZero(revision string) bool { return strings.Trim(revision, "0") == "" }

// checkUID rejects an update whose uid differs from the old object's. A uid in a patch is not a precondition. An old
// object without a uid cannot come from a storage, and is not compared.
//
// Upstream: registry/rest/update.go, Preconditions; storage/interfaces.go, Check; storage/errors/storage.go,
// InterpretUpdateError.
func (p *pass) checkUID() (rejected bool) {
	if !p.r.Whole || p.r.Patched {
		return false
	}
	uid, _ := p.metaString(p.d.Field(p.root, "metadata"), "uid")
	before, _ := p.metaString(p.d.Field(p.old.root, "metadata"), "uid")
	if uid == "" || before == "" || uid == before {
		return false
	}
	p.conflict(fmt.Sprintf("StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: %s, UID in object meta: %s",
		p.storageKey(), uid, before))
	return true
}

// conflict rejects an update of another state of the object than the stored one.
func (p *pass) conflict(text string) {
	p.out.Rejection = rejectionOf(apierrors.NewConflict(p.def.resource(), p.oldName(), errors.New(text)))
}

// storageKey returns the object's key in etcd for the default prefix.
func (p *pass) storageKey() string {
	meta := p.d.Field(p.old.root, "metadata")
	name, _ := p.metaString(meta, "name")
	key := "/registry/" + p.def.Group + "/" + p.def.Plural + "/"
	if p.def.Namespaced {
		namespace, _ := p.metaString(meta, "namespace")
		key += namespace + "/"
	}
	return key + name
}

// requireRevision rejects an update without a resourceVersion.
//
// Upstream: registry/generic/registry/store.go, Update: custom resources do not allow unconditional updates.
func (p *pass) requireRevision() (rejected bool) {
	revision, ok := p.metaString(p.d.Field(p.root, "metadata"), "resourceVersion")
	if !p.r.Whole || !ok || !isZero(revision) { // validation reports one that is not a string
		return false
	}
	at := value.Path{value.Name("metadata"), value.Name("resourceVersion")}
	f := violation.Of(violation.Request, field.Invalid(field.NewPath("metadata", "resourceVersion"), uint64(0),
		"must be specified for an update"), at)
	f.Node = p.d.Finder().Deepest(p.root, at)
	found := []violation.Violation{f}
	kind := p.def.Plural
	if !quirk.On(quirk.MissingResourceVersionNamesPlural) {
		kind = p.def.Kind
	}
	p.out.Rejection = invalid(schema.GroupKind{Group: p.def.Group, Kind: kind}, p.oldName(), found, p.stop)
	if p.r.WantStatus {
		p.out.Rejection.Details.Causes = causes(found)
	}
	p.out.Violations = p.finish(found)
	return true
}

// oldName returns the name of the old object.
func (p *pass) oldName() string {
	name, _ := p.metaString(p.d.Field(p.old.root, "metadata"), "name")
	return strings.Clone(name)
}
