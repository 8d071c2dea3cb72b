package api

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/crdeval/crdeval/engine/publish"

	"google.golang.org/protobuf/types/known/timestamppb"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/flow"
)

type presentationService struct {
	crdevalv1.UnsafePresentationServiceServer
	registry Registry
	limits   Limits
	faults   faults
	etags    *lru.Cache[documentKey, string]

	scheduler *flow.Scheduler
}

// objectRequest has the fields of all requests about objects of one CRD.
type objectRequest interface {
	GetContext() *crdevalv1.EvaluationContext
	item
}

// A subject is what a request is about: the CRD, the version and the objects.
type subject struct {
	catalog    string
	definition *engine.Definition
	version    string
	objects    []engine.Document
	timeout    time.Duration // of an item; 0: none
}

// subject converts the objects of a request and finds the CRD that a request names, or else that of its first object.
// The version is that of the request, that of the first object, or without objects the preferred one.
func (s *presentationService) subject(ctx context.Context, r objectRequest, list []*crdevalv1.Document) (*subject, error) {
	objects, err := givenList(ctx, "objects", list)
	if err != nil {
		return nil, err
	}
	if r.GetCrd() == "" && len(objects) == 0 {
		return nil, invalid("crd", "crd is required if there are no objects")
	}
	_, timeout, err := evaluationOptions(r.GetContext().GetOptions())
	if err != nil {
		return nil, err
	}
	crds, err := givenList(ctx, "context.crds", r.GetContext().GetCrds())
	if err != nil {
		return nil, err
	}
	view, err := openView(ctx, s.registry, r.GetContext(), crds)
	if err != nil {
		return nil, err
	}
	var first engine.Document
	if len(objects) > 0 {
		first = objects[0]
	}
	lookup := resolver{view: view, limits: s.limits.Documents, origins: call.Of(ctx).Origins}
	d, err := lookup.definition(ctx, r, first)
	if err != nil {
		return nil, err
	}
	version := r.GetVersion()
	switch {
	case version != "":
	case len(objects) == 0:
		version = preferredVersion(d)
	default:
		if version, err = s.objectVersion(first, d); err != nil {
			return nil, err
		}
	}
	return &subject{r.GetContext().GetCatalog(), d, version, objects, timeout}, nil
}

// within calls f with the time limit of an item.
func (s *subject) within(ctx context.Context, f func(context.Context) error) error {
	if s.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.timeout)
		defer cancel()
	}
	return f(ctx)
}

// objectVersion returns the version in the apiVersion of an object.
func (s *presentationService) objectVersion(o engine.Document, d *engine.Definition) (string, error) {
	apiVersion, _, err := o.TypeMeta(s.limits.Documents)
	if err != nil {
		return "", err
	}
	group, version, _ := strings.Cut(apiVersion, "/")
	if group != d.Group() || version == "" {
		return "", invalid("version", "the apiVersion %s of the object is not one of group %s: correct it, or set version", quoted(apiVersion), d.Group())
	}
	return version, nil
}

// preferredVersion returns the first served version; "" if none is served.
func preferredVersion(d *engine.Definition) string {
	for _, v := range d.Versions() {
		if v.Served {
			return v.Name
		}
	}
	return ""
}

// addVersion adds to an error about a version the catalog, the CRD and the version.
func (s *subject) addVersion(err error) error {
	e, ok := isAboutVersion(err)
	if !ok {
		return err
	}
	p := engineProblem(e)
	p.Metadata["catalog"], p.Metadata["crd"], p.Metadata["version"] = s.catalog, s.definition.Name(), s.version
	return p
}

// ageReference returns the time from which ages are computed: that of the request, or the present.
func ageReference(name string, given *timestamppb.Timestamp) (time.Time, error) {
	if given == nil {
		return time.Now(), nil
	}
	if err := given.CheckValid(); err != nil {
		return time.Time{}, invalid(name, "%s must be in the years 1 to 9999: %d seconds and %d nanoseconds since 1970 is not",
			name, given.GetSeconds(), given.GetNanos())
	}
	return given.AsTime(), nil
}

