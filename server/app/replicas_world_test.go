package app

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// world is what is registered at replicas, by writers that know what they wrote and readers that hold the replicas to it.
type world struct {
	t        *testing.T
	replicas []*replica
	subjects []*subject
	checks   chan check
	readers  sync.WaitGroup
	broken   atomic.Bool // something is being broken: calls may fail, and are made again

	written, updates, deletes, read, failures atomic.Int64
}

// subject is a CRD, which one writer at a time changes. Each change has a number; the CRD has it as a default, so that an evaluated object has it.
type subject struct {
	catalog, group, kind, name string

	mu       sync.Mutex // held by its writer
	token    string     // of the last change acknowledged; empty if only its effect was seen
	present  bool
	acked    int64
	begun    atomic.Int64 // the last change that was begun
	deletion atomic.Int64 // the last deletion that was begun
}

// check is a change that was acknowledged, for readers at other replicas.
type check struct {
	subject *subject
	number  int64
	deleted bool
	token   string
	at      *replica // where it was made
}

var catalogs = []string{"default", "team-a", "team-b"}

func newWorld(t *testing.T, replicas []*replica) *world {
	t.Helper()
	w := &world{t: t, replicas: replicas, checks: make(chan check, 100)}
	for _, r := range replicas {
		w.ready(r)
	}
	for _, catalog := range catalogs {
		if catalog != "default" {
			_, err := crdevalv1.NewRegistryServiceClient(replicas[0].conn).CreateCatalog(t.Context(), &crdevalv1.CreateCatalogRequest{Catalog: catalog})
			if err != nil {
				t.Fatal(err)
			}
		}
		for i := range 10 {
			s := &subject{catalog: catalog, group: fmt.Sprintf("group%d.example.com", i%2), kind: fmt.Sprintf("Kind%d", i)}
			s.name = strings.ToLower(s.kind) + "s." + s.group
			w.subjects = append(w.subjects, s)
		}
	}
	for range 4 {
		w.readers.Go(func() {
			for c := range w.checks {
				w.verify(c)
			}
		})
	}
	return w
}

// ready waits until a replica serves.
func (w *world) ready(r *replica) {
	w.t.Helper()
	eventually(w.t, func() error {
		_, err := crdevalv1.NewRegistryServiceClient(r.conn).ListCatalogs(w.t.Context(), &crdevalv1.ListCatalogsRequest{})
		return err
	})
}

// write makes n changes by several writers, at random replicas, spread over a time; names that two CRDs claim at once among them.
func (w *world) write(n int, over time.Duration) {
	const writers = 6
	began := time.Now()
	var left atomic.Int64
	left.Store(int64(n))
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for {
				i := int64(n) - left.Add(-1)
				if i > int64(n) || w.t.Failed() {
					return
				}
				time.Sleep(time.Until(began.Add(over * time.Duration(i) / time.Duration(n))))
				w.change(w.subjects[rand.IntN(len(w.subjects))])
			}
		})
	}
	for i := range 10 {
		wg.Go(func() { w.contest(i) })
	}
	wg.Wait()
	w.t.Logf("%d changes (%d updates, %d deletions) within %v", w.written.Load(), w.updates.Load(), w.deletes.Load(), time.Since(began).Round(time.Millisecond))
}

func (w *world) change(s *subject) {
	s.mu.Lock()
	defer s.mu.Unlock()
	number := s.begun.Load() + 1
	deletes := s.present && rand.IntN(8) == 0
	if deletes {
		s.deletion.Store(number)
	}
	s.begun.Store(number)
	var token string
	at := w.persist(func(ctx context.Context, r *replica) (err error) {
		api := crdevalv1.NewRegistryServiceClient(r.conn)
		if !deletes {
			token, err = register(ctx, api, s.catalog, s.manifest(number))
			return err
		}
		done, err := api.DeleteCrd(ctx, &crdevalv1.DeleteCrdRequest{Catalog: s.catalog, Crd: s.name}) // writes take no token, and need none
		token = done.GetToken()
		if reason(err) == "CRD_NOT_FOUND" && w.broken.Load() {
			err = nil // an attempt before this one came through
		}
		return err
	})
	if at == nil {
		return
	}
	w.written.Add(1)
	switch {
	case deletes:
		w.deletes.Add(1)
	case s.present:
		w.updates.Add(1)
	}
	s.present, s.acked, s.token = !deletes, number, token
	if token != "" {
		w.checks <- check{s, number, deletes, token, at}
	}
}

