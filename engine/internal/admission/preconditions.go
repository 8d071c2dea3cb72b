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
	"github.com/crdeval/crdeval/internal/value"
)

// plainPreconditions reports that neither uid nor resourceVersion stands against an update. Only for DECODE does a missing resourceVersion not matter,
// but that is rare.
func (p *pass) plainPreconditions(meta uint32) bool {
	if !p.r.Whole {
		return true
	}
	d, old := p.d, p.d.Field(p.old.root, "metadata")
	if uid, before := d.Field(meta, "uid"), d.Field(old, "uid"); uid != 0 && before != 0 && d.Str(uid) != d.Str(before) {
		return false
	}
	revision, before := d.Field(meta, "resourceVersion"), d.Field(old, "resourceVersion")
	return revision != 0 && !isZero(d.Str(revision)) && isNumber(d.Str(revision)) && (before == 0 && !p.r.Patched || p.sameRevision())
}

// isNumber reports, of resourceVersions that are not too long, that one is a number.
func isNumber(revision string) bool {
	for i := range len(revision) {
		if revision[i] < '0' || revision[i] > '9' {
			return false
		}
	}
	return len(revision) < 20 // which fits into 64 bits
}

// isZero reports that a resourceVersion is none, or the number 0: to an API server that is the same.
func isZero(revision string) bool { return strings.Trim(revision, "0") == "" }

// otherUID refuses an update of another object than the stored one: the uid that a client sends is a precondition, but not in a patch. An old object
// without a uid stands in no server's storage, and is not asked for it.
//
// Upstream: registry/rest/update.go, Preconditions; storage/interfaces.go, Check; storage/errors/storage.go, InterpretUpdateError.
func (p *pass) otherUID() (refused bool) {
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

// conflict refuses an update that is about another state of the object than the stored one.
func (p *pass) conflict(text string) {
	p.out.Refusal = refusalOf(apierrors.NewConflict(p.def.resource(), p.oldName(), errors.New(text)))
}

// storageKey is where an API server with the usual prefix keeps the object in etcd.
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

// noRevision refuses an update that does not say which state of the object it is about.
//
// Upstream: registry/generic/registry/store.go, Update: custom resources do not allow unconditional updates.
func (p *pass) noRevision() (refused bool) {
	revision, ok := p.metaString(p.d.Field(p.root, "metadata"), "resourceVersion")
	if !p.r.Whole || !ok || !isZero(revision) { // validation says of one that it is no text
		return false
	}
	at := value.Path{value.Name("metadata"), value.Name("resourceVersion")}
	f := violation.Of(violation.Request, field.Invalid(field.NewPath("metadata", "resourceVersion"), uint64(0), "must be specified for an update"), at)
	f.Node = p.d.Finder().Deepest(p.root, at)
	found := []violation.Violation{f}
	kind := p.def.Plural
	if !quirk.On(quirk.MissingResourceVersionNamesPlural) {
		kind = p.def.Kind
	}
	p.out.Refusal = invalid(schema.GroupKind{Group: p.def.Group, Kind: kind}, p.oldName(), found, p.stop)
	if p.r.WantStatus {
		p.out.Refusal.Details.Causes = causes(found)
	}
	p.out.Violations = p.finish(found)
	return true
}

// oldName is the name of the request.
func (p *pass) oldName() string {
	name, _ := p.metaString(p.d.Field(p.old.root, "metadata"), "name")
	return strings.Clone(name)
}
