package main

import (
	"context"
	"time"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
)

// evaluator evaluates the objects of a run: with the engine in this process, or with the service of --server.
type evaluator interface {
	// report compiles a CRD of the run, or has the service check it, and returns what an API server answers.
	report(ctx context.Context, c *workspace.CRD) *crdReport
	// setRules adds conversion rules to the CRDs of the run that they are for.
	setRules(ctx context.Context, rules *workspace.Manifest, crds []*workspace.CRD) (*crdReport, error)
	// registered reports whether CRDs that are not given can be used.
	registered() bool
	// admit evaluates writes. The error ends the run.
	admit(ctx context.Context, list []question, o engine.AdmitOptions, limit time.Duration) ([]answer, error)
	// table returns the meta.k8s.io/v1 Table of objects of a version as JSON.
	table(ctx context.Context, crd *workspace.CRD, version string, objects [][]byte, now time.Time) ([]byte, error)
	// matching reports which objects of a version match a field selector.
	matching(ctx context.Context, crd *workspace.CRD, version, selector string, objects [][]byte) ([]bool, error)
	close()
}

// question is a write of an object of a CRD. The crd is nil for a CRD that only the service has.
type question struct {
	crd   *workspace.CRD
	write engine.Write
	// of has the document with the positions, nil for a patch.
	of *workspace.Manifest
}

// answer is the verdict on a write, or why the write was not evaluated.
type answer struct {
	verdict *engine.Verdict
	err     error
}
