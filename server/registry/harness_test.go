package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"go.uber.org/goleak"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/kubeserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testStore is a Store in memory that ignores contexts, and whose commits can be made to fail.
type testStore struct {
	*MemoryStore
	fail func(Transaction) error // called before a commit
}

func newTestStore() *testStore { return &testStore{MemoryStore: NewMemoryStore()} }

func (s *testStore) Commit(ctx context.Context, t Transaction) (uint64, error) {
	if s.fail != nil {
		if err := s.fail(t); err != nil {
			return 0, err
		}
	}
	return s.MemoryStore.Commit(context.WithoutCancel(ctx), t)
}

func (s *testStore) Load(ctx context.Context) (State, error) {
	return s.MemoryStore.Load(context.WithoutCancel(ctx))
}

// patience bounds how long a test waits for a condition.
const patience = 5 * time.Minute

// clock is a settable time.
type clock struct{ now time.Time }

func (c *clock) advance(d time.Duration) { c.now = c.now.Add(d) }

func newRegistry(t testing.TB, store Store, c *clock) *Registry {
	t.Helper()
	return newRegistryWith(t, store, func(o *Options) {
		if c != nil {
			o.Now = func() time.Time { return c.now }
		}
	})
}

func newRegistryWith(t testing.TB, store Store, configure func(*Options)) *Registry {
	t.Helper()
	programs := cache.New(cache.Options[string, *engine.Definition]{MaxBytes: 64 << 20, Weigh: (*engine.Definition).Size})
	t.Cleanup(func() {
		if err := programs.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	o := Options{Programs: programs, MaxWrite: patience}
	configure(&o)
	r, err := New(t.Context(), store, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// testRevision is what registering would make of a manifest, without the manifest: kinds default to the capitalized
// plural.
func testRevision(digest string, group string, n apiextensionsv1.CustomResourceDefinitionNames) *revision {
	if n.Kind == "" {
		n.Kind = strings.ToUpper(n.Plural[:1]) + n.Plural[1:]
	}
	return &revision{
		digest: "sha256:" + digest,
		summary: &summary{
			Scope: "Namespaced", Versions: []engine.VersionInfo{{Name: "v1", Served: true, Storage: true}},
			Desired: kubeserver.DesiredStatus{Group: group, Names: n, StorageVersion: "v1"},
		},
		content: pack([]byte(`{"digest":"` + digest + `"}`)),
	}
}

// register is Register behind the compilation; every other revision has another spec.
func register(t testing.TB, r *Registry, catalog string, rev *revision, p Precondition) (*CRD, error) {
	t.Helper()
	name := rev.summary.Desired.Names.Plural + "." + rev.summary.Desired.Group
	w, err := r.write(t.Context(), func(s *snapshot) (proposal, error) {
		c, err := s.catalog(catalog)
		if err != nil {
			return proposal{}, err
		}
		if err := p.check(c, name); err != nil {
			return proposal{}, err
		}
		generation := int64(1)
		if d, _ := c.crds.Get(name); d != nil {
			generation += d.record.Generation
		}
		return c.registration(&candidate{name: name, revision: rev, generation: generation}, p.NotOlderThan, unlimited, r.Now().UTC())
	})
	if err != nil {
		return nil, err
	}
	c, err := w.catalog(catalog)
	if err != nil {
		return nil, err
	}
	d, err := c.crd(name)
	if err != nil {
		return nil, err
	}
	return d.describe(rev), nil
}

func mustRegister(t testing.TB, r *Registry, catalog string, rev *revision) *CRD {
	t.Helper()
	d, err := register(t, r, catalog, rev, Precondition{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func wantReason(t testing.TB, err error, want Reason) {
	t.Helper()
	var e *Error
	switch {
	case want == "" && err == nil:
	case !errors.As(err, &e) || e.Reason != want:
		t.Errorf("error %v, want reason %q", err, want)
	case e.Message == "":
		t.Errorf("reason %s without a message", want)
	}
}

func loadState(state State) (*snapshot, error) {
	s, _, err := emptySnapshot().apply(Commit{Sequence: state.Sequence, Put: state.Entries})
	return s, err
}

// crontabs is a CRD whose replicas may be at most maximum.
func crontabs(maximum int) engine.Document {
	return engine.YAML(fmt.Appendf(nil, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.stable.example.com, uid: left-out, annotations: {a: b}}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab, shortNames: [ct], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {replicas: {type: integer, maximum: %d}}}}
  - {name: v1beta1, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}
`, maximum))
}

const object = `{"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "a", "namespace": "b"}, "spec": {"replicas": 10}}`

// allowed says whether a definition allows the object.
func allowed(t *testing.T, d *engine.Definition) bool {
	t.Helper()
	v, err := d.Validate(t.Context(), engine.Create{Object: engine.JSON([]byte(object))}, engine.ValidateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return v.Allowed
}
