package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed" // the OpenAPI document
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/internal/value"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

//go:embed openapi/openapi.json
var openAPI []byte

// DefaultMaxBodyBytes is the largest body where Options give none: 64 MiB.
const DefaultMaxBodyBytes = 64 << 20

// bodiesAtOnce is how many of the largest bodies there is room for where Options give no Bodies.
const bodiesAtOnce = 4

// headerTimeout is the time that a call has, which grpc-gateway makes its deadline.
const headerTimeout = "Grpc-Timeout"

// The headers that are passed on to the gRPC server as metadata of the same name. Authorization is one more, by grpc-gateway.
const (
	headerRequestID = "X-Request-Id"
)

var passedOn = map[string]bool{headerRequestID: true}

// Options shape the gateway. The zero value is the default.
type Options struct {
	// MaxBodyBytes bounds a body; a larger one gets LIMIT_EXCEEDED, HTTP 413. Default: DefaultMaxBodyBytes.
	MaxBodyBytes int64
	// Bodies bounds the bodies of all calls together; a body without room gets OVERLOADED, HTTP 503. Default: room for bodiesAtOnce of the
	// largest.
	Bodies *Bodies
	// Before, if given, is asked before a body is read: its error, a status, is the answer, so that nobody's body is read in vain. The server
	// behind judges all calls again, also those without a body.
	Before func(*http.Request) error
	// UnderPressure, if given, says that memory is short: of streams, nothing more is read then. Default: nobody looks.
	UnderPressure func() bool
	// Lists are how many elements the lists of a request may have, by the JSON name of their field; one more gets LIMIT_EXCEEDED before any of the
	// others is built. Default: DefaultLists.
	Lists map[string]ListLimit
	// Limits bound the YAML bodies that are turned into JSON here; MaxBytes is MaxBodyBytes then. Documents are bounded by the server.
	Limits value.Limits
	// Pages are further paths, each for GET and HEAD. Default: none.
	Pages map[string]http.Handler
	// Trouble says what does not work although the server is ready, "" if all does; /readyz tells it. Nil: nothing.
	Trouble func() string
	// Reviewed, if given, is told of every review that a webhook was sent: the webhook's name, and the outcome as webhook.Outcome has it or "error".
	Reviewed func(webhook, outcome string)
}

// gateway is the handler: what grpc-gateway does badly or not at all, in front of grpc-gateway.
type gateway struct {
	options    Options
	router     router
	health     healthv1.HealthClient
	registry   crdevalv1.RegistryServiceClient
	evaluation crdevalv1.EvaluationServiceClient
	mux        *runtime.ServeMux
}

// bodyKey is that of the *body in a request's context.
type bodyKey struct{}

// New returns the REST face of the gRPC server at the other end of conn: the calls of the API, /healthz, /readyz and
// /openapi.json. It reads bodies whole, within the time and the memory that bodies.go gives them.
func New(ctx context.Context, conn grpc.ClientConnInterface, o Options) (http.Handler, error) {
	if o.MaxBodyBytes <= 0 {
		o.MaxBodyBytes = DefaultMaxBodyBytes
	}
	if o.Bodies == nil {
		o.Bodies = NewBodies(bodiesAtOnce*o.MaxBodyBytes, nil)
	}
	if o.Lists == nil {
		o.Lists = DefaultLists()
	}
	o.Limits.MaxBytes = int(o.MaxBodyBytes)
	muxOptions := []runtime.ServeMuxOption{
		runtime.WithMarshalerOption(runtime.MIMEWildcard, Marshaler{}),
		runtime.WithErrorHandler(handleError),
		runtime.WithRoutingErrorHandler(handleRoutingError),
		runtime.WithIncomingHeaderMatcher(func(key string) (string, bool) { return strings.ToLower(key), passedOn[key] }),
		runtime.WithOutgoingHeaderMatcher(func(key string) (string, bool) { return key, strings.HasPrefix(key, "crdeval-") }),
		runtime.WithOutgoingTrailerMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithForwardResponseOption(restorePositions),
		runtime.WithForwardResponseOption(presentHead),
		runtime.WithForwardResponseRewriter(presentBody),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
		runtime.WithWriteContentLength(),
		runtime.WithUnescapingMode(runtime.UnescapingModeAllExceptReserved),
		runtime.SetQueryParameterParser(&strictQuery{}),
	}
	g := &gateway{
		options: o, router: newRouter(), health: healthv1.NewHealthClient(conn), registry: crdevalv1.NewRegistryServiceClient(conn),
		evaluation: crdevalv1.NewEvaluationServiceClient(conn),
		mux:        runtime.NewServeMux(muxOptions...),
	}
	if err := crdevalv1.RegisterRegistryServiceHandlerClient(ctx, g.mux, g.registry); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	if err := crdevalv1.RegisterEvaluationServiceHandlerClient(ctx, g.mux, g.evaluation); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	if err := crdevalv1.RegisterPresentationServiceHandlerClient(ctx, g.mux, crdevalv1.NewPresentationServiceClient(conn)); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	if err := crdevalv1.RegisterServerServiceHandlerClient(ctx, g.mux, crdevalv1.NewServerServiceClient(conn)); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	return g, nil
}

