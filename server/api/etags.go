package api

import (
	lru "github.com/hashicorp/golang-lru/v2"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/registry"
)

// mostETags is how many etags of documents about catalogs are kept, some hundred bytes each; those that nobody asked for lately go first.
const mostETags = 8192

// etags are those of documents about catalogs, so that a client that asks again whether there is something new is told no without the document being made. They
// belong to a state of a catalog, of which any write makes another: none is ever out of date, here or at another replica.
type etags struct {
	kept *lru.Cache[asked, string]
}

// asked is a document of a state of a catalog.
type asked struct {
	state                any // registry.View.State
	kind, group, version string
}

// Kinds of documents beside the specs of OpenAPI.
const (
	askedDiscovery  = "discovery"
	askedAggregated = "aggregated"
)

func newETags() etags {
	kept, err := lru.New[asked, string](mostETags)
	if err != nil {
		panic(err) // its only error is a size below 1
	}
	return etags{kept}
}

func askedToDiscover(view registry.View, r *crdevalv1.DiscoverRequest) asked {
	kind := askedDiscovery
	if r.GetAggregated() {
		kind = askedAggregated
	}
	return asked{view.State(), kind, r.GetGroup(), r.GetVersion()}
}

func askedOpenAPI(view registry.View, r *crdevalv1.GetOpenApiRequest) asked {
	return asked{view.State(), r.GetSpec(), r.GetGroup(), r.GetVersion()}
}

// known returns the etag of a document if it is one of those that a client has, else "".
func (e etags) known(a asked, ifNoneMatch string) string {
	if ifNoneMatch == "" {
		return ""
	}
	if etag, ok := e.kept.Get(a); ok && matches(ifNoneMatch, etag) {
		return etag
	}
	return ""
}

// keep keeps the etag of a document that was made.
func (e etags) keep(a asked, etag string) { e.kept.Add(a, etag) }
