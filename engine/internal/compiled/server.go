package compiled

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/rules"
)

// ServerStage is a part of a write that only API servers call, through package kubeserver.
type ServerStage uint8

// The values of ServerStage.
const (
	ServerBody            ServerStage = iota + 1 // the body is decoded
	ServerValidate                               // an object that admission may have changed is prepared and validated
	ServerBodyAndValidate                        // ServerBody, and whether ServerValidate would accept the object
)

// ServerRequest is a call of a ServerStage.
type ServerRequest struct {
	Stage           ServerStage
	Write           any // a engine.Write
	FieldValidation admission.FieldValidation
	Trace           rules.TraceMode
	View            uint8 // an engine.View
	WithStatus      bool
}

// ServerOutcome is the result of a ServerStage besides the verdict.
type ServerOutcome struct {
	StrictErrors []string
	// ReadsAsWritten and Valid are those of an admission.Outcome.
	ReadsAsWritten, Valid bool
}

// ServerWrite calls a stage of a *engine.Definition and returns a *engine.Verdict. Package engine sets it when it is
// initialized.
var ServerWrite func(ctx context.Context, definition any, r ServerRequest) (verdict any, out ServerOutcome, err error)

// SetDefaults returns the *engine.Transformed of Default with nulls kept. Package engine sets it when it is initialized.
// view is an engine.View.
var SetDefaults func(
	ctx context.Context, definition any, object Document, version string, view uint8,
) (transformed any, err error)

// CompileStored and CompileAsStored compile a CRD of a storage with engine.Options, and return a *engine.Definition.
// Package engine sets them when it is initialized.
var (
	CompileStored   func(ctx context.Context, canonical []byte, options any) (definition any, err error)
	CompileAsStored func(ctx context.Context, manifest Document, options any) (
		definition any, crd *apiextensionsv1.CustomResourceDefinition, err error)
)
