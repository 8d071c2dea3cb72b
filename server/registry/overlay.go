package registry

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/crdeval/crdeval/engine"
)

// MaxOverlay is how many CRDs an evaluation may bring along.
const MaxOverlay = 16

// ViewWith is View with up to MaxOverlay CRDs on top, for this view alone: each is judged as a registration of it would be, one after the other, and found
// as if it had been registered. Nothing is stored. One that is refused is an *Error CRD_REJECTED with its report.
func (r *Registry) ViewWith(ctx context.Context, catalog, atLeast string, overlay []engine.Document) (View, error) {
	if len(overlay) > MaxOverlay {
		return nil, &Error{
			Reason: LimitExceeded, Message: fmt.Sprintf("crds: %d are more than the limit max_inline_crds, which is %d: register them", len(overlay), MaxOverlay),
			Metadata: map[string]string{"field": "crds", "limit": "max_inline_crds", "maximum": fmt.Sprint(MaxOverlay)},
		}
	}
	s, err := r.at(ctx, atLeast)
	if err != nil {
		return nil, err
	}
	c, err := s.catalog(catalog)
	if err != nil {
		return nil, err
	}
	for i, manifest := range overlay {
		j, err := r.judgeOverlay(ctx, c, manifest)
		if err != nil {
			return nil, atIndex(err, i)
		}
		if j.revision == nil {
			return nil, refusedOverlay(j.report, i)
		}
		if c, err = s.with(c, j, r.now().UTC()); err != nil {
			return nil, err
		}
	}
	return catalogView{r, c}, nil
}

// judgeOverlay is judge for what comes again and again: a verdict that holds still is not made anew.
func (r *Registry) judgeOverlay(ctx context.Context, c *catalog, manifest engine.Document) (*judged, error) {
	key := overlayKey(c, manifest)
	if j, ok := r.overlaid.Get(key); ok && j.holds(c) {
		return j, nil
	}
	j, err := r.judge(ctx, c, manifest)
	if err != nil || j.revision == nil {
		return j, err
	}
	r.programs.Add(j.revision.digest, j.definition)
	j.definition = nil // the cache has it for as long as there is room
	if len(j.revision.manifest) <= longestRemembered {
		r.overlaid.Add(key, j)
	}
	return j, nil
}

// mostRemembered verdicts about overlays are kept, of manifests that have up to longestRemembered bytes packed: 16 MiB at most.
const (
	mostRemembered    = 256
	longestRemembered = 64 << 10
)

// overlaid keeps verdicts about overlays by overlayKey.
type overlaid = lru.Cache[[sha256.Size]byte, *judged]

func newOverlaid() *overlaid {
	l, err := lru.New[[sha256.Size]byte, *judged](mostRemembered)
	if err != nil {
		panic(err) // its only error is a size below 1
	}
	return l
}

// overlayKey is a digest of a manifest as it was sent and of the catalog for which it is judged.
func overlayKey(c *catalog, manifest engine.Document) [sha256.Size]byte {
	h := sha256.New()
	for _, part := range [][]byte{[]byte(c.name), []byte(c.record.Etag), manifest.JSON, manifest.YAML} {
		var length [9]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		if part != nil {
			length[8] = 1
		}
		// A hash takes everything.
		_, _ = h.Write(length[:])
		_, _ = h.Write(part)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// atIndex says which of the CRDs brought along an error is about.
func atIndex(err error, i int) error {
	var e *engine.Error
	if !errors.As(err, &e) {
		return err
	}
	told := *e
	told.Message = fmt.Sprintf("crds[%d]: %s", i, e.Message)
	return &told
}

func refusedOverlay(report *engine.Report, i int) error {
	return &Error{
		Reason: CRDRefused, Message: fmt.Sprintf("crds[%d]: %s", i, report.Rejection.Message), Report: report,
		Metadata: map[string]string{"field": fmt.Sprintf("crds[%d]", i), "crd": report.Name},
	}
}
