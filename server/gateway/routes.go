package gateway

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/call"
)

// The routes of the API are annotations in proto/crdeval/v1. To add a route, annotate its method and run make generate.

// route is what the google.api.http annotation of a method says about one path.
type route struct {
	method     string
	path       string      // the template
	body       string      // "" for none, "*" for the request message, else a field of it
	kubernetes bool        // it is a path of an API server
	parameters []parameter // of the query
}

// routes returns the routes of all methods of the API, by the method and grpc-gateway's pattern.
func routes() map[string]route {
	all := map[string]route{}
	for _, m := range methods() {
		rule, _ := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
		if rule == nil {
			continue
		}
		for _, binding := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
			r := route{body: binding.GetBody()}
			switch p := binding.GetPattern().(type) {
			case *annotations.HttpRule_Get:
				r.method, r.path = http.MethodGet, p.Get
			case *annotations.HttpRule_Post:
				r.method, r.path = http.MethodPost, p.Post
			case *annotations.HttpRule_Delete:
				r.method, r.path = http.MethodDelete, p.Delete
			}
			r.kubernetes = kubernetesPath(r.path)
			if r.body != "*" {
				r.parameters = parametersOf(m.Input(), r.path+" {"+r.body+"}")
			}
			// A pattern writes a parameter {catalog} of its template as {catalog=*}.
			all[r.method+" "+strings.ReplaceAll(r.path, "}", "=*}")] = r
		}
	}
	return all
}

// prepare is the middleware of all routes: it checks a request and reads its body before grpc-gateway decodes it.
func (g *gateway) prepare(next runtime.HandlerFunc) runtime.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, params map[string]string) {
		pattern, _ := runtime.HTTPPattern(r.Context())
		rt, ofAPI := g.routes[r.Method+" "+pattern.String()]
		probe, probes := w.(*probe)
		switch err := checkTimeout(r.Header); {
		case probes:
			probe.found = plausible(params)
		case !plausible(params):
			g.rejectPath(w, r)
		case err != nil:
			g.reject(w, r, err)
		case ofAPI:
			g.call(w, r, &rt, params, next)
		default:
			next(w, r, params)
		}
	}
}

// plausible reports whether the parameters of a path may be what they stand for. grpc-gateway takes an unknown verb as
// a part of the parameter before it: catalogs/default:valdate would be a catalog. Only paths of fields may have colons.
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
	_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, code int,
) {
	if _, probes := w.(*probe); probes {
		return
	}
	if code == http.StatusBadRequest {
		g.reject(w, r, invalid("the path %s is not escaped correctly", r.URL.EscapedPath()))
		return
	}
	g.rejectPath(w, r)
}

// probe asks whether a method has a route for a path, without calling it: nothing is written to it.
type probe struct {
	http.ResponseWriter
	found bool
}

// allowed returns the methods that have a route for the path of a request.
func (g *gateway) allowed(r *http.Request) (methods []string) {
	for _, method := range []string{http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodPost} {
		var p probe
		other := r.Clone(r.Context())
		other.Method = method
		if g.mux.ServeHTTP(&p, other); p.found {
			methods = append(methods, method)
		}
	}
	return methods
}

// rejectPath answers a request without a route: METHOD_NOT_ALLOWED if other methods have one, else PATH_NOT_FOUND.
func (g *gateway) rejectPath(w http.ResponseWriter, r *http.Request) {
	if allowed := g.allowed(r); len(allowed) > 0 {
		takes := strings.Join(allowed, ", ")
		w.Header().Set("Allow", takes)
		g.reject(w, r, failure(crdevalv1.ErrorReason_ERROR_REASON_METHOD_NOT_ALLOWED,
			fmt.Sprintf("%s does not support %s: it supports %s", r.URL.Path, r.Method, takes), nil))
		return
	}
	hint := "/openapi.json lists the paths"
	if strings.HasPrefix(r.URL.Path, webhookPrefix) {
		hint = "webhooks are at /webhooks/catalogs/{catalog}/mutate, /validate and /convert"
	}
	g.reject(w, r, failure(crdevalv1.ErrorReason_ERROR_REASON_PATH_NOT_FOUND,
		fmt.Sprintf("there is nothing at %s: %s", r.URL.Path, hint), nil))
}

// call reads the body of a request and passes the request on to grpc-gateway.
func (g *gateway) call(w http.ResponseWriter, r *http.Request, rt *route, params map[string]string, next runtime.HandlerFunc) {
	if rt.kubernetes {
		var more bool
		if r, more = prepareKubernetes(w, r, params); !more {
			return
		}
	}
	err := rt.checkQuery(r)
	if err == nil && rt.body == "" {
		err = g.admitWithoutBody(r)
	}
	if err != nil {
		g.reject(w, r, err)
		return
	}
	if rt.body != "" {
		b := g.receive(w, r, isYAML)
		if b == nil {
			return
		}
		b.params = params
		call.Of(r.Context()).Origins = b
		r.Body = b
		r.Header.Set("Content-Type", mediaJSON) // grpc-gateway has one marshaler; b knows what the body is
	}
	next(w, r, params)
}

// admitWithoutBody admits a call that takes no body. Errors are statuses.
func (g *gateway) admitWithoutBody(r *http.Request) error {
	if r.ContentLength != 0 || len(r.TransferEncoding) > 0 {
		return invalid("%s %s takes no body: everything is in the path and the query", r.Method, r.URL.Path)
	}
	r.Header.Del("Content-Type")
	return g.options.Entry.AdmitRequest(r)
}

// checkQuery returns INVALID_ARGUMENT for a query that the route does not take.
func (rt *route) checkQuery(r *http.Request) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	if rt.body == "*" {
		return invalid("%s %s takes no query parameters: everything is in the body", r.Method, r.URL.Path)
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err == nil {
		err = checkQuery(rt.parameters, values)
	}
	if err != nil {
		return invalid("%v", err)
	}
	return nil
}

// handleError answers with the error of a call. A decoding error is in the body: grpc-gateway has only its text.
func handleError(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, err error) {
	if b, ok := r.Body.(*body); ok && b.err != nil {
		err = b.status()
	}
	if text := notFound(r.URL.Path, err); text != nil {
		writeJSON(w, http.StatusNotFound, text)
		return
	}
	WriteError(w, err)
}

// methods returns the methods of the API.
func methods() []protoreflect.MethodDescriptor {
	var all []protoreflect.MethodDescriptor
	for _, file := range []protoreflect.FileDescriptor{
		crdevalv1.File_crdeval_v1_registry_proto, crdevalv1.File_crdeval_v1_evaluation_proto,
		crdevalv1.File_crdeval_v1_presentation_proto, crdevalv1.File_crdeval_v1_apiserver_proto,
		crdevalv1.File_crdeval_v1_server_proto,
	} {
		for i := range file.Services().Len() {
			for j := range file.Services().Get(i).Methods().Len() {
				all = append(all, file.Services().Get(i).Methods().Get(j))
			}
		}
	}
	return all
}
