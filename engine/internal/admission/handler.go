package admission

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// handle does what the request handler does to metadata between decoding and the strategy: it checks the name and the
// namespace against the request, and deduplicates owner references. It repeats a part after mutating admission.
//
// Upstream: endpoints/handlers/create.go and update.go.
func (p *pass) handle() (rejected bool) {
	update := p.r.Old != nil
	if p.r.Stage == StageFinish {
		p.dedupOwners(true)
		// For an update, the resourceVersion is checked before the namespace.
		return !update && (p.requireKind() || p.requireMetadata() || p.checkNamespace())
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
	p.reject(badRequest(text, text), p.otherNameReason())
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
		text := "does not match the namespace of the request, " + strconv.Quote(p.r.Namespace)
		p.reject(badRequest(otherNamespace, otherNamespace), p.about(violation.Request, text, "metadata", "namespace"))
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
	list := p.d.Field(meta, "ownerReferences")
	if p.d.Len(list) < 2 {
		return
	}
	// After mutating admission, other metadata can be of any type.
	content := map[string]any{"ownerReferences": p.d.Any(list)}
	u := unstructured.Unstructured{Object: map[string]any{"metadata": content}}
	owners, warning := metadata.DedupOwners(u.GetOwnerReferences(), late)
	if warning == "" {
		return
	}
	u.SetOwnerReferences(owners)
	if text, err := json.Marshal(content["ownerReferences"]); err == nil {
		p.put(meta, "ownerReferences", p.parsed(text))
	}
	p.warnAbout(violation.TypeWarning, warning, "metadata.ownerReferences",
		tree.Path{tree.Name("metadata"), tree.Name("ownerReferences")})
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
	p.reject(rejectionOf(apierrors.NewInternalError(runtime.NewMissingKindErr("object has no kind field "))),
		p.about(violation.TypeMeta, "must be set", "kind"))
	return true
}

// requireMetadata rejects a new object whose metadata mutating admission replaced by another type: a server cannot set
// the uid in it.
//
// Upstream: registry/rest/meta.go, FillObjectMetaSystemFields; registry/rest/create.go, BeforeCreate.
func (p *pass) requireMetadata() (rejected bool) {
	meta := p.d.Field(p.root, "metadata")
	if !p.r.Whole || meta == 0 || p.d.Nodes[meta].Kind == tree.Object {
		return false
	}
	p.reject(rejectionOf(apierrors.NewInternalError(errors.New("system metadata was not initialized"))),
		p.about(violation.Decode, violation.WrongType("object", p.d.Nodes[meta].Kind), "metadata"))
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
	p.reject(rejectionOf(apierrors.NewInternalError(runtime.NewMissingVersionErr("object has no apiVersion field"))),
		p.about(violation.TypeMeta, "must be set", "apiVersion"))
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
	p.reject(rejectionOf(apierrors.NewForbidden(p.def.resource(), name, errTerminating)))
	return true
}
