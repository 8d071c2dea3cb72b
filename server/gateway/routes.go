package gateway

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
)

// The routes of the API are annotations in proto/crdeval/v1. To add a route, annotate its method and run make generate.

// route is what the google.api.http annotation of a method says about one path.
type route struct {
	method   string
	path     string // the template
	body     string // "" for none, "*" for the request message, else a field of it
	presents bool   // it is of PresentationService, whose answers have the form of an API server's
	streams  bool   // the response is a stream
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
			r := route{body: binding.GetBody(), presents: presents, streams: m.IsStreamingServer()}
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

// prepare is the middleware of all routes: it checks a request and reads its body before grpc-gateway decodes it.
func (g *gateway) prepare(next runtime.HandlerFunc) runtime.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, params map[string]string) {
		pattern, _ := runtime.HTTPPattern(r.Context())
		rt, ofAPI := g.routes[r.Method+" "+pattern.String()]
		switch {
		case !plausible(params):
			g.rejectPath(w, r)
		case !ofAPI:
			next(w, r, params)
		case rt.body == "*" && r.URL.RawQuery != "":
			g.reject(w, r, invalid("%s %s takes no query parameters: everything is in the body", r.Method, r.URL.Path))
		default:
			g.call(w, r, &rt, params, next)
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
	if code == http.StatusBadRequest {
		g.reject(w, r, invalid("the path %s is not escaped correctly", r.URL.EscapedPath()))
		return
	}
	g.rejectPath(w, r)
}

// parameterInTemplate matches a parameter in a quoted template.
var parameterInTemplate = regexp.MustCompile(`\\\{\w+\\\}`)

// addTemplate makes hasPath know a path. Only paths of fields may have colons in parameters.
func (g *gateway) addTemplate(method, template string) {
	text := strings.ReplaceAll(regexp.QuoteMeta(template), `\{path\}`, `[^/]+`)
	text = parameterInTemplate.ReplaceAllLiteralString(text, `[^/:]+`)
	g.paths[method] = append(g.paths[method], regexp.MustCompile("^"+text+"$"))
}

// hasPath reports whether a method has a route for the path of a request.
func (g *gateway) hasPath(method string, r *http.Request) bool {
	path := r.URL.EscapedPath()
	return slices.ContainsFunc(g.paths[method], func(p *regexp.Regexp) bool { return p.MatchString(path) })
}

// rejectPath answers a request without a route: METHOD_NOT_ALLOWED if other methods have one, else PATH_NOT_FOUND.
func (g *gateway) rejectPath(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for method := range g.paths {
		if g.hasPath(method, r) {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) > 0 {
		slices.Sort(allowed)
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
	g.withBody(w, r, g.readBody, func(r *http.Request, b *body) {
		b.params, b.form = params, f
		r = r.WithContext(api.WithOrigins(r.Context(), b))
		r.Body = b
		r.Header.Set("Content-Type", mediaJSON) // grpc-gateway has one marshaler; b knows what the body is
		next(w, r, params)
	})
}

// handleError answers with the error of a call. A decoding error is in the body: grpc-gateway has only its text.
func handleError(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, err error) {
	if b, ok := r.Body.(*body); ok && b.err != nil {
		err = b.status()
	}
	if f, _ := r.Context().Value(formKey{}).(*form); f != nil {
		if text := notFound(r.URL.Path, err); text != nil {
			writeJSON(w, http.StatusNotFound, text)
			return
		}
	}
	WriteError(w, err)
}

// queryParser is the parser of query parameters. It rejects what grpc-gateway's parser ignores: parameters that the
// message does not have, that the path or the body gives, and parameters given twice.
type queryParser struct{}

// setQueryParser sets the parser of query parameters. It is an option of a ServeMux, but grpc-gateway has one parser for
// the whole process, and setting it again would race with requests to other gateways.
var setQueryParser = sync.OnceFunc(func() { runtime.NewServeMux(runtime.SetQueryParameterParser(queryParser{})) })

// Parse implements runtime.QueryParameterParser.
func (queryParser) Parse(m proto.Message, values url.Values, taken *utilities.DoubleArray) error {
	return parseQuery(m, values, taken)
}

// parseQuery reads parameters into the scalar fields of m, also of messages in it (options.view=…). own are the names
// of further parameters, in their order.
func parseQuery(m proto.Message, values url.Values, taken *utilities.DoubleArray, own ...string) error {
	parameters := parametersOf(m.ProtoReflect().Descriptor(), "", taken)
	names := map[protoreflect.FullName]string{}
	fields := url.Values{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		i := slices.IndexFunc(parameters, func(p parameter) bool { return p.is(name) })
		given := values[name]
		switch {
		case i < 0 && !slices.Contains(own, name):
			return fmt.Errorf("unknown query parameter %q: this call takes %s", name, parameterNames(parameters, own))
		case len(given) > 1:
			return fmt.Errorf("the query parameter %q is given %d times", name, len(given))
		case !utf8.ValidString(given[0]):
			return fmt.Errorf("the query parameter %q is not UTF-8", name)
		case i < 0:
			continue
		}
		f := parameters[i]
		if other := names[f.field.FullName()]; other != "" {
			return fmt.Errorf("the query parameter %q is given twice, also as %q", name, other)
		}
		if f.field.Message() == nil {
			if _, want := parseScalar(f.field, given[0], f.field.Kind() == protoreflect.EnumKind && !isNumber(given[0])); want != "" {
				return fmt.Errorf("the query parameter %q is %q: %s is expected", name, given[0], want)
			}
		}
		names[f.field.FullName()], fields[name] = name, given
	}
	return (&runtime.DefaultQueryParser{}).Parse(m, fields, taken)
}

// parameter is a field that a query parameter may set.
type parameter struct {
	json, proto string // both spellings of its path
	field       protoreflect.FieldDescriptor
}

func (p parameter) is(name string) bool { return name == p.json || name == p.proto }

// parametersOf returns the parameters of a message, except those that are taken.
func parametersOf(md protoreflect.MessageDescriptor, parent string, taken *utilities.DoubleArray) (all []parameter) {
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		p := parameter{json: parent + fd.JSONName(), proto: parent + fd.TextName(), field: fd}
		switch sub := fd.Message(); {
		case fd.IsList() || fd.IsMap() || parent == "" && taken.HasCommonPrefix([]string{string(fd.Name())}):
		case sub == nil || sub.ParentFile().Package() != ownPackage:
			all = append(all, p)
		case sub.FullName() != documentName:
			all = append(all, parametersOf(sub, p.json+".", taken)...)
		}
	}
	return all
}

func parameterNames(parameters []parameter, own []string) string {
	var names []string
	for _, p := range parameters {
		names = append(names, p.json)
	}
	if names = append(names, own...); len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// streamQuery reads the query of a stream into its first message. bare says that lines are objects, crds how many lines
// or documents at the beginning are CRDs.
func streamQuery(first proto.Message, query string) (bare bool, crds int, err error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return false, 0, invalid("%v", err)
	}
	if err = parseQuery(first, values, utilities.NewDoubleArray([][]string{{"catalog"}}), "bare", "crds"); err != nil {
		return false, 0, invalid("%v", err)
	}
	const wrong = "the query parameter %q is %q: %s is expected"
	given := values.Get("bare")
	if bare = given == "true"; values.Has("bare") && !bare && given != "false" {
		return false, 0, invalid(wrong, "bare", given, "true or false")
	}
	given = values.Get("crds")
	if crds, err = strconv.Atoi(given); values.Has("crds") && (err != nil || crds < 0) {
		return false, 0, invalid(wrong, "crds", given, "how many lines or documents at the beginning are CRDs")
	}
	return bare, crds, nil
}
