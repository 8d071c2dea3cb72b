package registry

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A list is of one snapshot, however many pages it has: the snapshot that the first page was made of is pinned for pinnedFor, and at most
// maxPinned are (they share nearly everything). After that the next page is WATCH_EXPIRED: a caller who lists again gets it whole.
const (
	pinnedFor = 5 * time.Minute
	maxPinned = 64
)

// DefaultPageSize and MaxPageSize bound the entries in one page of a list.
const (
	DefaultPageSize = 100
	MaxPageSize     = 1000
)

// pageToken says where a list goes on.
type pageToken struct {
	Store    storeTag `json:"s"`
	Sequence uint64   `json:"q"`
	Catalog  string   `json:"c"` // empty for the list of catalogs
	After    string   `json:"a"` // the last name listed
}

func (p pageToken) String() string {
	b, _ := json.Marshal(p) // strings and numbers always encode
	return base64.RawURLEncoding.EncodeToString(b)
}

// pinned keeps the snapshots that lists under way were made of.
type pinned struct {
	now  func() time.Time
	mu   sync.Mutex
	kept []pin // by time of use, oldest first
}

type pin struct {
	snapshot *snapshot
	used     time.Time
}

func (p *pinned) keep(s *snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(s)
	p.kept = append(p.kept, pin{s, p.now()})
	if len(p.kept) > maxPinned {
		p.kept = slices.Delete(p.kept, 0, len(p.kept)-maxPinned)
	}
}

// drop forgets a snapshot, nil for none, and those whose time is up. The caller holds the lock.
func (p *pinned) drop(s *snapshot) {
	p.kept = slices.DeleteFunc(p.kept, func(k pin) bool { return k.snapshot == s || p.now().Sub(k.used) > pinnedFor })
}

// sweep forgets those whose time is up: what was deleted since would stay in memory otherwise until somebody lists again.
func (p *pinned) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(nil)
}

func (p *pinned) find(sequence uint64) *snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.kept {
		if k.snapshot.sequence == sequence && p.now().Sub(k.used) <= pinnedFor {
			return k.snapshot
		}
	}
	return nil
}

// page finds the snapshot that a list is made of and the name to go on after, "" for the first page.
func (r *Registry) page(ctx context.Context, catalog string, p Page, atLeast string) (s *snapshot, after string, size int, err error) {
	if p.Size < 0 {
		return nil, "", 0, &Error{Reason: InvalidArgument, Message: fmt.Sprintf("page_size: %d is negative", p.Size), Metadata: map[string]string{"field": "page_size"}}
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
		return nil, "", 0, &Error{Reason: TokenForeign, Message: "page_token is not one that this list answered: pass on next_page_token, unchanged, to the same list"}
	}
	if s = r.snapshot.Load(); s.sequence != t.Sequence {
		s = r.lists.find(t.Sequence)
	}
	if s == nil {
		return nil, "", 0, &Error{
			Reason:  WatchExpired,
			Message: fmt.Sprintf("page_token is of a state that is no longer kept (for %v, the last %d that were listed): list again from the first page", pinnedFor, maxPinned),
		}
	}
	return s, t.After, size, nil
}

// next pins the snapshot if the list goes on, and returns the token for that.
func (r *Registry) next(s *snapshot, catalog, last string) string {
	r.lists.keep(s)
	return pageToken{Store: r.tag, Sequence: s.sequence, Catalog: catalog, After: last}.String()
}

// CRDs lists those of a catalog, by name.
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
	for _, d := range c.sorted.After(after) {
		full := p.WithManifest && p.MaxBytes > 0 && len(out.CRDs) > 0 && bytes+d.current().manifest.size() > p.MaxBytes
		if len(out.CRDs) == size || full {
			out.Next = r.next(s, catalog, out.CRDs[len(out.CRDs)-1].Name)
			break
		}
		described := d.describe(d.current())
		if p.WithManifest {
			if described, err = d.describeWhole(d.current()); err != nil {
				return CRDPage{}, err
			}
			bytes += len(described.Manifest)
		}
		out.CRDs = append(out.CRDs, *described)
		if err := ctx.Err(); err != nil {
			return CRDPage{}, context.Cause(ctx)
		}
	}
	return out, nil
}

// Catalogs lists them, by name.
func (r *Registry) Catalogs(ctx context.Context, p Page, atLeast string) (CatalogPage, error) {
	s, after, size, err := r.page(ctx, "", p, atLeast)
	if err != nil {
		return CatalogPage{}, err
	}
	out := CatalogPage{Token: r.tag.token(s.sequence)}
	for _, c := range s.sorted.After(after) {
		if len(out.Catalogs) == size {
			out.Next = r.next(s, "", out.Catalogs[size-1].Name)
			break
		}
		out.Catalogs = append(out.Catalogs, c.describe())
	}
	return out, nil
}