// Explain returns the documentation of a resource or of a field.
func (s *presentationService) Explain(ctx context.Context, r *crdevalv1.ExplainRequest) (*crdevalv1.ExplainResponse, error) {
	switch err := required("path", r.GetPath()); {
	case err != nil:
		return nil, err
	case r.GetMaxDepth() < 0:
		return nil, invalid("max_depth", "max_depth is %d: it must be 0 or more", r.GetMaxDepth())
	case r.GetMaxDepth() > 0 && !r.GetRecursive():
		return nil, invalid("max_depth", "max_depth requires recursive")
	}
	view, err := s.registry.View(ctx, r.GetCatalog(), r.GetAtLeast())
	if err != nil {
		return nil, err
	}
	o := publish.ExplainOptions{APIVersion: r.GetApiVersion()}
	if r.GetRecursive() {
		o.Levels = cmp.Or(uint(r.GetMaxDepth()), publish.AllLevels) //nolint:gosec // not negative
	}
	var text string
	err = s.scheduler.Run(ctx, func(ctx context.Context) (err error) {
		text, err = publish.Explain(ctx, r.GetPath(), o, view.AllCRDs(true)...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &crdevalv1.ExplainResponse{Text: valid(text)}, s.limits.checkResponse("the explanation", len(text))
}

// GetScale returns the subresource scale of an object.
func (s *presentationService) GetScale(ctx context.Context, r *crdevalv1.GetScaleRequest) (*crdevalv1.GetScaleResponse, error) {
	m := &crdevalv1.GetScaleResponse{}
	var err error
	m.Scale, m.Rejection, m.Revision, err = s.scale(ctx, r, r.GetObject(), func(ctx context.Context, on *subject) ([]byte, error) {
		return publish.GetScale(ctx, on.definition, on.version, on.objects[0])
	})
	return m, err
}

// SetScale returns an object with the replicas of a Scale.
func (s *presentationService) SetScale(ctx context.Context, r *crdevalv1.SetScaleRequest) (*crdevalv1.SetScaleResponse, error) {
	scale, err := given(call.Of(ctx).Origins, r.GetScale())
	if err != nil {
		return nil, err
	}
	if scale.Absent() {
		return nil, invalid("scale", "scale is required: an autoscaling/v1 Scale")
	}
	m := &crdevalv1.SetScaleResponse{}
	m.Object, m.Rejection, m.Revision, err = s.scale(ctx, r, r.GetObject(), func(ctx context.Context, on *subject) ([]byte, error) {
		text, err := publish.SetScale(ctx, on.definition, on.version, on.objects[0], scale)
		if e := (*engine.Error)(nil); errors.As(err, &e) {
			m.Violations, m.Warnings = violations(e.Violations), warnings(e.Warnings)
		}
		return text, err
	})
	return m, err
}

// scale calls the engine for one object. It returns the document, or the rejection of an API server.
func (s *presentationService) scale(
	ctx context.Context, r objectRequest, object *crdevalv1.Document, f func(context.Context, *subject) ([]byte, error),
) (document *crdevalv1.Document, rejected *crdevalv1.Rejection, revision string, err error) {
	if object.GetContent() == nil {
		return nil, nil, "", invalid("object", "object is required")
	}
	on, err := s.subject(ctx, r, []*crdevalv1.Document{object})
	if err != nil {
		return nil, nil, "", err
	}
	var text []byte
	err = s.scheduler.Run(ctx, func(ctx context.Context) error {
		return on.within(ctx, func(ctx context.Context) (err error) {
			text, err = f(ctx, on)
			return err
		})
	})
	switch rejected = rejectionIn(err); {
	case rejected != nil:
		return nil, rejected, on.definition.Revision(), nil
	case err != nil:
		return nil, nil, "", on.addVersion(err)
	}
	return JSON(text), nil, on.definition.Revision(), s.limits.checkResponse("the document", len(text))
}

// SelectFields returns the fields by which objects can be selected, and whether a selector matches.
func (s *presentationService) SelectFields(
	ctx context.Context, r *crdevalv1.SelectFieldsRequest,
) (*crdevalv1.SelectFieldsResponse, error) {
	on, err := s.subject(ctx, r, r.GetObjects())
	if err != nil {
		return nil, err
	}
	names, err := publish.SelectableFields(on.definition, on.version)
	if err != nil {
		return nil, on.addVersion(err)
	}
	m := &crdevalv1.SelectFieldsResponse{Selectable: allValid(names), Revision: on.definition.Revision()}
	selector, err := publish.ParseFieldSelector(on.definition, on.version, r.GetSelector())
	if m.Rejection = rejectionIn(err); m.Rejection != nil {
		return m, nil
	}
	if err != nil {
		return nil, err
	}
	var b budget
	b.reset(s.limits.MaxMessageBytes, len(on.objects)*reservedErrorBytes)
	work := s.scheduler.Start(ctx)
	defer work.Close()
	for i := range on.objects {
		var fields []publish.SelectableField
		err := work.Item(func(ctx context.Context) error {
			return on.within(ctx, func(ctx context.Context) (err error) {
				fields, err = publish.Select(ctx, on.definition, on.version, on.objects[i])
				return err
			})
		})
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		result := &crdevalv1.SelectFieldsResult{}
		if err == nil {
			selected := &crdevalv1.SelectedFields{Fields: selectableFields(fields), Matches: selector.Matches(fields)}
			result.Result = &crdevalv1.SelectFieldsResult_Selected{Selected: selected}
			err = b.take(encodedSize(result))
		}
		if err != nil {
			st := s.faults.status(ctx, listError(err))
			if !b.takeBeyond(st, reservedErrorBytes) {
				st = s.faults.status(ctx, b.exceeded())
			}
			result.Result = &crdevalv1.SelectFieldsResult_Error{Error: st}
		}
		m.Results = append(m.Results, result)
	}
	return m, nil
}

// listError returns the error of an object. A rejection is an error here: it would fail the list that the object is in.
func listError(err error) error {
	var e *engine.Error
	if errors.As(err, &e) && e.Reason == engine.ReasonObjectRejected {
		return invalid("objects", "%s", e.Message)
	}
	return err
}
