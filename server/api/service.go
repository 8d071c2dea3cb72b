// Package api has the gRPC handlers of crdeval.v1.
//
// Handlers check requests against the published limits, call the registry and the engine, and convert results to
// messages. They store nothing. Handlers return plain errors; handlers.go and errors.go convert them to statuses.
// batch.go evaluates the items of a call in parallel, and stream.go those of a stream. codec.go decodes gRPC messages.
//
// RegistryService is in crds.go, conversion.go, diff.go and watch.go, EvaluationService in evaluation.go,
// PresentationService in presentation.go, table.go and discovery.go, and ApiServerService in api_server.go.
package api

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/grpc"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/access"
	"github.com/crdeval/crdeval/server/flow"
	"github.com/crdeval/crdeval/server/registry"
	"github.com/crdeval/crdeval/server/webhook"
)

// Options configure Register.
type Options struct {
	// Registry has the CRDs. Required.
	Registry Registry
	// Limits are enforced and published. Limits.Documents must be those of the registry.
	Limits Limits
	// Version and Commit are in the response of GetServerInfo. Default: "devel" and "".
	Version, Commit string
	// Draining ends watches and streams when it is closed, and rejects new ones. Nil: never.
	Draining <-chan struct{}
	// ItemFailed is called with the reason of each item that ends with an error. May be nil.
	ItemFailed func(reason string)
	// Rejected is called for each call that ends with OVERLOADED, except because of a shutdown. May be nil.
	Rejected func()
	// UnderPressure reports whether memory is short. Streams wait then. May be nil.
	UnderPressure func() bool
	// Visible reports whether ListCatalogs may show a catalog to the caller. Default: all are visible.
	Visible func(caller access.Identity, catalog string) bool
	// Scheduler shares CPU time between the calls. Default: a new one.
	Scheduler *flow.Scheduler
	// MaxStreamIdle is the time without progress after which a stream may lose its slot to another. Default: 1 minute.
	MaxStreamIdle time.Duration
	// MaxWatchStall is the time that a watch waits for a caller that does not read. Default: 1 minute.
	MaxWatchStall time.Duration
	// Log receives internal errors. Default: slog.Default().
	Log *slog.Logger
	// Converted is called for each answered ConversionReview with objects. May be nil.
	Converted func(context.Context, webhook.Observation)
}

func (o Options) withDefaults() Options {
	o.Limits = o.Limits.withDefaults()
	o.Log = cmp.Or(o.Log, slog.Default())
	o.MaxStreamIdle = cmp.Or(o.MaxStreamIdle, time.Minute)
	o.MaxWatchStall = cmp.Or(o.MaxWatchStall, time.Minute)
	if o.ItemFailed == nil {
		o.ItemFailed = func(string) {}
	}
	if o.Rejected == nil {
		o.Rejected = func() {}
	}
	if o.UnderPressure == nil {
		o.UnderPressure = func() bool { return false }
	}
	if o.Scheduler == nil {
		o.Scheduler = flow.New(flow.Options{})
	}
	return o
}

func (o *Options) faults() faults {
	return faults{log: o.Log, itemFailed: o.ItemFailed, rejected: o.Rejected}
}

// Register registers the services of the API.
func Register(r grpc.ServiceRegistrar, o Options) {
	o = o.withDefaults()
	f := o.faults()
	r = registrar{r, f}
	crdevalv1.RegisterRegistryServiceServer(r, &registryService{registry: o.Registry, limits: o.Limits, faults: f, watches: newWatchSlots(&o), visible: o.Visible})
	evaluation := &evaluationService{registry: o.Registry, limits: o.Limits, faults: f, streams: newStreamSlots(&o), scheduler: o.Scheduler}
	crdevalv1.RegisterEvaluationServiceServer(r, evaluation)
	crdevalv1.RegisterApiServerServiceServer(r, &apiServerService{evaluation: evaluation})
	etags, _ := lru.New[documentKey, string](maxETags) // fails only for a size below 1
	crdevalv1.RegisterPresentationServiceServer(r, &presentationService{
		registry: o.Registry, limits: o.Limits, faults: f, etags: etags, scheduler: o.Scheduler,
	})
	crdevalv1.RegisterServerServiceServer(r, newServerService(&o))
}

// ConversionWebhook returns the function that answers ConversionReviews. It does not authorize calls.
func ConversionWebhook(o Options) webhook.ConvertFunc {
	o = o.withDefaults()
	f := o.faults()
	converter := webhook.Converter{
		Registry: o.Registry, Limits: o.Limits.Documents, Scheduler: o.Scheduler, Observe: o.Converted,
	}
	return func(ctx context.Context, r *webhook.Conversion) (*webhook.Converted, error) {
		answer, err := converter.Convert(ctx, r)
		return answer, f.call(ctx, err)
	}
}

type serverService struct {
	crdevalv1.UnsafeServerServiceServer
	info *crdevalv1.GetServerInfoResponse
}

func newServerService(o *Options) *serverService {
	m := &crdevalv1.GetServerInfoResponse{
		Version: cmp.Or(o.Version, "devel"), Commit: o.Commit, Kubernetes: slices.Max(engine.KubernetesVersions()),
		SupportedKubernetes: engine.KubernetesVersions(), Limits: o.Limits.message(),
	}
	return &serverService{info: m}
}

// GetServerInfo returns the version and the limits of the server.
func (s *serverService) GetServerInfo(
	context.Context, *crdevalv1.GetServerInfoRequest,
) (*crdevalv1.GetServerInfoResponse, error) {
	return s.info, nil
}

// Registry is the part of a registry.Registry that the handlers use. It returns *registry.Error, *engine.Error for
// manifests that cannot be evaluated, errors of contexts, and others for internal errors. atLeast is a token or empty:
// the call waits until the registry has seen the write with that token.
type Registry interface {
	RegisterAll(ctx context.Context, catalog string, list []registry.Submission) (done []registry.Submitted, token string, err error)
	SetConversion(ctx context.Context, catalog, name string, change registry.ConversionChange) (registry.Registration, error)
	SetStoredVersions(ctx context.Context, catalog, name string, versions []string, etag string) (registry.Registration, error)
	Watch(ctx context.Context, catalog, from string, f func(registry.Event) error) error
	Compare(ctx context.Context, catalog string, c registry.Comparison, atLeast string) (*registry.Compared, error)
	Check(ctx context.Context, catalog string, one registry.Submission, atLeast string) (registry.Registration, error)
	CRD(ctx context.Context, catalog, name, revision, atLeast string) (*registry.CRD, error)
	CRDs(ctx context.Context, catalog string, p registry.Page, atLeast string) (registry.CRDPage, error)
	Delete(ctx context.Context, catalog, name string, p registry.Precondition) (token string, err error)
	CreateCatalog(ctx context.Context, name, kubernetes string) (c registry.Catalog, token string, err error)
	Catalog(ctx context.Context, name, atLeast string) (registry.Catalog, error)
	Catalogs(ctx context.Context, p registry.Page, atLeast string) (registry.CatalogPage, error)
	DeleteCatalog(ctx context.Context, name string, force bool, etag string) (token string, crds int, err error)
	View(ctx context.Context, catalog, atLeast string) (registry.View, error)
	ViewWith(ctx context.Context, catalog, atLeast string, inlineCrds []engine.Document) (registry.View, error)
}
