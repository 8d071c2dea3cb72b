package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// route is what the google.api.http annotation of a method says about one path.
type route struct {
	method   string
	path     string // the template
	body     string // "" for none, "*" for the request message, else a field of it
	presents bool   // it is of PresentationService, whose answers have the form of an API server's
}

// routes returns the routes of all methods of the API.
func routes() []route {
	var all []route
	for _, m := range methods() {
		rule, _ := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
		if rule == nil {
			continue
		}
		presents := m.Parent().FullName() == protoreflect.FullName(crdevalv1.PresentationService_ServiceDesc.ServiceName)
		for _, binding := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
			r := route{body: binding.GetBody(), presents: presents}
			switch p := binding.GetPattern().(type) {
			case *annotations.HttpRule_Get:
				r.method, r.path = http.MethodGet, p.Get
			case *annotations.HttpRule_Post:
				r.method, r.path = http.MethodPost, p.Post
			case *annotations.HttpRule_Delete:
				r.method, r.path = http.MethodDelete, p.Delete
			}
			all = append(all, r)
		}
	}
	return all
}

// probeKey is the key of a *bool in the context of a request that only asks whether there is a route for it.
type probeKey struct{}

// prepare is the middleware of all routes: it checks a request and reads its body before grpc-gateway decodes it.
func (g *gateway) prepare(next runtime.HandlerFunc) runtime.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, params map[string]string) {
		probe, probing := r.Context().Value(probeKey{}).(*bool)
		pattern, _ := runtime.HTTPPattern(r.Context())
		rt, ofAPI := g.routes[r.Method+" "+pattern.String()]
		switch {
		case !plausible(params):
			if !probing {
				g.rejectPath(w, r)
			}
		case probing:
			*probe = true
		case !ofAPI:
			next(w, r, params)
		case rt.body == "*" && r.URL.RawQuery != "":
			g.reject(w, r, invalid("%s %s takes no query parameters: everything is in the body", r.Method, r.URL.Path))
		default:
			g.call(w, r, &rt, params, next)
		}
	}
}

// plausible reports whether the parameters of a path may be what they stand for. grpc-gateway takes an unknown verb as a part of the parameter
// before it: catalogs/default:valdate would be a catalog. Only paths of fields may have colons.
func plausible(params map[string]string) bool {
	for name, text := range params {
		if text == "" || name != "path" && strings.Contains(text, ":") {
			return false
		}
	}
	return true
}

// handleRoutingError answers a request that grpc-gateway has no route for.
func (g *gateway) handleRoutingError(
	ctx context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, code int,
) {
	switch {
	case ctx.Value(probeKey{}) != nil:
	case code == http.StatusBadRequest:
		g.reject(w, r, invalid("the path %s is not escaped correctly", r.URL.EscapedPath()))
	default:
		g.rejectPath(w, r)
	}
}

// rejectPath answers a request without a route: METHOD_NOT_ALLOWED if other methods have one, else PATH_NOT_FOUND.
func (g *gateway) rejectPath(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodPost} {
		found := false
		probe := r.WithContext(context.WithValue(r.Context(), probeKey{}, &found))
		probe.Method = method
		g.mux.ServeHTTP(discard{}, probe)
		if found {
			allowed = append(allowed, method)
		}
	}
	ofWebhook := strings.HasPrefix(r.URL.Path, webhookPrefix)
	write := writeError
	if ofWebhook {
		write = writeReviewError
	}
	if len(allowed) > 0 {
		takes := strings.Join(allowed, ", ")
		w.Header().Set("Allow", takes)
		g.rejectWith(w, r, failure(codes.Unimplemented, crdevalv1.ErrorReason_ERROR_REASON_METHOD_NOT_ALLOWED,
			fmt.Sprintf("%s does not support %s: it supports %s", r.URL.Path, r.Method, takes), nil), write)
		return
	}
	hint := "/openapi.json lists the paths"
	if ofWebhook {
		hint = "webhooks are at /webhooks/catalogs/{catalog}/mutate and /webhooks/catalogs/{catalog}/validate"
	}
	g.rejectWith(w, r, failure(codes.NotFound, crdevalv1.ErrorReason_ERROR_REASON_PATH_NOT_FOUND,
		fmt.Sprintf("there is nothing at %s: %s", r.URL.Path, hint), nil), write)
}

// call reads the body of a request and passes the request on to grpc-gateway.
func (g *gateway) call(w http.ResponseWriter, r *http.Request, rt *route, params map[string]string, next runtime.HandlerFunc) {
	if err := checkTimeout(r.Header); err != nil {
		g.reject(w, r, err)
		return
	}
	var f *form
	if rt.presents {
		f = formOf(r.Header)
		r = r.WithContext(context.WithValue(r.Context(), formKey{}, f))
	}
	if rt.body == "" {
		if err := g.checkNoBody(w, r); err != nil {
			g.reject(w, r, err)
			return
		}
		r.Body = http.NoBody
		r.Header.Del("Content-Type")
		if rt.presents {
			if strings.Contains(rt.path, "/openapi/") && rt.method == http.MethodGet && (params["spec"] != "v3" || params["group"] != "") && !acceptsJSON(r.Header) {
				rejectForm(w)
				return
			}
			r = withParameters(r, f)
		}
		next(w, r, params)
		return
	}
	if err := g.before(r); err != nil {
		g.reject(w, r, err)
		return
	}
	held := &reservation{of: g.options.Bodies}
	defer held.release()
	b, err := readBody(w, r, &g.options, held)
	if err != nil {
		held.release() // before the rest of the body is discarded
		g.reject(w, r, err)
		return
	}
	b.params, b.form = params, f
	r = r.WithContext(context.WithValue(r.Context(), bodyKey{}, b))
	r.Body = b
	r.Header.Set("Content-Type", mediaJSON) // grpc-gateway has one marshaler; b knows what the body is
	next(w, r, params)
}

func (g *gateway) before(r *http.Request) error {
	if g.options.Before == nil {
		return nil
	}
	return g.options.Before(r)
}

// handleError answers with the error of a call. grpc-gateway keeps only the text of a decoding error; the body has the error itself.
func handleError(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Value(probeKey{}) != nil {
		return
	}
	if b, ok := r.Body.(*body); ok && b.err != nil {
		err = b.status()
	}
	writeError(w, err)
}

// discard is the http.ResponseWriter of a probe.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}
