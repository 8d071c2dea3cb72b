package registry

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/convert"
)

// ViewWith returns a View that contains inline CRDs in addition, as if they were registered in their order. An inline
// document can also be the conversion rules of a CRD. It stores nothing. A rejected inline CRD is an *Error with
// CRDRejected and its report.
func (r *Registry) ViewWith(ctx context.Context, catalog, atLeast string, inline []engine.Document) (View, error) {
	s, c, err := r.catalogAt(ctx, catalog, atLeast)
	if err != nil {
		return nil, err
	}
	for i, manifest := range inline {
		field := fmt.Sprintf("crds[%d]", i)
		j, err := r.compileInline(ctx, c, manifest)
		if err != nil {
			return nil, atField(err, field)
		}
		if j.revision == nil {
			return nil, rejected(j.report, field, field+": ")
		}
		if c, err = s.with(c, j, r.Now().UTC()); err != nil {
			return nil, err
		}
		after := *s
		after.sequence++ // with takes an entry of the same sequence for unchanged
		s = &after
	}
	return catalogView{r, c}, nil
}

// compileInline is compile with a cache: clients send the same inline CRDs with each request.
func (r *Registry) compileInline(ctx context.Context, c *catalog, manifest engine.Document) (*candidate, error) {
	key := inlineKeyOf(c, manifest)
	if j, ok := r.inline.Cached(key); ok && j.current(c) {
		return j, nil
	}
	j, err := r.compileAny(ctx, c, manifest)
	if err != nil || j.revision == nil {
		return j, err
	}
	r.Programs.Add(j.revision.digest, j.definition)
	j.definition, j.rules = nil, nil // Programs bounds the memory of definitions
	r.inline.Add(key, j)
	return j, nil
}

// compileAny is compile for a manifest, or compileConversion for conversion rules. The laws are not tested, because that
// would take too long for each call.
func (r *Registry) compileAny(ctx context.Context, c *catalog, document engine.Document) (*candidate, error) {
	if _, kind, err := document.TypeMeta(r.Engine.Limits); err == nil && kind == "" {
		if name, isRules, err := convert.IsRules(document, r.Engine.Limits); err == nil && isRules {
			return r.compileConversion(ctx, c, name, document, 0)
		}
	}
	return r.compile(ctx, c, Submission{Manifest: document})
}

// inlineKey is a digest of a catalog's identity and a manifest.
type inlineKey [sha256.Size]byte

func newInlineCache() *cache.Cache[inlineKey, *candidate] {
	return cache.New(cache.Options[inlineKey, *candidate]{
		MaxBytes: 16 << 20, MaxEntryBytes: 64 << 10,
		Weigh: func(j *candidate) int64 { return int64(len(j.revision.content)) + 4<<10 },
	})
}

func inlineKeyOf(c *catalog, manifest engine.Document) inlineKey {
	h := sha256.New()
	for _, part := range [][]byte{[]byte(c.name), []byte(c.record.Etag), manifest.JSON, manifest.YAML} {
		length := int64(len(part))
		if part == nil {
			length = -1
		}
		_ = binary.Write(h, binary.BigEndian, length) // a Hash returns no errors
		_, _ = h.Write(part)
	}
	return inlineKey(h.Sum(nil))
}

// atField prefixes the message of an error with a field of the request.
func atField(err error, field string) error {
	if e := (*engine.Error)(nil); errors.As(err, &e) {
		prefixed := *e
		prefixed.Message = field + ": " + e.Message
		return &prefixed
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		prefixed := *e
		prefixed.Message = field + ": " + e.Message
		return &prefixed
	}
	return err
}
