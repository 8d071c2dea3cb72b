package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/testenv"
)

// newBoundedRegistry returns a registry of which every catalog has the quota.
func newBoundedRegistry(t *testing.T, store Store, q *Quota, maxBytes int64) *Registry {
	t.Helper()
	r := newRegistry(t, store, nil)
	r.Quota, r.MaxBytes = func(string) Quota { return *q }, maxBytes
	return r
}

// named is a CRD with a plural whose manifests differ by n.
func named(plural string, n int) engine.Document {
	return engine.YAML(fmt.Appendf(nil, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.g.io}
spec:
  group: g.io
  scope: Namespaced
  names: {plural: %[1]s, kind: %[2]s}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, description: "%[3]d"}}}]
`, plural, strings.ToUpper(plural), n))
}

// registerAll registers manifests until one fails.
func registerAll(ctx context.Context, r *Registry, manifests ...engine.Document) error {
	for _, m := range manifests {
		if _, err := r.Register(ctx, DefaultCatalog, m, Precondition{}); err != nil {
			return err
		}
	}
	return nil
}

func wantQuota(t *testing.T, err error, quota, maximum, used string) {
	t.Helper()
	e := (*Error)(nil)
	if !errors.As(err, &e) || e.Reason != QuotaExceeded || e.Metadata["quota"] != quota || e.Metadata["maximum"] != maximum ||
		e.Metadata["used"] != used || !strings.Contains(e.Message, maximum) {
		t.Errorf("got %v %+v, want QUOTA_EXCEEDED of %s, %s of %s", err, e, quota, used, maximum)
	}
}

func TestQuotaOfCRDs(t *testing.T) {
	q := &Quota{CRDs: 2}
	store := newTestStore()
	r := newBoundedRegistry(t, store, q, 0)
	if err := registerAll(t.Context(), r, named("foos", 1), named("bars", 1), named("foos", 2)); err != nil {
		t.Fatal(err)
	}
	commits := store.sequence
	done, _, err := r.RegisterAll(t.Context(), DefaultCatalog, []Submission{{Manifest: named("bazs", 1)}, {Manifest: named("foos", 3)}})
	if err != nil || done[1].Err != nil || done[1].Registration.Outcome != Updated {
		t.Errorf("an update: %+v, %v", done, err)
	}
	wantQuota(t, done[0].Err, "crds", "2", "2")
	if n := store.sequence - commits; n != 1 {
		t.Errorf("%d commits, want that of the update only", n)
	}
	if _, err := r.Check(t.Context(), DefaultCatalog, Submission{Manifest: named("bazs", 1)}, ""); err != nil {
		t.Errorf("a check: %v", err)
	}
	if _, err := r.Delete(t.Context(), DefaultCatalog, "bars.g.io", Precondition{}); err != nil {
		t.Fatal(err)
	}
	if err := registerAll(t.Context(), r, named("bazs", 1)); err != nil {
		t.Error("after a deletion:", err)
	}
	q.CRDs = 1 // less than there are
	if err := registerAll(t.Context(), r, named("foos", 4)); err != nil {
		t.Error("an update beyond a lowered quota:", err)
	}
}

// TestQuotaOfRevisions: revisions that are not current make way, first those of the same CRD, then the oldest.
func TestQuotaOfRevisions(t *testing.T) {
	q := &Quota{Revisions: 5}
	store := newTestStore()
	r := newBoundedRegistry(t, store, q, 0)
	for i := range 20 {
		if err := registerAll(t.Context(), r, named("foos", i)); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := r.Catalog(t.Context(), DefaultCatalog, ""); err != nil || c.Revisions != 5 || c.CRDs != 1 || c.Bytes == 0 || c.Quota != *q {
		t.Errorf("%+v, %v", c, err)
	}
	before, _ := r.CRD(t.Context(), DefaultCatalog, "foos.g.io", "", "")
	for i := range 4 {
		if err := registerAll(t.Context(), r, named(fmt.Sprint("bars", i), 1), named(fmt.Sprint("bars", i), 2)); err != nil {
			t.Fatal(err)
		}
	}
	wantQuota(t, registerAll(t.Context(), r, named("more", 1)), "revisions", "5", "5")
	for i := range 4 {
		if err := registerAll(t.Context(), r, named(fmt.Sprint("bars", i), 3)); err != nil {
			t.Errorf("an update of a full catalog: %v", err)
		}
	}
	after, err := r.CRD(t.Context(), DefaultCatalog, "foos.g.io", "", "")
	if err != nil || after.Etag != before.Etag || after.Revision != before.Revision {
		t.Errorf("%+v became %+v, %v", before, after, err)
	}
	if n := r.Counts(); n.Revisions != 5 || n.CRDs != 5 {
		t.Errorf("%+v", n)
	}
	if stored := newRegistry(t, store, nil).Counts(); stored != r.Counts() {
		t.Errorf("after a restart %+v, want %+v", stored, r.Counts())
	}
}

func TestQuotaOfBytes(t *testing.T) {
	r := newBoundedRegistry(t, newTestStore(), &Quota{Bytes: 2000}, 0)
	var err error
	n := 0
	for ; err == nil && n < 1000; n++ {
		err = registerAll(t.Context(), r, named(fmt.Sprint("foos", n), 0), named(fmt.Sprint("foos", n), 1))
	}
	used := r.Counts().ManifestBytes
	wantQuota(t, err, "bytes", "2000", fmt.Sprint(used))
	if c := r.Counts(); n < 3 || used > 2000 || c.Revisions != c.CRDs {
		t.Errorf("%d CRDs of %+v", n, c)
	}
}

// TestRejectedWritesDropNothing: a write that does not fit even without old revisions leaves them.
func TestRejectedWritesDropNothing(t *testing.T) {
	q := &Quota{}
	r := newBoundedRegistry(t, newTestStore(), q, 0)
	for i := range 4 {
		if err := registerAll(t.Context(), r, named("foos", i), named("bars", i)); err != nil {
			t.Fatal(err)
		}
	}
	before := r.Counts()
	large := func(plural string) engine.Document {
		text := make([]byte, 10*before.ManifestBytes)
		rng := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // a text that does not compress
		for i := range text {
			text[i] = byte('a' + rng.IntN(26))
		}
		return engine.YAML(bytes.Replace(named(plural, 0).YAML, []byte(`description: "0"`), fmt.Appendf(nil, `description: "%s"`, text), 1))
	}
	for name, set := range map[string]func(){
		"quota":    func() { *q = Quota{Bytes: before.ManifestBytes} },
		"capacity": func() { *q, r.MaxBytes = Quota{}, before.memory()-6*revisionMemory },
	} {
		set()
		for _, plural := range []string{"bazs", "foos"} {
			wantReason(t, registerAll(t.Context(), r, large(plural)), QuotaExceeded)
			if after := r.Counts(); after != before {
				t.Errorf("%s, %s: %+v became %+v", name, plural, before, after)
			}
		}
	}
}

// TestCapacity: catalogs, CRDs and revisions count towards the capacity of the registry. Deletions free it.
func TestCapacity(t *testing.T) {
	const capacity = 64 << 10
	r := newBoundedRegistry(t, newTestStore(), &Quota{}, capacity)
	var err error
	crds, catalogs := 0, 0
	for ; err == nil && crds < 1000; crds++ {
		err = registerAll(t.Context(), r, named(fmt.Sprint("foos", crds), 0))
	}
	wantReason(t, err, QuotaExceeded)
	for err = nil; err == nil && catalogs < 1000; catalogs++ {
		_, _, err = r.CreateCatalog(t.Context(), fmt.Sprint("c", catalogs), "")
	}
	wantReason(t, err, QuotaExceeded)
	for i := range 10 {
		if err := registerAll(t.Context(), r, named("foos0", i)); err != nil && i < 2 {
			wantReason(t, err, QuotaExceeded)
		}
	}
	if n := r.Counts(); n.memory() > capacity || crds < 8 {
		t.Errorf("%d CRDs and %d catalogs take %d of %d bytes", crds, catalogs, n.memory(), capacity)
	}
	if _, err := r.Delete(t.Context(), DefaultCatalog, "foos1.g.io", Precondition{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.CreateCatalog(t.Context(), "again", ""); err != nil {
		t.Error("after a deletion:", err)
	}
	if done, err := r.Register(t.Context(), "again", named("x", 0), Precondition{}); err == nil && r.Counts().memory() > capacity {
		t.Errorf("%+v beyond the capacity", done)
	}
}

func TestQuotaOfWatches(t *testing.T) {
	r := newBoundedRegistry(t, newTestStore(), &Quota{Watches: 1}, 0)
	if _, _, err := r.CreateCatalog(t.Context(), "other", ""); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	synced, ended := make(chan struct{}), make(chan error)
	go func() {
		ended <- r.Watch(ctx, DefaultCatalog, "", func(Event) error {
			close(synced)
			return nil
		})
	}()
	<-synced
	wantQuota(t, r.Watch(t.Context(), DefaultCatalog, "", nil), "watches", "1", "1")
	if c, err := r.Catalog(t.Context(), DefaultCatalog, ""); err != nil || c.Watches != 1 || r.Watches() != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	stop := errors.New("stop")
	if err := r.Watch(t.Context(), "other", "", func(Event) error { return stop }); !errors.Is(err, stop) {
		t.Error("another catalog:", err)
	}
	cancel()
	<-ended
	if err := r.Watch(t.Context(), DefaultCatalog, "", func(Event) error { return stop }); !errors.Is(err, stop) || r.Watches() != 0 {
		t.Errorf("after the end of the other: %v, %d watches", err, r.Watches())
	}
}

// TestMemoryOfEntries compares the estimates of quota.go with the heap.
func TestMemoryOfEntries(t *testing.T) {
	testenv.SingleGoroutine(t)
	const n = 2000
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	store := &discardStore{}
	r := newRegistry(t, store, nil)
	before := heap()
	for i := range n {
		mustRegister(t, r, DefaultCatalog, testRevision(fmt.Sprint(i), fmt.Sprintf("g%d.io", i), apiextensionsv1.CustomResourceDefinitionNames{Plural: "foos"}))
	}
	crds := heap() - before
	for i := range n {
		mustRegister(t, r, DefaultCatalog, testRevision(fmt.Sprint(i+n), fmt.Sprintf("g%d.io", i), apiextensionsv1.CustomResourceDefinitionNames{Plural: "foos"}))
	}
	revisions := heap() - before - crds
	for i := range n {
		if _, _, err := r.CreateCatalog(t.Context(), fmt.Sprint("c", i), ""); err != nil {
			t.Fatal(err)
		}
	}
	catalogs := heap() - before - crds - revisions
	runtime.KeepAlive(r)
	t.Logf("%d bytes for a CRD with a revision and an event, %d for another revision and event, %d for a catalog", crds/n, revisions/n, catalogs/n)
	if crds/n > crdMemory+revisionMemory || revisions/n > revisionMemory+crdMemory || catalogs/n > catalogMemory {
		t.Error("the estimates are too small")
	}
}

// discardStore keeps nothing.
type discardStore struct{ sequence uint64 }

func (s *discardStore) ID() string                          { return "discard" }
func (s *discardStore) Close() error                        { return nil }
func (s *discardStore) Load(context.Context) (State, error) { return State{Sequence: s.sequence}, nil }
func (s *discardStore) Commit(context.Context, Transaction) (uint64, error) {
	s.sequence++
	return s.sequence, nil
}
