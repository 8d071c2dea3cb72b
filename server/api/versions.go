package api

import (
	"errors"
	"strings"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// versionError is an engine's error about a version, with the names of what has or lacks it.
type versionError struct {
	cause    *engine.Error
	metadata map[string]string
}

// Error returns the engine's text.
func (e *versionError) Error() string { return e.cause.Error() }

// Unwrap makes it the engine's error for everybody else.
func (e *versionError) Unwrap() error { return e.cause }

// aboutVersion adds to an error about a version which catalog, CRD and version it is about. r has evaluated the item.
func (b *batch) aboutVersion(r *resolver, item *crdevalv1.EvaluationItem, err error) error {
	var e *engine.Error
	if !errors.As(err, &e) || e.Reason != engine.ReasonVersionNotFound && e.Reason != engine.ReasonVersionNotServed || r.found == nil {
		return err
	}
	about := &versionError{e, map[string]string{"catalog": b.catalog, "crd": r.found.Name()}}
	_, own, _ := strings.Cut(r.last.apiVersion, "/")
	for _, version := range []string{item.GetVersion(), b.options.TargetVersion, own} {
		if version != "" && !has(r.found, version, e.Reason == engine.ReasonVersionNotServed) {
			about.metadata["version"] = version
			break
		}
	}
	return about
}

// has says whether a CRD has a version, and serves it if it must.
func has(d *engine.Definition, version string, served bool) bool {
	for _, v := range d.Versions() {
		if v.Name == version {
			return v.Served || !served
		}
	}
	return false
}
