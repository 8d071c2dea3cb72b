package app

import (
	"context"
	"time"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// setHealth sets the health of the server and of each service. While the registry does not follow its store, only its
// service is not serving.
func (a *App) setHealth(s healthv1.HealthCheckResponse_ServingStatus) {
	a.health.SetServingStatus("", s)
	a.health.SetServingStatus(crdevalv1.EvaluationService_ServiceDesc.ServiceName, s)
	a.health.SetServingStatus(crdevalv1.PresentationService_ServiceDesc.ServiceName, s)
	a.health.SetServingStatus(crdevalv1.ApiServerService_ServiceDesc.ServiceName, s)
	a.health.SetServingStatus(crdevalv1.ServerService_ServiceDesc.ServiceName, s)
	if s == healthv1.HealthCheckResponse_SERVING && a.registry.Following() != nil {
		s = healthv1.HealthCheckResponse_NOT_SERVING
	}
	a.health.SetServingStatus(crdevalv1.RegistryService_ServiceDesc.ServiceName, s)
}

// followHealth updates the health of the registry every second until ctx ends.
func (a *App) followHealth(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			a.setHealth(healthv1.HealthCheckResponse_SERVING)
		}
	}
}
