package main

import (
	"context"
	"fmt"

	"github.com/crdeval/crdeval/engine/publish"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// publisher returns the documents that an API server publishes about CRDs.
type publisher interface {
	registrar
	// discover returns the aggregated discovery document.
	discover(ctx context.Context) ([]byte, error)
	openAPIV2(ctx context.Context) ([]byte, error)
	// openAPIV3 returns the document of a group and version, or the index if both are empty.
	openAPIV3(ctx context.Context, group, version string) ([]byte, error)
	explain(ctx context.Context, path string, o publish.ExplainOptions) (string, error)
}

// publishedExitCodes are the exit codes of commands about published CRDs.
const publishedExitCodes = `

Exit code 0: success. Exit code 1: a CRD is rejected. It is reported on stderr and omitted. Exit code 2: a document could not be read, or the usage is wrong.`

// missingFiles is the error for a command without files and without --server.
const missingFiles = `expected FILE..., or --server`

// registerAndPrint registers the CRDs of files, if any, calls print, and returns errRejected if a CRD was rejected.
func registerAndPrint[R registrar](
	ctx context.Context, env environment, r R, files []string, print func(R) error,
) error {
	defer r.close()
	crds, err := env.files(false).CRDs(ctx, files...)
	if err != nil {
		return err
	}
	rejected := false
	for _, crd := range crds {
		j := r.registerCRD(ctx, crd, registration{adopts: crd.AsCRD().Established})
		switch {
		case j.Error != "":
			return fmt.Errorf("%s: %s", where(crd), j.Error)
		case !j.Accepted:
			rejected = true
			if err := j.print(env.stderr); err != nil {
				return err
			}
		}
	}
	if err := print(r); err != nil || !rejected {
		return err
	}
	return errRejected
}

// publish registers the CRDs of files and calls print.
func (f *serviceFlags) publish(
	ctx context.Context, env environment, files []string, print func(publisher) error,
) error {
	p, err := f.open()
	if err != nil {
		return err
	}
	return registerAndPrint(ctx, env, publisher(p), files, print)
}

func (l *local) discover(context.Context) ([]byte, error) {
	document, _ := publish.Discover(l.catalog.CRDs(false)...).Aggregated()
	return document, nil
}

func (l *local) openAPIV2(ctx context.Context) ([]byte, error) {
	return documentOf(publish.OpenAPI{}.V2(ctx, l.catalog.CRDs(true)...))
}

func (l *local) openAPIV3(ctx context.Context, group, version string) ([]byte, error) {
	if group == "" {
		return documentOf(publish.OpenAPI{}.V3Index(ctx, "", l.catalog.CRDs(true)...))
	}
	return documentOf(publish.OpenAPI{}.V3(ctx, group, version, l.catalog.CRDs(true)...))
}

func documentOf(d *publish.OpenAPIDocument, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return d.JSON, nil
}

func (l *local) explain(ctx context.Context, path string, o publish.ExplainOptions) (string, error) {
	return publish.Explain(ctx, path, o, l.catalog.CRDs(true)...)
}

func (s *service) discover(ctx context.Context) ([]byte, error) {
	document, err := s.Discover(ctx)
	return document, s.fail("", err)
}

func (s *service) openAPIV2(ctx context.Context) ([]byte, error) {
	document, err := s.OpenAPIV2(ctx)
	return document, s.fail("", err)
}

func (s *service) openAPIV3(ctx context.Context, group, version string) ([]byte, error) {
	document, err := s.OpenAPIV3(ctx, group, version)
	return document, s.fail("", err)
}

func (s *service) explain(ctx context.Context, path string, o publish.ExplainOptions) (string, error) {
	request := &crdevalv1.ExplainRequest{Catalog: s.catalog, Path: path, ApiVersion: o.APIVersion, Recursive: o.Levels > 0}
	if o.Levels != publish.AllLevels {
		request.MaxDepth = int32(o.Levels) //nolint:gosec // of a flag
	}
	answer, err := s.Presentation().Explain(ctx, request)
	return answer.GetText(), s.fail("", err)
}
