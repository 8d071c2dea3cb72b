package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/registry"
)

// presentationService shows objects and catalogs as an API server does: of objects in present_objects.go, of a CRD or a catalog in
// present_catalog.go.
type presentationService struct {
	crdevalv1.UnsafePresentationServiceServer
	registry Registry
	limits   Limits
	faults   faults
	etags    etags
	room     *documentRoom
}

// about is what requests about objects of one CRD have in common.
type about interface {
	GetCatalog() string
	GetCrd() string
	GetVersion() string
	GetRevision() string
	GetAtLeast() string
	GetCrds() []*crdevalv1.Document
}

// subject is the CRD that a request is about, and the version.
type subject struct {
	definition *engine.Definition
	version    string
}

// subjectOf finds the CRD that a request is about: the one it names, or that of the first of its objects. The version is the one that is given, that of the first
// object, or, where there are no objects, the preferred one.
func (s *presentationService) subjectOf(ctx context.Context, r about, objects []engine.Document) (*subject, error) {
	if err := needed(field{"catalog", r.GetCatalog()}); err != nil {
		return nil, err
	}
	if r.GetCrd() == "" && len(objects) == 0 {
		return nil, invalid("crd", "crd is required where there are no objects to find it by")
	}
	overlay, err := overlay(r.GetCrds())
	if err != nil {
		return nil, err
	}
	view, err := viewOf(ctx, s.registry, r.GetCatalog(), r.GetAtLeast(), overlay)
	if err != nil {
		return nil, err
	}
	var first engine.Document
	if len(objects) > 0 {
		first = objects[0]
	}
	found := resolver{view: view, limits: s.limits.Documents}
	d, err := found.definition(ctx, &crdevalv1.EvaluationItem{Crd: r.GetCrd(), Revision: r.GetRevision()}, first)
	if err != nil {
		return nil, err
	}
	version := r.GetVersion()
	switch {
	case version != "":
	case len(objects) == 0:
		version = preferred(d)
	default:
		if version, err = s.versionOf(first, d); err != nil {
			return nil, err
		}
	}
	return &subject{d, version}, nil
}

// versionOf is the version in the apiVersion of an object.
func (s *presentationService) versionOf(o engine.Document, d *engine.Definition) (string, error) {
	apiVersion, _, err := engine.TypeMetaOf(o, s.limits.Documents)
	if err != nil {
		return "", err
	}
	group, version, _ := strings.Cut(apiVersion, "/")
	if group != d.Group() || version == "" {
		return "", invalid("version", "the apiVersion %q of the object is none of group %s: give the object one, or set version", bounded(apiVersion, 256), d.Group())
	}
	return version, nil
}

// preferred is the version that clients take who are not told of one; "" if none is served.
func preferred(d *engine.Definition) string {
	for _, v := range d.Versions() {
		if v.Served {
			return v.Name
		}
	}
	return ""
}

// viewOf is a catalog as it is now, with the CRDs on top that a call brings along.
func viewOf(ctx context.Context, r Registry, catalog, token string, overlay []engine.Document) (registry.View, error) {
	if len(overlay) == 0 {
		return r.View(ctx, catalog, token)
	}
	return r.ViewWith(ctx, catalog, token, overlay)
}

// documents are objects of a request, as the engine takes them.
func (s *presentationService) documents(list []*crdevalv1.Document) ([]engine.Document, error) {
	if len(list) > s.limits.MaxBatchItems {
		return nil, tooMany("objects", "max_batch_items", s.limits.MaxBatchItems)
	}
	all := make([]engine.Document, len(list))
	for i, d := range list {
		if all[i] = given(d); all[i].Absent() {
			return nil, invalid("objects", "objects[%d] is empty: give it JSON or YAML", i)
		}
	}
	return all, nil
}

// aboutVersion adds to an error about a version what it is about.
func (s *subject) aboutVersion(catalog string, err error) error {
	var e *engine.Error
	if s == nil || !errors.As(err, &e) || e.Reason != engine.ReasonVersionNotFound && e.Reason != engine.ReasonVersionNotServed {
		return err
	}
	return &versionError{e, map[string]string{"catalog": catalog, "crd": s.definition.Name(), "version": s.version}}
}

// refusedBy is what an API server would answer instead, if an error of the engine says so.
func refusedBy(err error) *crdevalv1.Rejection {
	var e *engine.Error
	if errors.As(err, &e) {
		return refusal(e.Rejection)
	}
	return nil
}

// mostBytes is how large a document may be that is an answer.
func (s *presentationService) mostBytes() int {
	return s.limits.MaxMessageBytes - s.limits.MaxMessageBytes/roomForFields
}

// fits is the error of an answer that is too large.
func (s *presentationService) fits(what string, size int) error {
	if size <= s.mostBytes() {
		return nil
	}
	return &problem{
		reason:   crdevalv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED,
		message:  fmt.Sprintf("%s of %d bytes has no room in an answer, of which the limit max_message_bytes is %d", what, size, s.limits.MaxMessageBytes),
		metadata: map[string]string{"limit": "max_message_bytes", "maximum": fmt.Sprint(s.limits.MaxMessageBytes), "actual": fmt.Sprint(size)},
	}
}

// quoted is an etag as HTTP has it.
func quoted(etag string) string { return `"` + etag + `"` }

// matches says whether an etag is one of those in the header If-None-Match.
func matches(ifNoneMatch, etag string) bool {
	tags := strings.Split(ifNoneMatch, ",")
	return slices.ContainsFunc(tags, func(t string) bool {
		t = strings.TrimSpace(t)
		return t == "*" || strings.TrimPrefix(t, "W/") == etag
	})
}
