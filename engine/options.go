package engine

import (
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/conversionwebhook"
	"github.com/crdeval/crdeval/engine/document"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/rules"
)

// Options change what a manifest means. The zero value is a stock Kubernetes 1.37 with the default limits and without
// webhooks.
type Options struct {
	// Kubernetes selects the formats and the CEL libraries that a new CRD may use: those of a release from "1.25" to
	// "1.37". The default is that of 1.37, which accepts what 1.36 has, so that a rollback is possible. Everything else is
	// always as in 1.37, and so is the evaluation of rules.
	Kubernetes string
	// FieldValidation says what happens with unknown and duplicate fields of the manifest. The default is
	// FieldValidationWarn, as for an API server; kubectl sends FieldValidationStrict.
	FieldValidation FieldValidation
	// Existing returns the registered CRD of a name, or nil. The manifest of a registered CRD is judged as its update.
	// If Existing is nil, every manifest is a creation.
	Existing func(name string) *Existing
	// Terminating says that the CRD is being deleted: Admit rejects creations, as an API server does.
	Terminating bool
	// Converter converts between versions of CRDs with the Webhook strategy. If it is nil, such conversions fail with
	// ReasonConversionUnavailable.
	Converter conversionwebhook.Converter
	// Conversion, if not absent, has declared conversion rules, which are used instead of Converter: see
	// docs/conversion.md. Rules that do not fit the CRD do not reject it, but its conversions then fail: see
	// convert.ReportOf.
	Conversion Document
	// Observer, if not nil, is called after compilations and evaluations.
	Observer host.Observer
	// Limits bound the documents.
	Limits Limits
}

// KubernetesVersions returns the values of Options.Kubernetes, ascending: from "1.25", the first with rules, to "1.37",
// which the engine reproduces.
func KubernetesVersions() (all []string) {
	for minor := format.OldestMinor; minor <= format.LatestMinor; minor++ {
		all = append(all, format.Version(minor))
	}
	return all
}

// Check returns an *Error with ReasonInvalidArgument if Kubernetes or FieldValidation has another value than documented.
// Compile and Check return it as well.
func (o Options) Check() error {
	if o.Kubernetes != "" && format.Minor(o.Kubernetes) == 0 {
		return invalid("%q is not a supported version of Kubernetes: use 1.%d to 1.%d",
			o.Kubernetes, format.OldestMinor, format.LatestMinor)
	}
	return checkFieldValidation(o.FieldValidation)
}

// Limits bound the documents that are read, and what schemas and violations add to them. A field of 0 or less has its default:
// MaxBytes 3 MiB, MaxDepth 10,000 levels, MaxAliasFactor 10 (how much larger a YAML document gets by its aliases) beyond
// MaxAliasBytes 3 MiB, MaxDefaultBytes 8 MiB, MaxViolations 10,000, and MaxViolationBytes 8 MiB.
type Limits = document.Limits

// Existing is a registered CRD.
type Existing struct {
	// Manifest is Definition.Manifest of its current revision.
	Manifest []byte
	// Conversion are its conversion rules as JSON, nil for none. They apply unless Options.Conversion has others.
	Conversion []byte
	// Generation is metadata.generation, from 1.
	Generation int64
	// Status is its status.
	Status apiextensionsv1.CustomResourceDefinitionStatus
	// Terminating says that it is being deleted. An update does not end that: the compiled Definition is terminating.
	Terminating bool
}

// FieldValidation is the API server's parameter of that name: how unknown and duplicate fields are handled. The zero value
// is FieldValidationWarn.
type FieldValidation = admission.FieldValidation

// The values of FieldValidation. The zero value is the API server's default.
const (
	FieldValidationWarn   = admission.Warn   // warn about each of them
	FieldValidationIgnore = admission.Ignore // drop them silently
	FieldValidationStrict = admission.Strict // reject the object
)

// View is how much of an object a result has.
type View uint8

// The values of View.
const (
	ViewFull    View = iota // the object
	ViewChanged             // the object, if it differs from the one sent
	ViewNone                // no object; for Admit also no Pruned, Defaulted and hints, which is fastest
)

// ValidateOptions change Validate. The zero value is the default of the API server.
type ValidateOptions struct {
	// FieldValidation says what happens with unknown and duplicate fields.
	FieldValidation FieldValidation
	// CompleteMetadata completes the metadata of a manifest for the evaluation as a server would: a namespace
	// ("default" unless the write names one), a name generated from generateName, and on update the name, namespace and
	// resourceVersion of the old object, which are completed likewise. It never hides a violation of something that the
	// manifest has.
	CompleteMetadata bool
	// AsGiven skips pruning, defaulting and preparation: the object is validated as it is, compared with the old object
	// as it is, unless that has to be converted.
	AsGiven bool
	// Brief leaves out Pruned, Defaulted and hints, which is faster.
	Brief bool
	// WithStatus asks for Verdict.Status.
	WithStatus bool
	// Trace selects the rules that are traced.
	Trace rules.TraceMode
}

// AdmitOptions change Admit, Decode and Finish. The zero value is the default of the API server.
type AdmitOptions struct {
	// FieldValidation, CompleteMetadata, WithStatus and Trace are as in ValidateOptions.
	FieldValidation  FieldValidation
	CompleteMetadata bool
	WithStatus       bool
	Trace            rules.TraceMode
	// View selects how much of the object is returned.
	View View
	// Include asks for a Presentation.
	Include PresentationOptions
}

// TransformOptions change Prune, Default and Convert.
type TransformOptions struct {
	// Version is the version of the endpoint: v1. The default is that of the object's apiVersion.
	Version string
	// View selects how much of the object is returned.
	View View
}

// ReadOptions change Read.
type ReadOptions struct {
	// Version and View are as in TransformOptions.
	Version string
	View    View
	// TargetVersion is the version to convert to. The default is not to convert.
	TargetVersion string
	// Include asks for a Presentation.
	Include PresentationOptions
}

// PresentationOptions select the parts of a Presentation.
type PresentationOptions struct {
	// SelectableFields selects the values of the selectable fields, TableRow the row of a table, and Scale the subresource
	// scale.
	SelectableFields, TableRow, Scale bool
	// Now is the time that ages in the table row refer to. The zero value is the time of the call.
	Now time.Time
}
