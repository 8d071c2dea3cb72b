package sidecar

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/crdeval/crdeval/engine/kubeserver"
	"github.com/crdeval/crdeval/engine/publish"

	"golang.org/x/sync/singleflight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/clients/apiserver"
	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// definition is a CRD that is registered in the catalog of the Evaluator.
type definition struct {
	*Evaluator
	name         string
	manifest     []byte // compressed
	notOlderThan int64
	management   map[string]kubeserver.FieldManagement // of the served versions
	selectable   map[string]*kubeserver.FieldReader    // of the served versions
	unary        []grpc.CallOption                     // of calls for one object
	current      atomic.Pointer[registration]
	flight       singleflight.Group
}

// registration is where the server has a CRD.
type registration struct {
	revision string
	token    string // of the write
}

// Compile implements apiserver.Evaluator.
func (e *Evaluator) Compile(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) (apiserver.Definition, error) {
	manifest, err := manifestOf(crd)
	if err != nil {
		return nil, err
	}
	d := &definition{
		Evaluator: e, name: crd.Name, manifest: manifest, notOlderThan: resourceVersion(crd),
		selectable: map[string]*kubeserver.FieldReader{},
	}
	// The server would convert the objects of a stream with one call of a webhook, so one could fail because of another.
	if c := crd.Spec.Conversion; c != nil && c.Strategy == apiextensionsv1.WebhookConverter {
		d.unary = []grpc.CallOption{grpc.EmptyCallOption{}} // calls with options share no streams
	}
	for i := range crd.Spec.Versions {
		if v := &crd.Spec.Versions[i]; v.Served {
			d.selectable[v.Name] = kubeserver.NewFieldReader(v, crd.Spec.Scope)
		}
	}
	if err := e.result(ctx, d.register(ctx)); err != nil {
		return nil, err
	}
	if err := d.loadFieldManagement(ctx); err != nil {
		return nil, err
	}
	return d, nil
}

// manifestOf returns a CRD as it is stored, but established: the server evaluates no objects of other CRDs, and the API
// server decides when it serves a CRD. The text is compressed, because it is rarely needed again.
func manifestOf(crd *apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	crd = crd.DeepCopy()
	crd.APIVersion, crd.Kind = apiextensionsv1.SchemeGroupVersion.String(), "CustomResourceDefinition"
	crd.ManagedFields = nil
	established := apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}
	crd.Status.Conditions = slices.DeleteFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established
	})
	crd.Status.Conditions = append(crd.Status.Conditions, established)
	var text bytes.Buffer
	w := gzip.NewWriter(&text)
	if err := errors.Join(json.NewEncoder(w).Encode(crd), w.Close()); err != nil {
		return nil, err
	}
	return bytes.Clone(text.Bytes()), nil
}

