package app

import (
	"context"
	"errors"
	"net"
	"net/http"

	"google.golang.org/grpc/peer"

	"github.com/crdeval/crdeval/engine/document"
	"github.com/crdeval/crdeval/server/access/audit"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/gateway"
	"github.com/crdeval/crdeval/server/registry"
	"github.com/crdeval/crdeval/server/registry/directory"
	"github.com/crdeval/crdeval/server/transport"
)

// startWeb creates the HTTP servers for --http-address (the REST gateway), --metrics-address and --pprof-address.
func (a *App) startWeb(ctx context.Context) error {
	bodies := gateway.NewBodies(func() { a.rejected(transport.RejectedMemory) })
	context.AfterFunc(a.draining, bodies.Drain)
	metrics := a.telemetry.Handler()
	pages := map[string]http.Handler{}
	if a.config.MetricsAddress == "" {
		pages["/metrics"] = metrics
	}
	calls, err := a.addPlayground(pages)
	if err != nil {
		return err
	}
	rest, err := gateway.New(ctx, a.inProcess, gateway.Options{
		MaxBodyBytes: int64(a.config.MaxMessageBytes), Bodies: bodies, Lists: a.config.limits().Lists(), Pages: pages, Calls: calls,
		Reviewed: a.telemetry.CountReviews(),
		Entry:    a.entry, Convert: a.convert,
		Limits: document.Limits{
			MaxDepth: a.config.MaxDocumentDepth, MaxAliasFactor: a.config.MaxAliasFactor, MaxAliasBytes: int(a.config.MaxAliasBytes),
		},
	})
	if err != nil {
		return err
	}
	// Without http.ServeMux, which answers some paths with a redirect in HTML.
	handler := rest
	if a.config.Playground {
		handler = playgroundIndex(rest)
	}
	if err := a.addWeb(ctx, a.telemetry.HTTPHandler(handler), a.config.httpAddresses(), a.tls); err != nil {
		return err
	}
	if a.config.MetricsAddress != "" {
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", metrics)
		mux.Handle("GET /healthz", rest)
		mux.Handle("GET /readyz", rest)
		if err := a.addWeb(ctx, transport.IgnoreBodies(mux), []string{a.config.MetricsAddress}, nil); err != nil {
			return err
		}
		a.web[len(a.web)-1].server.WriteTimeout = transport.WritePatience // the gateway sets that of its own responses
	}
	return a.startPprof(ctx)
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
	h = a.rejectCrossSite(h, listeners, t != nil)
	a.web = append(a.web, web{transport.NewHTTPServer(h, a.log), listeners})
	return nil
}

// startDirectories loads and watches the directories of --crds. The server is ready after the first load.
func (a *App) startDirectories(ctx context.Context) error {
	if len(a.config.CRDs) == 0 {
		close(a.loaded)
		return nil
	}
	catalog := a.config.CRDsCatalog
	loader, err := directory.New(audit.Watch(a.registry, a.audit), directory.Options{Directories: a.config.CRDs, Catalog: catalog, Log: a.log})
	if err != nil {
		return err
	}
	var e *registry.Error
	if _, err = a.registry.Catalog(ctx, catalog, ""); errors.As(err, &e) && e.Reason == registry.CatalogNotFound {
		_, _, err = audit.Watch(a.registry, a.audit).CreateCatalog(audit.Server(ctx, "--crds"), catalog, "")
	}
	if err != nil && (!errors.As(err, &e) || e.Reason != registry.CatalogExists) { // another replica may have created it
		return err
	}
	a.task(func(ctx context.Context) { loader.Run(audit.Server(ctx, "--crds"), func() { close(a.loaded) }) })
	a.telemetry.ObserveDirectories(loader.Stats)
	return nil
}

// rejectCrossSite rejects requests that web pages of other sites send. At loopback addresses without TLS, it also
// checks Host. At other addresses, proxies choose the Host, and certificates protect TLS.
func (a *App) rejectCrossSite(h http.Handler, listeners []net.Listener, secure bool) http.Handler {
	local := map[string]bool{}
	for _, l := range listeners {
		if address := l.Addr(); !secure && address.Network() == "tcp" && loopback(address.String()) {
			local[address.String()] = true
		}
	}
	hosts := append([]string{"localhost"}, a.config.AllowedHosts...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var sites transport.CrossSite
		if address, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && local[address.String()] {
			sites.Hosts = hosts
		}
		if err := sites.Check(r); err != nil {
			transport.IgnoreBody(w, r)
			from := call.With(peer.NewContext(r.Context(), gateway.PeerOf(r)), &call.Call{RequestID: r.Header.Get("X-Request-Id")})
			gateway.WriteError(w, a.guard.DenyRequest(r.WithContext(from), err))
			return
		}
		h.ServeHTTP(w, r)
	})
}
