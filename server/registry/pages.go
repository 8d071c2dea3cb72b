package registry

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"
)

// All pages of a list come from one snapshot. A snapshot with further pages is pinned for pinnedFor, and at most
// maxPinned are. Then the next page is WATCH_EXPIRED.
const (
	pinnedFor = 5 * time.Minute
	maxPinned = 64
)

// Bounds of the entries in one page of a list.
const (
	DefaultPageSize = 100
	MaxPageSize     = 1000
)

// pageToken says where a list continues.
type pageToken struct {
	Store    storeTag `json:"s"`
	Sequence uint64   `json:"q"`
	Catalog  string   `json:"c"` // empty for the list of catalogs
	After    string   `json:"a"` // the last listed name
}

// pins are the snapshots of unfinished lists.
type pins struct {
	mu   sync.Mutex
	list []pin // oldest use first
}

type pin struct {
	snapshot *snapshot
	used     time.Time
}

// update releases the snapshots whose time is over and, if s is not nil, pins s or renews its pin.
func (p *pins) update(s *snapshot, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = slices.DeleteFunc(p.list, func(p pin) bool { return p.snapshot == s || now.Sub(p.used) > pinnedFor })
	if s != nil {
		p.list = append(p.list, pin{s, now})
		p.list = slices.Delete(p.list, 0, max(len(p.list)-maxPinned, 0))
	}
}

// get returns the pinned snapshot of a sequence, or nil.
func (p *pins) get(sequence uint64, now time.Time) *snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pin := range p.list {
		if pin.snapshot.sequence == sequence && now.Sub(pin.used) <= pinnedFor {
			return pin.snapshot
		}
	}
	return nil
}

// page returns the snapshot of a list, the name after which the page begins, and the size of the page.
func (r *Registry) page(
	ctx context.Context, catalog string, p Page, atLeast string,
) (s *snapshot, after string, size int, err error) {
	if p.Size < 0 {
		return nil, "", 0, errorf(InvalidArgument, metadata{"field": "page_size"}, "page_size: %d is negative", p.Size)
	}
	if size = min(p.Size, MaxPageSize); size == 0 {
		size = DefaultPageSize
	}
	if p.Token == "" {
		s, err = r.at(ctx, atLeast)
		return s, "", size, err
	}
	var t pageToken
	b, err := base64.RawURLEncoding.DecodeString(p.Token)
	if err != nil || json.Unmarshal(b, &t) != nil || t.Store != r.tag || t.Catalog != catalog || t.After == "" {
		return nil, "", 0, errorf(TokenInvalid, nil,
			"page_token does not belong to this list: pass on its next_page_token unchanged")
	}
	if s = r.snapshot.Load(); s.sequence != t.Sequence {
		s = r.pins.get(t.Sequence, r.Now())
	}
	if s == nil {
		return nil, "", 0, errorf(WatchExpired, nil,
			"page_token has expired: the state of a list is kept for %v, and for the last %d lists; start from the first page",
			pinnedFor, maxPinned)
	}
	return s, t.After, size, nil
}

// nextPage pins the snapshot and returns the token of the page after last.
func (r *Registry) nextPage(s *snapshot, catalog, last string) string {
	r.pins.update(s, r.Now())
	b, _ := json.Marshal(pageToken{Store: r.tag, Sequence: s.sequence, Catalog: catalog, After: last}) // cannot fail
	return base64.RawURLEncoding.EncodeToString(b)
}

// CRDs lists the CRDs of a catalog by name.
func (r *Registry) CRDs(ctx context.Context, catalog string, p Page, atLeast string) (CRDPage, error) {
	s, after, size, err := r.page(ctx, catalog, p, atLeast)
	if err != nil {
		return CRDPage{}, err
	}
	c, err := s.catalog(catalog)
	if err != nil {
		return CRDPage{}, err
	}
	out := CRDPage{Token: r.tag.token(s.sequence)}
	bytes := 0
	for _, d := range c.crds.After(after) {
		full := len(out.CRDs) == size
		if p.WithManifest && !full {
			err := p.takes(bytes, d.current().content.size())
			if full = err != nil; full && len(out.CRDs) == 0 {
				return CRDPage{}, err
			}
		}
		if full {
			out.Next = r.nextPage(s, catalog, out.CRDs[len(out.CRDs)-1].Name)
			break
		}
		described := d.describe(d.current())
		if p.WithManifest {
			if described, err = d.describeWithManifest(d.current()); err != nil {
				return CRDPage{}, err
			}
			bytes += len(described.Manifest) + len(described.Conversion)
		}
		out.CRDs = append(out.CRDs, *described)
		if ctx.Err() != nil {
			return CRDPage{}, context.Cause(ctx)
		}
	}
	return out, nil
}

var errPageFull = errors.New("the page has no space for the manifest")

// takes returns an error if a page with manifests of some bytes in total cannot have a further one of n bytes.
func (p *Page) takes(bytes, n int) error {
	switch {
	case p.MaxBytes > 0 && bytes > 0 && bytes+n > p.MaxBytes:
		return errPageFull
	case p.Grow != nil:
		return p.Grow(int64(n))
	}
	return nil
}

// Catalogs lists the catalogs by name.
func (r *Registry) Catalogs(ctx context.Context, p Page, atLeast string) (CatalogPage, error) {
	s, after, size, err := r.page(ctx, "", p, atLeast)
	if err != nil {
		return CatalogPage{}, err
	}
	out := CatalogPage{Token: r.tag.token(s.sequence)}
	for name, c := range s.catalogs.After(after) {
		if p.Visible != nil && !p.Visible(name) {
			continue
		}
		if len(out.Catalogs) == size {
			out.Next = r.nextPage(s, "", out.Catalogs[size-1].Name)
			break
		}
		out.Catalogs = append(out.Catalogs, r.describe(c))
	}
	return out, nil
}
