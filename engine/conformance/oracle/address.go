package oracle

import (
	"bytes"
	"encoding/json"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Address turns a write into a request to a URL of the API server's own handlers: the URL of the old object, or for a
// creation the namespace in the object. It returns false if the answer would depend on the server alone: the old object
// could not exist, a webhook would have to be called, or managed fields are sent.
func (d *Definition) Address(r Request) (Request, bool) {
	if !r.Writes() || d.converter == nil && len(d.CRD.Spec.Versions) > 1 || bytes.Contains(r.Body, managed) || bytes.Contains(r.Old, managed) {
		return r, false
	}
	r.Whole = true
	namespaced := d.CRD.Spec.Scope == apiextensionsv1.NamespaceScoped
	if r.Op == Create {
		if namespaced && r.Namespace == "" {
			r.Namespace = namespaceOf(r)
		}
		return r, true
	}
	var old struct {
		Metadata *struct{ Name, Namespace, UID string }
	}
	if json.Unmarshal(r.Old, &old) != nil || old.Metadata == nil || old.Metadata.Name == "" || namespaced == (old.Metadata.Namespace == "") ||
		old.Metadata.UID == "" && bytes.Contains(r.Body, []byte(`"uid"`)) {
		return r, false
	}
	// Stored objects have a resourceVersion, which clients send back in a write.
	version, had := resourceVersionOf(r.Body), resourceVersionOf(r.Old)
	if r.Patch != "" || revisionOf(version) == 0 {
		if version = had; revisionOf(had) == 0 {
			version = "1"
		}
	}
	if version != had {
		r.Old = edited(r.Old, func(metadata map[string]any) { metadata["resourceVersion"] = version })
	}
	read, err := d.stored(r.Old, r.Version)
	if err != nil || read.GetName() != old.Metadata.Name || read.GetNamespace() != old.Metadata.Namespace {
		return r, false
	}
	if len(content.IsPathSegmentName(old.Metadata.Name)) > 0 {
		return r, false // no URL contains it
	}
	if r.Patch != "" && read.GetUID() == "" {
		return r, false // a patch would find no object
	}
	if r.Name == "" {
		r.Name, r.Namespace = old.Metadata.Name, old.Metadata.Namespace
	}
	return r, true
}

var managed = []byte("managedFields")

// resourceVersionOf returns the resourceVersion of an object, or "".
func resourceVersionOf(text []byte) string {
	var o struct {
		Metadata struct{ ResourceVersion string }
	}
	if json.Unmarshal(text, &o) != nil && !json.Valid(text) {
		_ = yaml.Unmarshal(text, &o)
	}
	return o.Metadata.ResourceVersion
}

// namespaceOf returns the namespace in an object, or the default namespace of requests.
func namespaceOf(r Request) string {
	var o struct{ Metadata struct{ Namespace string } }
	if json.Unmarshal(r.Body, &o) != nil && !json.Valid(r.Body) {
		_ = yaml.Unmarshal(r.Body, &o)
	}
	if o.Metadata.Namespace == "" {
		return metav1.NamespaceDefault
	}
	return o.Metadata.Namespace
}

// revisionOf parses a resourceVersion as storage does. It returns 0 for an invalid one.
func revisionOf(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