// ServeHTTP answers one request.
func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(headerRequestID)
	if id == "" || len(id) > 128 {
		id = newRequestID()
		r.Header.Set(headerRequestID, id)
	}
	w.Header().Set(headerRequestID, id)
	r = r.WithContext(peer.NewContext(r.Context(), peerOf(r)))
	if strings.HasPrefix(r.URL.Path, webhookPrefix) {
		g.webhook(w, r)
		return
	}
	if verb, catalog, found := streamOf(r.URL.Path); found {
		g.stream(w, r, verb, catalog)
		return
	}
	if serve := g.own(r.URL.Path); serve != nil {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			g.refuseMethod(w, r, []string{http.MethodGet, http.MethodHead})
			return
		}
		serve(w, r)
		return
	}
	path, allowed := g.router.find(r.Method, r.URL.Path)
	switch {
	case !utf8.ValidString(r.URL.Path):
		g.refuseBody(w, r, failure(codes.InvalidArgument, crdevalv1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT,
			fmt.Sprintf("the path %q is not UTF-8", r.URL.Path), nil))
	case path == nil && len(allowed) > 0:
		g.refuseMethod(w, r, allowed)
	case path == nil:
		g.refuseBody(w, r, nothingThere(r))
	case path.body == "*" && r.URL.RawQuery != "":
		g.refuseBody(w, r, failure(codes.InvalidArgument, crdevalv1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT,
			fmt.Sprintf("%s %s takes no query parameters: everything is in the body", r.Method, r.URL.Path), nil))
	default:
		g.call(w, r, path)
	}
}

// peerOf returns the client as handlers see it, as of a call over gRPC.
func peerOf(r *http.Request) *peer.Peer {
	p := &peer.Peer{Addr: clientAddress(r.RemoteAddr)}
	if r.TLS != nil {
		p.AuthInfo = credentials.TLSInfo{State: *r.TLS}
	}
	return p
}

// clientAddress is the RemoteAddr of a request: a host and a port, or nothing or "@" for a unix socket.
type clientAddress string

// Network implements net.Addr.
func (a clientAddress) Network() string {
	if a == "" || a == "@" {
		return "unix"
	}
	return "tcp"
}

// String implements net.Addr.
func (a clientAddress) String() string {
	if a.Network() == "unix" {
		return "unix"
	}
	return string(a)
}

// call reads the body and hands over to grpc-gateway.
func (g *gateway) call(w http.ResponseWriter, r *http.Request, path *route) {
	if err := checkHeaders(r.Header); err != nil {
		g.refuseBody(w, r, err)
		return
	}
	var form *shown
	if path.presents {
		form = shownOf(r.Header)
		r = r.WithContext(context.WithValue(r.Context(), shownKey{}, form))
	}
	if path.body == "" {
		if err := g.checkNoBody(w, r); err != nil {
			g.refuseBody(w, r, err)
			return
		}
		r.Body = http.NoBody
		r.Header.Del("Content-Type")
		if path.stream {
			g.watch(w, r, path)
			return
		}
		if path.fromKubernetes() {
			if isOpenAPI(r.URL.Path) && !acceptsJSON(r.Header) {
				refuseForm(w)
				return
			}
			asParameters(r, form)
		}
		g.mux.ServeHTTP(w, r)
		return
	}
	if before := g.options.Before; before != nil {
		if err := before(r); err != nil {
			g.refuseBody(w, r, err)
			return
		}
	}
	held := &room{of: g.options.Bodies}
	defer held.giveBack()
	b, err := readBody(w, r, &g.options, held)
	if err != nil {
		held.giveBack() // nothing of it is kept while the rest is thrown away
		g.refuseBody(w, r, err)
		return
	}
	b.route, b.url, b.form = path, r.URL.Path, form
	r = r.WithContext(context.WithValue(r.Context(), bodyKey{}, b))
	r.Body = b
	r.Header.Set("Content-Type", mediaJSON) // what it was is in b; grpc-gateway has one marshaler
	g.mux.ServeHTTP(w, r)
}

