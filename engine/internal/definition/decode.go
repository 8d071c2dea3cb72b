package definition

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/json"

	"github.com/crdeval/crdeval/engine/internal/schema"
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
	// Strict are the texts of unknown and duplicate fields, as the API server words its warnings (and, where the caller asks for
	// strict validation, its refusal). At most 100. Like the API server it does not look for them below items,
	// additionalProperties and the other keywords whose value is a schema or something else.
	Strict []string

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
	// WrongShape: it is a CRD, but a field holds a value of the wrong type; the API server answers 400 with this error's text.
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

// Decode reads a CRD manifest, apiextensions.k8s.io/v1 or v1beta1, from JSON. The caller bounds its size and depth.
// The error is a *DecodeError.
func Decode(doc []byte) (*Manifest, error) {
	apiVersion, err := typeOf(doc)
	if err != nil {
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

// fromV1 sends a CRD through the API server's internal form and back, as every CRD goes: versions that say the same in different
// words end up with the words of the first, and an empty webhook disappears.
func fromV1(crd *apiextensionsv1.CustomResourceDefinition) *Manifest {
	setDefaults(crd)
	m := &Manifest{CRD: crd, spec: lift(&crd.Spec)}
	crd.Spec = m.spec.v1()
	return m
}

// typeOf checks that a document is a CRD and returns its apiVersion. Like the API server's, the look ahead does not mind the case
// of keys.
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

// checkValues makes sure that defaults, examples and enums hold numbers that Go can hold. All else about their JSON was checked
// when the manifest was decoded; these are kept as text by the API's types, but not by the API server's internal ones.
func checkValues(s *schema.Props) error {
	var err error
	schema.Any(s, func(s *schema.Props) bool {
		err = errors.Join(checkValue(s.Default), checkValue(s.Example))
		for i := range s.Enum {
			err = errors.Join(err, checkValue(&s.Enum[i]))
		}
		return err != nil
	})
	return err
}

// longestPlain is a length below which a number without an exponent cannot overflow a float64.
const longestPlain = 300

func checkValue(j *apiextensionsv1.JSON) error {
	if j == nil || len(j.Raw) < longestPlain && !bytes.ContainsAny(j.Raw, "eE") {
		return nil
	}
	var v any
	return utiljson.Unmarshal(j.Raw, &v)
}

// setDefaults fills in what the API server fills in on a v1 manifest.
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
