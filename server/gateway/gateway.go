// Package gateway is the REST API of the service: JSON and YAML over HTTP on the handlers of the gRPC services.
//
// grpc-gateway routes requests by the annotations in proto/, reads path and query parameters, and calls the services
// through a grpc.ClientConnInterface. In the server, that is an inprocess.Conn. Package codec has the JSON of messages.
//
// This package checks paths, queries and headers (routes.go, query.go, headers.go), reads bodies before the call
// (body_read.go, body.go), and writes errors (errors.go). It serves some calls itself: streams of items (stream.go),
// watches (stream_write.go), and webhooks (webhooks.go).
package gateway

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	_ "embed" // the OpenAPI documents
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"

	"github.com/crdeval/crdeval/engine/document"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/transport"
	"github.com/crdeval/crdeval/server/webhook"
)

// Options configure New. The zero value is the default.
type Options struct {
	// MaxBodyBytes bounds a body; a larger one gets LIMIT_EXCEEDED, HTTP 413. Default:
	// transport.DefaultMaxMessageBytes.
	MaxBodyBytes int64
	// Bodies bounds the time to receive bodies. Default: NewBodies(nil).
	Bodies *Bodies
	// Entry admits calls before their bodies are read, and runs the conversion webhook. Default: it admits and permits all
	// calls, without slots and leases.
	Entry transport.Entry
	// Lists bounds the lists of a request, by JSON name. A longer list gets LIMIT_EXCEEDED. Default: those of api.Limits.
	Lists map[string]api.ListLimit
	// Limits bound the YAML bodies that are converted to JSON here. MaxBytes is ignored. The server bounds documents.
	Limits document.Limits
	// Pages are further paths, each for GET and HEAD.
	Pages map[string]http.Handler
	// Calls are further paths, each for POST. They are admitted as other calls, and their bodies have the same bounds.
	Calls map[string]Call
	// Convert answers ConversionReviews. Required for the conversion webhook.
	Convert webhook.ConvertFunc
	// Reviewed is called for each review, with the webhook's name and a webhook.Outcome or "error". May be nil.
	Reviewed func(webhook, outcome string)
}

type gateway struct {
	options    Options
	routes     map[string]route // by the method and grpc-gateway's pattern
	mux        *runtime.ServeMux
	conn       grpc.ClientConnInterface
	health     healthv1.HealthClient
	registry   crdevalv1.RegistryServiceClient
	evaluation crdevalv1.EvaluationServiceClient
}

// New returns the REST API of the services at conn, and /healthz, /readyz, /openapi.json and the webhooks.
func New(ctx context.Context, conn grpc.ClientConnInterface, o Options) (http.Handler, error) {
	o.MaxBodyBytes = cmp.Or(o.MaxBodyBytes, transport.DefaultMaxMessageBytes)
	if o.Bodies == nil {
		o.Bodies = NewBodies(nil)
	}
	if o.Lists == nil {
		o.Lists = api.Limits{}.Lists()
	}
	if o.Entry == nil {
		o.Entry = transport.NewEntry(transport.ServerOptions{})
	}
	if o.Reviewed == nil {
		o.Reviewed = func(string, string) {}
	}
	o.Limits.MaxBytes = int(o.MaxBodyBytes)
	g := &gateway{
		options: o, routes: routes(), conn: conn, health: healthv1.NewHealthClient(conn),
		registry: crdevalv1.NewRegistryServiceClient(conn), evaluation: crdevalv1.NewEvaluationServiceClient(conn),
	}
	g.mux = runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, marshaler{}),
		runtime.WithMarshalerOption(mediaAggregated, aggregatedMarshaler{}),
		runtime.WithErrorHandler(handleError),
		runtime.WithRoutingErrorHandler(g.handleRoutingError),
		runtime.WithMiddlewares(g.prepare),
		runtime.WithIncomingHeaderMatcher(noHeader),
		runtime.WithOutgoingHeaderMatcher(noHeader),
		runtime.WithOutgoingTrailerMatcher(noHeader),
		runtime.WithForwardResponseOption(writeHead),
		runtime.WithForwardResponseRewriter(rewriteBody),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
		runtime.WithWriteContentLength(),
		runtime.WithUnescapingMode(runtime.UnescapingModeAllExceptReserved),
	)
	if err := errors.Join(
		crdevalv1.RegisterRegistryServiceHandlerClient(ctx, g.mux, g.registry),
		crdevalv1.RegisterEvaluationServiceHandlerClient(ctx, g.mux, g.evaluation),
		crdevalv1.RegisterPresentationServiceHandlerClient(ctx, g.mux, crdevalv1.NewPresentationServiceClient(conn)),
		crdevalv1.RegisterApiServerServiceHandlerClient(ctx, g.mux, crdevalv1.NewApiServerServiceClient(conn)),
		crdevalv1.RegisterServerServiceHandlerClient(ctx, g.mux, crdevalv1.NewServerServiceClient(conn)),
		g.handlePaths(),
	); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	return g, nil
}

// noHeader passes no header on. A handler finds what it needs in its call.Call.
func noHeader(string) (string, bool) { return "", false }

var (
	//go:embed openapi/openapi.json
	embeddedV2 []byte
	//go:embed openapi/openapi3.json
	embeddedV3 []byte

	openAPIV2, openAPIV3 = bytes.TrimSpace(embeddedV2), bytes.TrimSpace(embeddedV3)
)