// persist makes a call at random replicas until one succeeds, and returns that one. Failures are those of something broken, and say so.
func (w *world) persist(call func(context.Context, *replica) error) *replica {
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		r := w.replicas[rand.IntN(len(w.replicas))]
		broken := w.broken.Load()
		ctx, cancel := context.WithTimeout(w.t.Context(), patience)
		err := call(ctx, r)
		cancel()
		if err == nil {
			return r
		}
		w.failures.Add(1)
		if status.Code(err) != codes.Unavailable || !broken && !w.broken.Load() || time.Now().After(end) {
			w.t.Errorf("%s: %v", r.name, err)
			return nil
		}
	}
}

func register(ctx context.Context, api crdevalv1.RegistryServiceClient, catalog, manifest string) (string, error) {
	done, err := api.RegisterCrd(ctx, &crdevalv1.RegisterCrdRequest{
		Catalog: catalog, Manifest: &crdevalv1.Document{Content: &crdevalv1.Document_Yaml{Yaml: manifest}},
	})
	if err != nil {
		return "", err
	}
	if !done.GetAccepted() {
		return "", fmt.Errorf("rejected: %v", done.GetReport())
	}
	return done.GetToken(), nil
}

func (s *subject) manifest(number int64) string {
	return crd(s.group, strings.ToLower(s.kind)+"s", s.kind, number)
}

func crd(group, plural, kind string, number int64) string {
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]s.%[1]s}
spec:
  group: %[1]s
  scope: Cluster
  names: {plural: %[2]s, kind: %[3]s}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, default: {}, properties: {number: {type: integer, default: %[4]d}}}
