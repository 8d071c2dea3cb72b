package gateway

import (
	"sort"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// route is one method at one path, as the google.api.http annotation of an RPC says.
type route struct {
	method   string
	segments []string // "" stands for a parameter
	params   []string // the parameter's field, likewise
	verb     string   // behind the colon of the last segment
	body     string   // "" for none, "*" for the message, else a field
	stream   bool     // the answer is one: WatchCrds
	presents bool     // it is of PresentationService, whose answers are Kubernetes' own
}

// router knows which paths exist and which methods they take. grpc-gateway's own matching takes a verb that no path has as part
// of a parameter: `catalogs/default:valdate` would be a catalog.
type router []route

// newRouter reads the routes off the annotations of the API.
func newRouter() router {
	var all router
	for _, sd := range services() {
		for i := range sd.Methods().Len() {
			all = append(all, routesOf(sd.Methods().Get(i))...)
		}
	}
	return all
}

// routesOf are those of an RPC: its own binding and the additional ones. None, for one without an annotation.
func routesOf(md protoreflect.MethodDescriptor) []route {
	rule, ok := proto.GetExtension(md.Options(), annotations.E_Http).(*annotations.HttpRule)
	if !ok || rule == nil {
		return nil
	}
	var all []route
	for _, binding := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
		if r, ok := routeOf(md, binding); ok {
			all = append(all, r)
		}
	}
	return all
}

func routeOf(md protoreflect.MethodDescriptor, rule *annotations.HttpRule) (route, bool) {
	r := route{
		body: rule.GetBody(), stream: md.IsStreamingServer(),
		presents: md.Parent().FullName() == protoreflect.FullName(crdevalv1.PresentationService_ServiceDesc.ServiceName),
	}
	var template string
	switch p := rule.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		r.method, template = "GET", p.Get
	case *annotations.HttpRule_Post:
		r.method, template = "POST", p.Post
	case *annotations.HttpRule_Put:
		r.method, template = "PUT", p.Put
	case *annotations.HttpRule_Patch:
		r.method, template = "PATCH", p.Patch
	case *annotations.HttpRule_Delete:
		r.method, template = "DELETE", p.Delete
	default:
		return route{}, false
	}
	r.segments, r.verb = split(template)
	r.params = make([]string, len(r.segments))
	for i, s := range r.segments {
		if strings.HasPrefix(s, "{") {
			r.segments[i], r.params[i] = "", strings.Trim(s, "{}")
		}
	}
	return r, true
}

// split cuts a path into segments and the verb of the last one.
func split(path string) (segments []string, verb string) {
	segments = strings.Split(strings.TrimPrefix(path, "/"), "/")
	last := &segments[len(segments)-1]
	if i := strings.LastIndexByte(*last, ':'); i >= 0 {
		*last, verb = (*last)[:i], (*last)[i+1:]
	}
	return segments, verb
}

// find returns the route of a request. Without one, allowed lists the methods that the path takes; none: there is no such path.
func (rt router) find(method, path string) (found *route, allowed []string) {
	segments, verb := split(path)
	for i := range rt {
		r := &rt[i]
		if r.verb != verb || !r.matches(segments) {
			continue
		}
		if r.method == method {
			return r, nil
		}
		allowed = append(allowed, r.method)
	}
	sort.Strings(allowed)
	return nil, allowed
}

func (r *route) matches(segments []string) bool {
	if len(segments) != len(r.segments) {
		return false
	}
	for i, s := range r.segments {
		if segments[i] == "" || s != "" && s != segments[i] {
			return false
		}
	}
	return true
}
