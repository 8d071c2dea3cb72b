// Package apiserver serves custom resources on k8s.io/apiserver: storage, watches, patches, preconditions and field
// management are upstream's, and the treatment of each object is crdeval's.
//
// New returns a Server of CRDs and their objects. An Evaluator compiles the CRDs, and evaluates their objects:
// InProcess in this process, and package sidecar by calls of a crdeval server. Package apiservertest starts a Server in
// a test.
//
// CRDs with conversion webhooks need a converter, such as NewWebhookConverter, in the options of InProcess, and the
// flag --conversion-webhooks of a sidecar. upstream/run runs the integration tests of k8s.io/apiextensions-apiserver
// against the package, and e2e runs kubectl. The API of the package can still change.
package apiserver

import (
	"context"
	"encoding/json"

	"github.com/crdeval/crdeval/engine/publish"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/kubeserver"
)

// Evaluator compiles CRDs. It is safe for concurrent use.
type Evaluator interface {
	// Compile compiles a stored CRD without validating it.
	Compile(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) (Definition, error)
}

// Remote is an Evaluator that keeps CRDs in another process. Its errors are 503 ServiceUnavailable while it cannot
// reach that process.
type Remote interface {
	Evaluator
	// Remove removes a CRD that was deleted. crd is its last state.
	Remove(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error
	// Outages returns the number of calls that have ended with ServiceUnavailable, whether no call has succeeded since,
	// and the error of the last of them.
	Outages() (count int64, ongoing bool, last error)
}

// Definition evaluates the objects of a CRD. It is immutable and safe for concurrent use. The methods do what those of
// engine.Definition, and the functions of the packages kubeserver and publish, do. The errors are an *engine.Error, or an
// APIStatus that is the response to the client.
//
// The server sets the options FieldValidation, TargetVersion, View and WithStatus. It reads Rejection, Status, Warnings
// and Object of a verdict, and what package kubeserver adds. A Definition may ignore other options and fields.
type Definition interface {
	Body(ctx context.Context, version string, object engine.Document, o kubeserver.WriteOptions) (kubeserver.BodyVerdict, error)
	BodyAndValidate(
		ctx context.Context, w engine.ObjectWrite, o kubeserver.WriteOptions,
	) (kubeserver.BodyAndValidateVerdict, error)
	Validate(ctx context.Context, w engine.ObjectWrite, o kubeserver.WriteOptions) (kubeserver.ValidateVerdict, error)
	SetDefaults(ctx context.Context, object engine.Document, o engine.TransformOptions) (*engine.Transformed, error)
	Read(ctx context.Context, object engine.Document, o engine.ReadOptions) (*engine.Transformed, error)
	Convert(ctx context.Context, object engine.Document, to string, o engine.TransformOptions) (*engine.Transformed, error)
	// FieldManagement, SelectableFields and Select call no other process: the watch cache drops an event if it cannot
	// select the fields of its object.
	FieldManagement(version string) (kubeserver.FieldManagement, error)
	SelectableFields(version string) ([]string, error)
	Select(ctx context.Context, version string, object engine.Document) ([]publish.SelectableField, error)
	GetScale(ctx context.Context, version string, object engine.Document) ([]byte, error)
	SetScale(ctx context.Context, version string, object, scale engine.Document) ([]byte, error)
	// PrintTable returns the JSON of a Table of objects of a served version. It is called only for lists with an object
	// that has items at its root. The server sets the options Decoded, NoHeaders, Object, ResourceVersion, Continue and
	// RemainingItemCount.
	PrintTable(ctx context.Context, version string, objects []engine.Document, o publish.TableOptions) ([]byte, error)
	// Models returns the JSON of publish.OpenAPI.Models.
	Models(ctx context.Context) ([]byte, error)
}

// InProcess is the Evaluator that runs the engine in this process.
type InProcess struct {
	// Options apply to every CRD. Existing and Terminating are ignored.
	Options engine.Options
}

// Compile implements Evaluator.
func (e InProcess) Compile(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) (Definition, error) {
	o := e.Options
	o.Existing, o.Terminating = nil, false
	crd = crd.DeepCopy()
	crd.APIVersion, crd.Kind = apiextensionsv1.SchemeGroupVersion.String(), "CustomResourceDefinition"
	text, err := json.Marshal(crd)
	if err != nil {
		return nil, err
	}
	d, _, err := kubeserver.CompileAsStored(ctx, engine.JSON(text), o)
	if err != nil {
		return nil, err
	}
	return inProcess{d}, nil
}

type inProcess struct{ *engine.Definition }

func (d inProcess) SelectableFields(version string) ([]string, error) {
	return publish.SelectableFields(d.Definition, version)
}

func (d inProcess) Select(ctx context.Context, version string, object engine.Document) ([]publish.SelectableField, error) {
	return publish.Select(ctx, d.Definition, version, object)
}

func (d inProcess) GetScale(ctx context.Context, version string, object engine.Document) ([]byte, error) {
	return publish.GetScale(ctx, d.Definition, version, object)
}

func (d inProcess) SetScale(ctx context.Context, version string, object, scale engine.Document) ([]byte, error) {
	return publish.SetScale(ctx, d.Definition, version, object, scale)
}

func (d inProcess) PrintTable(ctx context.Context, version string, objects []engine.Document, o publish.TableOptions) ([]byte, error) {
	t, err := publish.TableOf(ctx, d.Definition, version, objects, o)
	if err != nil {
		return nil, err
	}
	return t.JSON(), nil
}

func (d inProcess) Body(
	ctx context.Context, version string, object engine.Document, o kubeserver.WriteOptions,
) (kubeserver.BodyVerdict, error) {
	return kubeserver.Body(ctx, d.Definition, version, object, o)
}

func (d inProcess) BodyAndValidate(
	ctx context.Context, w engine.ObjectWrite, o kubeserver.WriteOptions,
) (kubeserver.BodyAndValidateVerdict, error) {
	return kubeserver.BodyAndValidate(ctx, d.Definition, w, o)
}

func (d inProcess) Validate(
	ctx context.Context, w engine.ObjectWrite, o kubeserver.WriteOptions,
) (kubeserver.ValidateVerdict, error) {
	return kubeserver.Validate(ctx, d.Definition, w, o)
}

func (d inProcess) FieldManagement(version string) (kubeserver.FieldManagement, error) {
	return kubeserver.FieldManagementOf(d.Definition, version)
}

func (d inProcess) SetDefaults(
	ctx context.Context, object engine.Document, o engine.TransformOptions,
) (*engine.Transformed, error) {
	return kubeserver.SetDefaults(ctx, d.Definition, object, o)
}

func (d inProcess) Models(ctx context.Context) ([]byte, error) {
	doc, err := publish.OpenAPI{}.Models(ctx, publish.NewCRD(d.Definition, apiextensionsv1.CustomResourceDefinitionStatus{}))
	if err != nil {
		return nil, err
	}
	return doc.JSON, nil
}
