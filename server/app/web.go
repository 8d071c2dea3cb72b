package app

import (
	"context"
	"encoding/json"
	"net/http"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/crdeval/crdeval/engine/value"
	"github.com/crdeval/crdeval/server/gateway"
	"github.com/crdeval/crdeval/server/transport"
)

// startWeb creates the HTTP servers: the REST gateway, and the one of --metrics-address.
func (a *App) startWeb(ctx context.Context) error {
	if addresses := a.config.httpAddresses(); len(addresses) > 0 {
		bodies := gateway.NewBodies(int64(a.config.restBodyBytes()), a.rejected)
		context.AfterFunc(a.draining, bodies.Drain)
		if err := a.telemetry.ObserveBodies(bodies.Taken); err != nil {
			return err
		}
		lists := map[string]gateway.ListLimit{}
		for name, l := range a.config.limits().Lists() {
			lists[name] = gateway.ListLimit(l)
		}
		reviewed, err := a.telemetry.CountReviews()
		if err != nil {
			return err
		}
		pages := map[string]http.Handler{}
		if a.config.MetricsAddress == "" {
			pages["/metrics"] = a.telemetry.Handler()
		}
		rest, err := gateway.New(ctx, a.inProcess, gateway.Options{
			MaxBodyBytes: int64(a.config.MaxMessageBytes), Bodies: bodies, Lists: lists, Pages: pages, Trouble: a.trouble,
			Reviewed: reviewed, UnderPressure: a.short,
			Before: func(r *http.Request) error { return a.gate.Check(r.Header.Get("Authorization")) },
			Limits: value.Limits{
				MaxDepth: a.config.MaxDocumentDepth, MaxAliasFactor: a.config.MaxAliasFactor, MaxAliasBytes: int(a.config.MaxAliasBytes),
			},
		})
		if err != nil {
			return err
		}
		// Without http.ServeMux, which answers some paths with a redirect in HTML.
		if err := a.addWeb(ctx, a.telemetry.HTTPHandler(rest), addresses, a.tls); err != nil {
			return err
		}
	}
	if a.config.MetricsAddress != "" {
		return a.addWeb(ctx, a.operations(), []string{a.config.MetricsAddress}, nil)
	}
	return nil
}

func (a *App) addWeb(ctx context.Context, h http.Handler, addresses []string, t *transport.TLS) error {
	listeners, err := a.listen(ctx, addresses)
	if err != nil {
		return err
	}
	for i := range listeners {
		listeners[i] = transport.SecureHTTP(listeners[i], t)
	}
	a.web = append(a.web, web{transport.NewHTTPServer(h, a.log), listeners})
	return nil
}

// operations returns the handler for orchestrators and Prometheus.
func (a *App) operations() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.telemetry.Handler())
	mux.HandleFunc("GET /healthz",
		func(w http.ResponseWriter, _ *http.Request) { writeStatus(w, healthv1.HealthCheckResponse_SERVING, "") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		answer, err := a.health.Check(r.Context(), &healthv1.HealthCheckRequest{})
		if err != nil {
			writeStatus(w, healthv1.HealthCheckResponse_NOT_SERVING, "")
			return
		}
		writeStatus(w, answer.GetStatus(), a.trouble())
	})
	return mux
}

// writeStatus writes the response of /healthz and /readyz, like the gateway.
func writeStatus(w http.ResponseWriter, s healthv1.HealthCheckResponse_ServingStatus, trouble string) {
	w.Header().Set("Content-Type", "application/json")
	if s != healthv1.HealthCheckResponse_SERVING {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	answer := map[string]string{"status": s.String()}
	if trouble != "" {
		answer["trouble"] = trouble
	}
	_ = json.NewEncoder(w).Encode(answer)
}
