package admission

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/internal/metadata"
)

// handle does what the request handler does to metadata between decoding and the strategy: it checks the name and the
// namespace against the request, and deduplicates owner references.
//
// Upstream: endpoints/handlers/create.go and update.go.
func (p *pass) handle() (rejected bool) {
	update := p.r.Old != nil
	if !update && p.r.Whole {
		p.wipe()
	}
	rejected = !update && p.checkName(false) || p.checkNamespace() || update && p.checkName(true)
	if !rejected && !p.r.Patched { // a patched object is deduplicated after mutating admission only
		p.dedupOwners(metadata.DedupOwners)
	}
	return rejected
}

// checkName rejects an object whose name differs from that of the request. The object of an update must have a name.
//
// Upstream: endpoints/handlers/rest.go, checkName.
func (p *pass) checkName(update bool) (rejected bool) {
	name, _ := p.metaString(p.d.Field(p.root, "metadata"), "name")
	if p.r.Name == "" || name == p.r.Name {
		return false
	}
	text := fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", name, p.r.Name)
	if update && name == "" {
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
	meta := p.d.Field(p.root, "metadata")
	switch namespace, _ := p.metaString(meta, "namespace"); {
	case !p.def.Namespaced:
		if namespace != "" {
			p.remove(meta, "namespace")
		}
	case p.r.Namespace == "" || namespace == p.r.Namespace:
	case namespace == "":
		p.set("namespace", p.r.Namespace)
	default:
		text := "the namespace of the provided object does not match the namespace sent on the request"
		p.out.Rejection = badRequest(text, text)
		return true
	}
	return false
}

// wipe removes the metadata of a creation that only a server may set. It does not allocate.
//
// Upstream: registry/rest/meta.go, WipeObjectMetaSystemFields.
func (p *pass) wipe() {
	meta := p.d.Field(p.root, "metadata")
	for _, key := range [...]string{"creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds",
		"selfLink"} {
		p.remove(meta, key)
	}
}

// dedupOwners drops repeated owner references.
func (p *pass) dedupOwners(dedup func([]metav1.OwnerReference) ([]metav1.OwnerReference, string)) {
	meta := p.d.Field(p.root, "metadata")
	if meta == 0 {
		return
	}
	if owners := p.d.Field(meta, "ownerReferences"); owners == 0 || p.d.Len(owners) < 2 {
		return
	}
	m, err := metadata.Decode(p.d, meta)
	if err != nil {
		return // coerced metadata can be decoded
	}
	kept, warning := dedup(m.OwnerReferences)
	if warning == "" {
		return
	}
	m.OwnerReferences = kept
	if err := metadata.Replace(p.d, meta, m); err == nil {
		p.d.MarkDirty(p.root)
	}
	p.warn(warning)
}
