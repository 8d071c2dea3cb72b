package definition

import (
	stdjson "encoding/json"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/json"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

const (
	kind         = "CustomResourceDefinition"
	apiVersionV1 = "apiextensions.k8s.io/" + versionV1
	apiVersionB1 = "apiextensions.k8s.io/" + versionB1
	versionV1    = "v1"
	versionB1    = "v1beta1"
)

// Manifest is a decoded CRD.
type Manifest struct {
	// CRD is the v1 form with the API server's defaults, also for a v1beta1 manifest.
	CRD *apiextensionsv1.CustomResourceDefinition
	// Strict are the errors for unknown and duplicate fields, at most 100. The API server returns them as warnings, or
	// rejects the manifest with them if the request asks for strict validation. As in upstream, fields below items,
	// additionalProperties and similar keywords are not checked.
	Strict []string

	// beta is set for a v1beta1 manifest, plain for one that decodeFast read.
	beta, plain bool
	// spec is the API server's internal form, which validation uses.
	spec spec
}

// Reason is the reason why a manifest could not be decoded.
type Reason int

// The reasons of a DecodeError.
const (
	// Unreadable: the text is not JSON, or apiVersion or kind is not a string.
	Unreadable Reason = iota + 1
	// NotCRD: apiVersion and kind are absent or those of another resource.
	NotCRD
	// WrongShape: a field of the CRD has a value of the wrong type. The API server returns 400 with this error's text.
	WrongShape
)

// DecodeError is the error of Decode.
type DecodeError struct {
	Reason Reason
	text   string
	cause  error
	beta   bool // the manifest has v1beta1
}

// Error returns the API server's text, or a text of our own for NotCRD.
func (e *DecodeError) Error() string { return e.text }

// Unwrap returns the decoder's error, or nil for NotCRD.
func (e *DecodeError) Unwrap() error { return e.cause }

// Decode decodes a JSON CRD manifest of apiextensions.k8s.io/v1 or v1beta1. The caller must bound its size and depth.
// The error is a *DecodeError. It is a *tree.LimitError if schemas nest so deep that upstream's decoder would take
// seconds.
func Decode(doc []byte) (*Manifest, error) { return DecodeVersion(doc, "") }

// DecodeVersion is Decode that can omit all versions but one, whose schemas take long to read. "" omits none.
func DecodeVersion(doc []byte, version string) (*Manifest, error) {
	d := tree.Acquire() // released without defer: after a panic the Doc must not be reused
	root, err := d.ParseJSON(doc, tree.Limits{MaxBytes: max(len(doc), 1)})
	if err != nil {
		root = 0 // the decoders below report the error
	}
	list := d.Field(d.Field(root, "spec"), "versions")
	for v := d.Nodes[list].First; v != 0 && version != ""; v = d.Nodes[v].Next {
		if name := d.Field(v, "name"); d.Nodes[name].Kind == tree.String && d.Str(name) == version {
			d.Nodes[list].First, d.Nodes[list].Live, d.Nodes[v].Next = v, 1, 0
		}
	}
	m, err := DecodeTree(doc, d, root)
	d.Release()
	return m, err
}

// DecodeTree is Decode with the tree d of the text. root is 0 if there is no tree.
func DecodeTree(doc []byte, d *tree.Doc, root uint32) (*Manifest, error) {
	if crd := decodeFast(d, root); crd != nil {
		m := fromV1(crd)
		m.plain = true
		return m, nil
	}
	apiVersion, err := typeOf(doc)
	if err != nil {
		return nil, err
	}
	if err := affordable(d, root); err != nil {
		return nil, err
	}
	if apiVersion == apiVersionB1 {
		return decodeBeta(doc)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	strict, err := decodeStrict(doc, crd, versionV1)
	if err != nil {
		return nil, err
	}
	for i := range crd.Spec.Versions {
		if err := checkValues(schema.Of(&crd.Spec.Versions[i])); err != nil {
			return nil, wrongShape(versionV1, err)
		}
	}
	m := fromV1(crd)
	m.Strict = strict
	return m, nil
}

// fromV1 converts a CRD to the internal form and back, as the API server does. Semantically equal parts of versions
// become those of the first version, and an empty webhook is removed.
func fromV1(crd *apiextensionsv1.CustomResourceDefinition) *Manifest {
	setDefaults(crd)
	m := &Manifest{CRD: crd, spec: lift(&crd.Spec)}
	crd.Spec = m.spec.v1()
	return m
}

// decodeFast decodes a v1 manifest without unknown fields in one pass. It returns nil for others.
func decodeFast(d *tree.Doc, root uint32) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if root == 0 || !schema.Read(d, root, crd) || crd.APIVersion != apiVersionV1 || crd.Kind != kind {
		return nil
	}
	return crd
}

// typeOf checks that a document is a CRD and returns its apiVersion. As in the API server, key case does not matter.
func typeOf(doc []byte) (string, error) {
	var t struct {
		APIVersion string `json:"apiVersion,omitempty"`
		Kind       string `json:"kind,omitempty"`
	}
	if err := stdjson.Unmarshal(doc, &t); err != nil {
		return "", &DecodeError{Reason: Unreadable, cause: err, text: fmt.Sprintf("couldn't get version/kind; json parse error: %v", err)}
	}
	switch {
	case t.Kind == kind && (t.APIVersion == apiVersionV1 || t.APIVersion == apiVersionB1):
		return t.APIVersion, nil
	case t.Kind == "" && t.APIVersion == "":
		return "", &DecodeError{Reason: NotCRD, text: fmt.Sprintf("apiVersion and kind are missing: a CRD has apiVersion %q and kind %q", apiVersionV1, kind)}
	default:
		return "", &DecodeError{Reason: NotCRD, text: fmt.Sprintf(
			"apiVersion %q, kind %q is not a CRD: it must be apiVersion %q (or %q) and kind %q", t.APIVersion, t.Kind, apiVersionV1, apiVersionB1, kind)}
	}
}

// decodeStrict decodes a typed manifest as the API server's strict serializer does.
func decodeStrict(doc []byte, into any, version string) ([]string, error) {
	found, err := json.UnmarshalStrict(doc, into)
	if err != nil {
		return nil, wrongShape(version, err)
	}
	var strict []string
	for _, e := range found {
		strict = append(strict, e.Error())
	}
	return strict, nil
}

func wrongShape(version string, err error) error {
	return &DecodeError{Reason: WrongShape, cause: err, text: unhandled(version, err), beta: version == versionB1}
}

// unhandled returns the API server's text for a manifest that it cannot decode.
func unhandled(version string, err error) string {
	return fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", kind, version, kind, err)
}

// mostRead bounds the bytes that the API server's decoder reads. It reads the value of each keyword in reread again for
// each enclosing one. Argo's CRDs, the largest of the corpus, stay below a fifth.
const mostRead = 64 << 20

// reread are the keywords whose type has its own UnmarshalJSON.
var reread = []string{"items", "additionalProperties", "additionalItems"}

// affordable returns a *tree.LimitError if schemas nest so deep that the API server's decoder would take seconds.
func affordable(d *tree.Doc, root uint32) error {
	if root == 0 {
		return nil // invalid JSON: decoding ends at the first wrong byte
	}
	read := int64(d.Nodes[root].End)
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.Kind == tree.Object && slices.Contains(reread, d.Key(uint32(i))) {
			read += int64(n.End - n.Off)
		}
	}
	if read <= mostRead {
		return nil
	}
	return &tree.LimitError{
		Name: "max_schema_nesting", Limit: "nesting of schemas", Unit: "bytes to read again and again", Maximum: mostRead, Actual: read,
		Advice: "nest the items and additionalProperties of the schema less deep, or fix unknown fields and wrong types in it",
	}
}

// setDefaults sets the API server's defaults of a v1 manifest.
// (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/defaults.go)
func setDefaults(crd *apiextensionsv1.CustomResourceDefinition) {
	spec := &crd.Spec
	defaultNames(&spec.Names)
	if spec.Conversion == nil {
		spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	}
	if w := spec.Conversion.Webhook; w != nil && w.ClientConfig != nil {
		defaultPort(w.ClientConfig.Service)
	}
	if len(crd.Status.StoredVersions) == 0 {
		if v := schema.Storage(crd); v != nil {
			crd.Status.StoredVersions = []string{v.Name}
		}
	}
	crd.TypeMeta = metav1.TypeMeta{APIVersion: apiVersionV1, Kind: kind}
}

func defaultNames(names *apiextensionsv1.CustomResourceDefinitionNames) {
	if names.Singular == "" {
		names.Singular = strings.ToLower(names.Kind)
	}
	if names.ListKind == "" && names.Kind != "" {
		names.ListKind = names.Kind + "List"
	}
}

func defaultPort(service *apiextensionsv1.ServiceReference) {
	if service != nil && service.Port == nil {
		port := int32(443)
		service.Port = &port
	}
}
