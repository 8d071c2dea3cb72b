package definition

import (
	stdjson "encoding/json"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/json"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/value"
)

const (
	kind         = "CustomResourceDefinition"
	apiVersionV1 = "apiextensions.k8s.io/v1"
	apiVersionB1 = "apiextensions.k8s.io/v1beta1"
)

// Manifest is a decoded CRD.
type Manifest struct {
	// CRD is the definition at v1 with the API server's defaults filled in, whatever version it was written at.
	CRD *apiextensionsv1.CustomResourceDefinition
	// Strict are the texts of unknown and duplicate fields, as the API server words its warnings (and, where the caller
	// asks for strict validation, its refusal). At most 100. Like the API server it does not look for them below items,
	// additionalProperties and the other keywords whose value is a schema or something else.
	Strict []string

	// beta: it was written at v1beta1.
	beta bool
	// spec is what validation looks at: the API server's internal form, which has a place for what versions share.
	spec spec
}

// Reason says why a manifest could not be decoded.
type Reason int

// The reasons of a DecodeError.
const (
	// Unreadable: the text is not JSON, or its apiVersion or kind is not a string.
	Unreadable Reason = iota + 1
	// NotCRD: apiVersion and kind are those of something else, or absent.
	NotCRD
	// WrongShape: it is a CRD, but a field holds a value of the wrong type; the API server answers 400 with this
	// error's text.
	WrongShape
)

// DecodeError is the error of Decode.
type DecodeError struct {
	Reason Reason
	text   string
	cause  error
}

// Error returns the API server's text, apart from NotCRD.
func (e *DecodeError) Error() string { return e.text }

// Unwrap returns the decoder's error, nil for NotCRD.
func (e *DecodeError) Unwrap() error { return e.cause }

// Decode reads a CRD manifest, apiextensions.k8s.io/v1 or v1beta1, from JSON. The caller bounds its size and depth. The
// error is a *DecodeError, or a *value.LimitError for schemas that nest so deep that decoding them as the API server
// does would take seconds.
func Decode(doc []byte) (*Manifest, error) {
	d := value.Acquire() // given back below: after a panic it must not be used again
	root, err := d.ParseJSON(doc, value.Limits{MaxBytes: max(len(doc), 1)})
	if err != nil {
		root = 0 // the decoders have the words for what is wrong
	}
	m, err := decode(doc, d, root)
	d.Release()
	return m, err
}

// decode reads a manifest whose tree is d, from root, which is 0 if it has none.
func decode(doc []byte, d *value.Doc, root uint32) (*Manifest, error) {
	apiVersion, err := typeOf(doc, d, root)
	if err != nil {
		return nil, err
	}
	if crd, strict := decodeFast(doc, d, root, apiVersion); crd != nil {
		m := fromV1(crd)
		m.Strict = strict
		return m, nil
	}
	if err := affordable(d, root); err != nil {
		return nil, err
	}
	if apiVersion == apiVersionB1 {
		return decodeBeta(doc)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	strict, err := decodeStrict(doc, crd, "v1")
	if err != nil {
		return nil, err
	}
	for i := range crd.Spec.Versions {
		if err := checkValues(schema.Of(&crd.Spec.Versions[i])); err != nil {
			return nil, wrongShape("v1", err)
		}
	}
	m := fromV1(crd)
	m.Strict = strict
	return m, nil
}

// fromV1 sends a CRD through the API server's internal form and back, as every CRD goes: versions that say the same in
// different words end up with the words of the first, and an empty webhook disappears.
func fromV1(crd *apiextensionsv1.CustomResourceDefinition) *Manifest {
	setDefaults(crd)
	m := &Manifest{CRD: crd, spec: lift(&crd.Spec)}
	crd.Spec = m.spec.v1()
	return m
}

// typeOf checks that a document is a CRD and returns its apiVersion. Like the API server's, the look ahead does not
// mind the case of keys.
func typeOf(doc []byte, d *value.Doc, root uint32) (string, error) {
	var t struct {
		APIVersion string `json:"apiVersion,omitempty"`
		Kind       string `json:"kind,omitempty"`
	}
	if apiVersion, plain := plainType(d, root); plain {
		return apiVersion, nil
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

// plainType returns the apiVersion of a CRD whose apiVersion and kind are plain strings in the tree.
func plainType(d *value.Doc, root uint32) (apiVersion string, plain bool) {
	if root == 0 || d.Nodes[root].Kind != value.Object {
		return "", false
	}
	named := false
	for c := d.Nodes[root].First; c != 0; c = d.Nodes[c].Next {
		key := d.Key(c)
		isKind, isVersion := strings.EqualFold(key, "kind"), strings.EqualFold(key, "apiVersion")
		if !isKind && !isVersion {
			continue
		}
		if key != "kind" && key != "apiVersion" || d.Nodes[c].Kind != value.String {
			return "", false
		}
		switch text := d.Str(c); {
		case isKind && text == kind:
			named = true
		case isVersion && text == apiVersionV1:
			apiVersion = apiVersionV1
		case isVersion && text == apiVersionB1:
			apiVersion = apiVersionB1
		default:
			return "", false
		}
	}
	return apiVersion, named && apiVersion != ""
}

// decodeStrict decodes into a typed manifest as the API server's strict serializer does.
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
	return &DecodeError{Reason: WrongShape, cause: err, text: fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", kind, version, kind, err)}
}