`, group, plural, kind, number)
}

// evaluate has a replica fill in an object's defaults and returns the number of the change that it knows of, 0 where it knows no CRD.
func (s *subject) evaluate(ctx context.Context, r *replica, atLeast string, byName bool) (int64, error) {
	item := &crdevalv1.ObjectItem{Object: &crdevalv1.Document{Content: &crdevalv1.Document_Json{
		Json: fmt.Appendf(nil, `{"apiVersion": "%s/v1", "kind": %q, "metadata": {"name": "a"}}`, s.group, s.kind),
	}}}
	if byName {
		item.Crd = s.name
	}
	answer, err := crdevalv1.NewEvaluationServiceClient(r.conn).Default(ctx, &crdevalv1.DefaultRequest{
		Context: &crdevalv1.EvaluationContext{Catalog: s.catalog, AtLeast: atLeast}, Items: []*crdevalv1.ObjectItem{item},
	})
	if err == nil && answer.GetResults()[0].GetError() != nil {
		err = status.ErrorProto(answer.GetResults()[0].GetError())
	}
	if reason(err) == "CRD_NOT_FOUND" {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var object struct{ Spec struct{ Number int64 } }
	if err := json.Unmarshal(answer.GetResults()[0].GetTransformed().GetObject().GetJson(), &object); err != nil {
		return 0, err
	}
	return object.Spec.Number, nil
}

// verify evaluates at the replicas that did not make the change, with its token: the answer is of that change or of a later one.
func (w *world) verify(c check) {
	for _, r := range w.replicas {
		if r == c.at && !w.broken.Load() {
			continue
		}
		for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			ctx, cancel := context.WithTimeout(w.t.Context(), patience)
			got, err := c.subject.evaluate(ctx, r, c.token, rand.IntN(2) == 0)
			cancel()
			if status.Code(err) == codes.Unavailable && w.broken.Load() && time.Now().Before(end) {
				continue // not an answer
			}
			if err != nil {
				w.t.Errorf("%s, %s of %s: %v", r.name, c.subject.name, c.subject.catalog, err)
				return
			}
			w.read.Add(1)
			switch {
			case got == 0 && c.subject.deletion.Load() < c.number:
				w.t.Errorf("%s: %s of %s was registered, change %d, and is not there", r.name, c.subject.name, c.subject.catalog, c.number)
			case got != 0 && (got < c.number || c.deleted && got == c.number):
				w.t.Errorf("%s: %s of %s: a stale answer: change %d after %d", r.name, c.subject.name, c.subject.catalog, got, c.number)
			case got > c.subject.begun.Load():
				w.t.Errorf("%s: %s of %s: unknown change %d", r.name, c.subject.name, c.subject.catalog, got)
			}
			break
		}
	}
}

// contest registers two CRDs that claim one kind, at once.
func (w *world) contest(i int) {
	var wg sync.WaitGroup
	for _, plural := range []string{"firsts", "seconds"} {
		wg.Go(func() {
			w.persist(func(ctx context.Context, r *replica) error {
				_, err := register(ctx, crdevalv1.NewRegistryServiceClient(r.conn), catalogs[i%len(catalogs)],
					crd("contested.example.com", fmt.Sprintf("%s%d", plural, i), fmt.Sprintf("Contested%d", i), 1))
				return err
			})
		})
	}
	wg.Wait()
}

// finish waits for the readers and compares every replica with what was acknowledged, and with each other.
func (w *world) finish() {
	w.t.Helper()
	close(w.checks)
	w.readers.Wait()
	for _, r := range w.replicas {
		w.ready(r)
	}
	w.broken.Store(false) // all is whole again
	last := ""
	w.persist(func(ctx context.Context, r *replica) (err error) { // whose token every replica can be asked for
		last, err = register(ctx, crdevalv1.NewRegistryServiceClient(r.conn), "default", crd("last.example.com", "lasts", "Last", time.Now().UnixNano()))
		return err
	})
	var pictures []string
	for _, r := range w.replicas {
		for _, s := range w.subjects {
			ctx, cancel := context.WithTimeout(w.t.Context(), patience)
			got, err := s.evaluate(ctx, r, last, true)
			cancel()
			want := s.acked
			if !s.present {
				want = 0
			}
			if err != nil || got != want {
				w.t.Errorf("%s: %s of %s is at change %d, want %d: %v", r.name, s.name, s.catalog, got, want, err)
			}
		}
		pictures = append(pictures, w.picture(r, last))
	}
	for i, p := range pictures {
		if p != pictures[0] {
			w.t.Errorf("%s and %s differ:\n%s\n%s", w.replicas[0].name, w.replicas[i].name, pictures[0], p)
		}
	}
	for i := range 10 {
		claim := fmt.Sprintf(" Contested%d ", i)
		if n := strings.Count(pictures[0], claim+"true"); n != 1 || strings.Count(pictures[0], claim) != 2 {
			w.t.Errorf("of two CRDs that claim kind%s%d are established", claim, n)
		}
	}
	if w.t.Failed() {
		return
	}
	w.t.Logf("%d changes acknowledged, %d evaluations with their tokens at the other replicas: none stale, none lost", w.written.Load(), w.read.Load())
}

// picture is all that a replica has.
func (w *world) picture(r *replica, atLeast string) string {
	w.t.Helper()
	var b strings.Builder
	for _, catalog := range catalogs {
		ctx, cancel := context.WithTimeout(w.t.Context(), patience)
		list, err := crdevalv1.NewRegistryServiceClient(r.conn).ListCrds(ctx, &crdevalv1.ListCrdsRequest{Catalog: catalog, PageSize: 1000, AtLeast: atLeast})
		cancel()
		if err != nil {
			w.t.Errorf("%s: %v", r.name, err)
			return ""
		}
		for _, d := range list.GetCrds() {
			conditions := make([]string, 0, len(d.GetStatus().GetConditions()))
			for _, c := range d.GetStatus().GetConditions() {
				conditions = append(conditions, c.GetType()+"="+c.GetStatus()+":"+c.GetReason())
			}
			slices.Sort(conditions)
			fmt.Fprintf(&b, "%s %s %s %v %s %s %d %v\n", catalog, d.GetName(), d.GetNames().GetKind(), d.GetStatus().GetEstablished(), d.GetRevision(), d.GetEtag(), d.GetGeneration(), conditions)
		}
	}
	return b.String()
}

// evaluating evaluates at every replica, without tokens, until it is stopped. None may fail.
type evaluating struct {
	n    atomic.Int64
	stop func()
}

func (w *world) evaluateAllTheTime() *evaluating {
	s := &subject{catalog: "default", group: "always.example.com", kind: "Always", name: "always.always.example.com"}
	token := ""
	w.persist(func(ctx context.Context, r *replica) (err error) {
		token, err = register(ctx, crdevalv1.NewRegistryServiceClient(r.conn), s.catalog, crd(s.group, "always", s.kind, 7))
		return err
	})
	ctx, cancel := context.WithCancel(w.t.Context())
	var wg sync.WaitGroup
	e := &evaluating{stop: func() { cancel(); wg.Wait() }}
	for _, r := range w.replicas {
		if _, err := s.evaluate(ctx, r, token, true); err != nil {
			w.t.Fatal(err)
		}
		wg.Go(func() {
			for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
				got, err := s.evaluate(ctx, r, "", false)
				if ctx.Err() != nil {
					return
				}
				if err != nil || got != 7 {
					w.t.Errorf("%s: an evaluation failed: %d, %v", r.name, got, err)
					return
				}
				e.n.Add(1)
			}
		})
	}
	return e
}

// reason is that of an error's ErrorInfo.
func reason(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}
