package app

import (
	"context"
	"time"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// followInterval is how often health looks whether the registry follows its store.
const followInterval = time.Second

// become sets the health of the server, and with it that of each service. What the registry cannot do at the moment the others can do without.
func (a *App) become(s healthv1.HealthCheckResponse_ServingStatus) {
	a.health.SetServingStatus("", s)
	a.health.SetServingStatus(crdevalv1.EvaluationService_ServiceDesc.ServiceName, s)
	a.health.SetServingStatus(crdevalv1.PresentationService_ServiceDesc.ServiceName, s)
	a.health.SetServingStatus(crdevalv1.ServerService_ServiceDesc.ServiceName, s)
	if s == healthv1.HealthCheckResponse_SERVING && a.registry.Following() != nil {
		s = healthv1.HealthCheckResponse_NOT_SERVING
	}
	a.health.SetServingStatus(crdevalv1.RegistryService_ServiceDesc.ServiceName, s)
}

// followHealth keeps the health of the registry's service true until ctx ends: in a partition, evaluation goes on and registrations fail.
func (a *App) followHealth(ctx context.Context) {
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			a.become(healthv1.HealthCheckResponse_SERVING)
		}
	}
}

// trouble says what does not work although the server is ready, "" if all does.
func (a *App) trouble() string {
	if a.registry.Following() == nil {
		return ""
	}
	return "the registry's store cannot be followed, the log says why: what is known is evaluated, registrations fail"
}
