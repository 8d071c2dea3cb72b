package app

import (
	"testing"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

// Each service has a health of its own, so that who registers can tell when that fails.
func TestHealthOfServices(t *testing.T) {
	r := start(t)
	r.ready(t)
	health := healthv1.NewHealthClient(r.conn(t))
	for _, service := range []string{"", "crdeval.v1.RegistryService", "crdeval.v1.EvaluationService", "crdeval.v1.ServerService"} {
		if got, err := health.Check(t.Context(), &healthv1.HealthCheckRequest{Service: service}); err != nil || got.GetStatus() != healthv1.HealthCheckResponse_SERVING {
			t.Errorf("%q: %v, %v", service, got, err)
		}
	}
}
