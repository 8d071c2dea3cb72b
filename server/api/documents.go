package api

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/crdeval/crdeval/server/registry"
)

// maxETags bounds the cached etags, of some hundred bytes each.
const maxETags = 8192

// etags caches the etags of documents about catalogs, so that If-None-Match can be answered without building the document. An etag
// belongs to a state of a catalog, so it never becomes stale.
type etags struct {
	cached *lru.Cache[documentKey, string]
}

// A documentKey identifies a document about a state of a catalog.
type documentKey struct {
	state                any // registry.View.State
	kind, group, version string
}

func newETags() etags {
	cached, err := lru.New[documentKey, string](maxETags)
	if err != nil {
		panic(err) // the only error is a size below 1
	}
	return etags{cached}
}

// documentRequest has the fields of all requests for documents about catalogs.
type documentRequest interface {
	GetCatalog() string
	GetAtLeast() string
	GetIfNoneMatch() string
}

// document returns a document about a catalog and its etag in double quotes. The document is nil if the caller has it.
func (s *presentationService) document(
	ctx context.Context, r documentRequest, key documentKey, build func(registry.View) (document []byte, etag string, err error),
) (document []byte, etag string, err error) {
	view, err := s.registry.View(ctx, r.GetCatalog(), r.GetAtLeast())
	if err != nil {
		return nil, "", err
	}
	key.state = view.State()
	if etag, ok := s.etags.cached.Get(key); ok && matches(r.GetIfNoneMatch(), etag) {
		return nil, etag, nil
	}
	document, etag, err = build(view)
	if err != nil {
		return nil, "", err
	}
	etag = `"` + etag + `"`
	s.etags.cached.Add(key, etag)
	if matches(r.GetIfNoneMatch(), etag) {
		document = nil
	}
	return document, etag, nil
}

// matches reports whether an etag is in a header If-None-Match.
func matches(ifNoneMatch, etag string) bool {
	return slices.ContainsFunc(strings.Split(ifNoneMatch, ","), func(t string) bool {
		t = strings.TrimSpace(t)
		return t == "*" || strings.TrimPrefix(t, "W/") == etag
	})
}

const (
	// copies is the number of copies of a document in memory: the document and its form on the wire.
	copies = 2
	// discoveryBytes is the approximate memory for the discovery of one version of a CRD.
	discoveryBytes = 4 << 10
	// documentMessages bounds the memory of documents about catalogs, in messages of the maximum size.
	documentMessages = 4
)

// documentMemory bounds the memory of documents about whole catalogs. A request of few bytes can ask for a document as large as a
// message. It is safe for concurrent use.
type documentMemory struct {
	max   int64
	taken atomic.Int64
}

// take takes memory until the call ends, which is when gRPC sends the response.
func (m *documentMemory) take(ctx context.Context, n int64) error {
	if now := m.taken.Add(n); now > m.max {
		m.taken.Add(-n)
		return overloaded("max_message_bytes", int(m.max),
			"there is no memory for the document: documents about catalogs would have %d bytes, and the server allows %d, "+
				"%d times max_message_bytes: try again later", now, m.max, documentMessages)
	}
	context.AfterFunc(ctx, func() { m.taken.Add(-n) })
	return nil
}