func decompressed(text []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// register registers the CRD, and creates the catalog if it does not exist.
func (d *definition) register(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	manifest, err := decompressed(d.manifest)
	if err != nil {
		return err
	}
	request := &crdevalv1.RegisterCrdRequest{
		Catalog: d.catalog, Manifest: jsonDocument(manifest), AsStored: true, NotOlderThan: d.notOlderThan,
	}
	r, err := d.client.Registry().RegisterCrd(ctx, request)
	if reasonOf(err) == crdevalv1.ErrorReason_ERROR_REASON_CATALOG_NOT_FOUND {
		_, err = d.client.Registry().CreateCatalog(ctx, &crdevalv1.CreateCatalogRequest{Catalog: d.catalog})
		if err == nil || status.Code(err) == codes.AlreadyExists {
			r, err = d.client.Registry().RegisterCrd(ctx, request)
		}
	}
	switch {
	case reasonOf(err) == crdevalv1.ErrorReason_ERROR_REASON_CRD_OUTDATED:
		return d.find(ctx)
	case err != nil:
		return err
	case !r.GetAccepted():
		return &engine.Error{Reason: engine.ReasonManifestUnreadable, Message: fmt.Sprintf("CRD %s: %s", d.name, r.GetReport().GetRejection().GetMessage())}
	}
	d.current.Store(&registration{r.GetCrd().GetRevision(), r.GetToken()})
	return nil
}

// find looks for the revision of the Definition in a catalog with a newer CRD. The newer one may differ in its status only.
func (d *definition) find(ctx context.Context) error {
	old := d.current.Load()
	if old == nil {
		return outdatedError{d.name}
	}
	_, err := d.client.Registry().GetCrd(ctx, &crdevalv1.GetCrdRequest{
		Catalog: d.catalog, Crd: d.name, Revision: old.revision, View: crdevalv1.CrdView_CRD_VIEW_BASIC,
	})
	switch {
	case isLost(err):
		return outdatedError{d.name}
	case err == nil:
		d.current.Store(&registration{revision: old.revision})
	}
	return err
}

// registerAgain registers the CRD after a call with an old registration has failed. Calls that fail at the same time
// register it once.
func (d *definition) registerAgain(ctx context.Context, old *registration) error {
	done := d.flight.DoChan("", func() (any, error) {
		if d.current.Load() != old {
			return nil, nil // registered since
		}
		return nil, d.register(context.WithoutCancel(ctx))
	})
	select {
	case r := <-done:
		return r.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// call calls the server with the registration of a Definition. If the server has lost the CRD, call registers it again and
// repeats the call once. Only the repeated call has the token of the registration: a replica may not have it yet. Calls without
// tokens can share the streams of a client that multiplexes.
func call[R any](ctx context.Context, d *definition, f func(context.Context, *registration) (R, error)) (R, error) {
	attempt := func(at *registration) (R, error) {
		ctx, cancel := context.WithTimeout(ctx, d.timeout)
		defer cancel()
		return f(ctx, at)
	}
	at := d.current.Load()
	r, err := attempt(&registration{revision: at.revision})
	if isLost(err) {
		if err = d.registerAgain(ctx, at); err == nil {
			r, err = attempt(d.current.Load())
		}
	}
	return r, d.result(ctx, err)
}

// loadFieldManagement loads the FieldManagement of all served versions.
func (d *definition) loadFieldManagement(ctx context.Context) error {
	m, err := call(ctx, d, func(ctx context.Context, at *registration) (*crdevalv1.GetFieldManagementResponse, error) {
		return d.client.APIServer().GetFieldManagement(ctx, &crdevalv1.GetFieldManagementRequest{
			Catalog: d.catalog, Crd: d.name, Revision: at.revision, AtLeast: at.token,
		})
	})
	if err != nil {
		return err
	}
	var paths []kubeserver.ReplicasPath
	for _, p := range m.GetReplicasPaths() {
		paths = append(paths, kubeserver.ReplicasPath{APIVersion: p.GetApiVersion(), Fields: p.GetFields()})
	}
	d.management = map[string]kubeserver.FieldManagement{}
	for _, v := range m.GetVersions() {
		management := kubeserver.FieldManagement{APIVersion: v.GetApiVersion(), ReplicasPaths: paths}
		for _, f := range v.GetResetFields() {
			reset, err := kubeserver.NewResetFields(f.GetSubresource(), f.GetApiVersion(), f.GetFields().GetJson())
			if err != nil {
				return err
			}
			management.ResetFields = append(management.ResetFields, reset)
		}
		_, version, _ := strings.Cut(v.GetApiVersion(), "/")
		d.management[version] = management
	}
	return nil
}

// FieldManagement implements apiserver.Definition.
func (d *definition) FieldManagement(version string) (kubeserver.FieldManagement, error) {
	m, ok := d.management[version]
	if !ok {
		return m, d.notServed(version)
	}
	return m, nil
}

func (d *definition) notServed(version string) error {
	return &engine.Error{Reason: engine.ReasonVersionNotServed, Message: fmt.Sprintf("version %q of CRD %s is not served", version, d.name)}
}

// SelectableFields implements apiserver.Definition.
func (d *definition) SelectableFields(version string) ([]string, error) {
	r, ok := d.selectable[version]
	if !ok {
		return nil, d.notServed(version)
	}
	return r.Names(), nil
}

// Select implements apiserver.Definition. It reads the fields in this process.
func (d *definition) Select(_ context.Context, version string, object engine.Document) ([]publish.SelectableField, error) {
	r, ok := d.selectable[version]
	if !ok {
		return nil, d.notServed(version)
	}
	return r.Read(object, engine.Limits{})
}