// refuseBody answers to a request whose body was not read to its end.
func (g *gateway) refuseBody(w http.ResponseWriter, r *http.Request, err error) {
	g.refuseWith(w, r, err, func(w http.ResponseWriter, err error) { writeError(w, status.Convert(err)) })
}

// refuseWith is refuseBody for an error that is written in some way. It writes it at once: whoever is still sending may read it and stop.
func (g *gateway) refuseWith(w http.ResponseWriter, r *http.Request, err error, write func(http.ResponseWriter, error)) {
	if r.ContentLength == 0 || r.ProtoMajor > 1 { // HTTP/2 tells clients by itself to send no more of a body, without harm to others of the connection
		write(w, err)
		return
	}
	w.Header().Set("Connection", "close") // net/http neither waits for the body then, nor for what is left of it
	write(w, err)
	if http.NewResponseController(w).Flush() == nil && status.Code(err) != codes.DeadlineExceeded { // else there is nothing to drain
		patience := drainTime
		if g.options.Bodies.draining() {
			patience = drainPatience / 2
		}
		drain(w, r, 4*g.options.MaxBodyBytes, patience)
	}
}

// drainTime is how long drain takes at most.
const drainTime = 5 * time.Second

// drain throws away what is left of a refused body, up to a bound. Many clients read the answer only when they have sent everything, and get an
// error of the connection instead if it is closed under them.
func drain(w http.ResponseWriter, r *http.Request, atMost int64, patience time.Duration) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(patience)) // not every writer can; the bound of bytes stands
	_, _ = io.CopyN(io.Discard, r.Body, atMost)
}

// nothingThere is the error of a path that leads nowhere.
func nothingThere(r *http.Request) error {
	return failure(codes.NotFound, crdevalv1.ErrorReason_ERROR_REASON_PATH_NOT_FOUND, fmt.Sprintf("there is nothing at %s: /openapi.json lists the paths", r.URL.Path), nil)
}

// restorePositions lets findings about a body point into it.
func restorePositions(ctx context.Context, _ http.ResponseWriter, answer proto.Message) error {
	if b, ok := ctx.Value(bodyKey{}).(*body); ok {
		b.pointIntoBody(answer)
	}
	return nil
}

func (g *gateway) refuseMethod(w http.ResponseWriter, r *http.Request, allowed []string) {
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	g.refuseBody(w, r, failure(codes.Unimplemented, crdevalv1.ErrorReason_ERROR_REASON_METHOD_NOT_ALLOWED,
		fmt.Sprintf("%s does not take %s: it takes %s", r.URL.Path, r.Method, strings.Join(allowed, ", ")), nil))
}

// ownPages are the paths that are no calls of the API.
var ownPages = map[string]func(*gateway, http.ResponseWriter, *http.Request){
	"/healthz": func(_ *gateway, w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, []byte(`{"status":"SERVING"}`))
	},
	"/readyz":       (*gateway).ready,
	"/openapi.json": func(_ *gateway, w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, openAPI) },
}

// own returns the handler of what is no call of the API.
func (g *gateway) own(path string) http.HandlerFunc {
	if serve := ownPages[path]; serve != nil {
		return func(w http.ResponseWriter, r *http.Request) { serve(g, w, r) }
	}
	if page := g.options.Pages[path]; page != nil {
		return page.ServeHTTP
	}
	return nil
}

// ready asks the gRPC server whether it serves.
func (g *gateway) ready(w http.ResponseWriter, r *http.Request) {
	answer, err := g.health.Check(r.Context(), &healthv1.HealthCheckRequest{})
	state, code := answer.GetStatus(), http.StatusOK
	if err != nil {
		state = healthv1.HealthCheckResponse_NOT_SERVING
	}
	if state != healthv1.HealthCheckResponse_SERVING {
		code = http.StatusServiceUnavailable
	}
	told := map[string]string{"status": state.String()}
	if g.options.Trouble != nil {
		if trouble := g.options.Trouble(); trouble != "" {
			told["trouble"] = trouble
		}
	}
	text, _ := json.Marshal(told) // texts always encode
	writeJSON(w, code, text)
}

// writeJSON answers with text and, for who reads it on a terminal, a line feed.
func writeJSON(w http.ResponseWriter, code int, text []byte) {
	text = bytes.TrimSuffix(text, []byte("\n"))
	w.Header().Set("Content-Type", mediaJSON)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)+1))
	w.WriteHeader(code)
	_, _ = w.Write(append(text[:len(text):len(text)], '\n'))
}

func newRequestID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