// ownPages are the paths that are not in the API.
var ownPages = map[string]func(*gateway, http.ResponseWriter, *http.Request){
	"/healthz": func(_ *gateway, w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, []byte(`{"status":"SERVING"}`))
	},
	"/readyz":          (*gateway).ready,
	"/openapi.json":    func(_ *gateway, w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, openAPIV2) },
	"/openapi/v3.json": func(_ *gateway, w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, openAPIV3) },
}

// handlePaths adds the paths that grpc-gateway has no handlers for. WatchCrds replaces the generated handler.
func (g *gateway) handlePaths() error {
	type paths = map[string]runtime.HandlerFunc
	post, get := paths{}, paths{}
	for verb, call := range streamVerbs {
		post["/v1/catalogs/{catalog}:"+verb] = func(w http.ResponseWriter, r *http.Request, params map[string]string) {
			g.stream(w, r, call, params["catalog"])
		}
	}
	for name := range reviewers {
		post[webhookPrefix+"catalogs/{catalog}/"+name] = func(w http.ResponseWriter, r *http.Request, params map[string]string) {
			g.webhook(w, r, name, params["catalog"])
		}
	}
	for path, call := range g.options.Calls {
		post[path] = func(w http.ResponseWriter, r *http.Request, _ map[string]string) { g.serveCall(w, r, call) }
	}
	for path, serve := range ownPages {
		get[path] = func(w http.ResponseWriter, r *http.Request, _ map[string]string) {
			transport.IgnoreBody(w, r)
			serve(g, w, r)
		}
	}
	for path, page := range g.options.Pages {
		page = transport.IgnoreBodies(page)
		get[path] = func(w http.ResponseWriter, r *http.Request, _ map[string]string) { page.ServeHTTP(w, r) }
	}
	watch := paths{"/v1/catalogs/{catalog}/crds:watch": func(w http.ResponseWriter, r *http.Request, params map[string]string) {
		g.watch(w, r, params["catalog"])
	}}
	for _, p := range []struct {
		method string
		paths  paths
	}{{http.MethodPost, post}, {http.MethodGet, get}, {http.MethodHead, get}, {http.MethodGet, watch}} {
		for path, handle := range p.paths {
			if err := g.mux.HandlePath(p.method, path, handle); err != nil {
				return err
			}
		}
	}
	return nil
}

// ServeHTTP implements http.Handler.
func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(headerRequestID)
	if id == "" || len(id) > transport.MaxRequestID {
		id = rand.Text()
		r.Header.Set(headerRequestID, id)
	}
	w.Header().Set(headerRequestID, id)
	if !utf8.ValidString(r.URL.Path) {
		g.reject(w, r, invalid("the path %q is not UTF-8", r.URL.Path))
		return
	}
	c := &call.Call{RequestID: id}
	defer c.End()
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Time{}) // that of the previous request
	r = r.WithContext(call.With(peer.NewContext(r.Context(), PeerOf(r)), c))
	g.mux.ServeHTTP(&timedWriter{ResponseWriter: w, control: control, call: c}, r)
}

// headerRequestID is the ID of a request, which is also in its answer and in logs.
const headerRequestID = "X-Request-Id"

// PeerOf returns the client as handlers see it in a call over gRPC.
func PeerOf(r *http.Request) *peer.Peer {
	p := &peer.Peer{Addr: &net.UnixAddr{Name: r.RemoteAddr, Net: "unix"}}
	if address, err := netip.ParseAddrPort(r.RemoteAddr); err == nil { // else the client is at a unix socket
		p.Addr = net.TCPAddrFromAddrPort(address)
	}
	if r.TLS != nil {
		p.AuthInfo = credentials.TLSInfo{State: *r.TLS}
	}
	return p
}

// registryTrouble is the text of /readyz while only the registry's service is not serving.
const registryTrouble = "the registry does not follow its store (see the log): registrations fail, evaluations use the last known state"

// ready answers whether the server is ready to serve, and what does not work although it is.
func (g *gateway) ready(w http.ResponseWriter, r *http.Request) {
	state, code := g.healthOf(r.Context(), ""), http.StatusOK
	fields := map[string]string{"status": state.String()}
	registry := crdevalv1.RegistryService_ServiceDesc.ServiceName
	switch {
	case state != healthv1.HealthCheckResponse_SERVING:
		fields["status"], code = healthv1.HealthCheckResponse_NOT_SERVING.String(), http.StatusServiceUnavailable
	case g.healthOf(r.Context(), registry) == healthv1.HealthCheckResponse_NOT_SERVING:
		fields["trouble"] = registryTrouble
	}
	text, _ := json.Marshal(fields) // texts always encode
	writeJSON(w, code, text)
}

// healthOf returns the health of a service, or of the server for "". It is unknown after an error.
func (g *gateway) healthOf(ctx context.Context, service string) healthv1.HealthCheckResponse_ServingStatus {
	answer, _ := g.health.Check(ctx, &healthv1.HealthCheckRequest{Service: service})
	return answer.GetStatus()
}

// writeJSON answers with text and a line feed.
func writeJSON(w http.ResponseWriter, code int, text []byte) {
	text = append(text[:len(text):len(text)], '\n')
	w.Header().Set("Content-Type", mediaJSON)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(code)
	_, _ = w.Write(text)
}
