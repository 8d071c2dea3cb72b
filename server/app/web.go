package app

import (
	"context"
	"net/http"

	"github.com/crdeval/crdeval/engine/value"
	"github.com/crdeval/crdeval/server/gateway"
	"github.com/crdeval/crdeval/server/transport"
)

// startWeb creates the HTTP servers: the REST gateway, and the one of --metrics-address, which serves some of its paths.
func (a *App) startWeb(ctx context.Context) error {
	bodies := gateway.NewBodies(int64(a.config.restBodyBytes()), a.rejected)
	context.AfterFunc(a.draining, bodies.Drain)
	a.telemetry.ObserveBodies(bodies.Taken)
	metrics := a.telemetry.Handler()
	pages := map[string]http.Handler{}
	if a.config.MetricsAddress == "" {
		pages["/metrics"] = metrics
	}
	rest, err := gateway.New(ctx, a.inProcess, gateway.Options{
		MaxBodyBytes: int64(a.config.MaxMessageBytes), Bodies: bodies, Lists: a.config.limits().Lists(), Pages: pages, Trouble: a.trouble,
		Reviewed: a.telemetry.CountReviews(),
		Before:   func(r *http.Request) error { return a.gate.Check(r.Header.Get("Authorization")) },
		Limits: value.Limits{
			MaxDepth: a.config.MaxDocumentDepth, MaxAliasFactor: a.config.MaxAliasFactor, MaxAliasBytes: int(a.config.MaxAliasBytes),
		},
	})
	if err != nil {
		return err
	}
	// Without http.ServeMux, which answers some paths with a redirect in HTML.
	if err := a.addWeb(ctx, a.telemetry.HTTPHandler(rest), a.config.httpAddresses(), a.tls); err != nil {
		return err
	}
	if a.config.MetricsAddress == "" {
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.Handle("GET /healthz", rest)
	mux.Handle("GET /readyz", rest)
	return a.addWeb(ctx, mux, []string{a.config.MetricsAddress}, nil)
}

// addWeb serves h at addresses, with TLS if t is not nil.
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
