package storetest

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/cache"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/registry"
)

// newRegistry returns a registry for a store. The caller closes it before the store.
func newRegistry(t *testing.T, s registry.Store) (r *registry.Registry, end func()) {
	programs := cache.New(cache.Options[string, *engine.Definition]{MaxBytes: 64 << 20, Weigh: (*engine.Definition).Size})
	r, err := registry.New(t.Context(), s, registry.Options{
		Programs: programs, MaxWrite: patience, MaxWait: patience, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return time.Unix(1000, 0) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return r, func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
		_ = programs.Close(context.Background())
	}
}

var taskCRD = engine.YAML([]byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tasks.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: tasks, kind: Task}
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://example.com/'}}}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {next: {type: string}}}}}}
  - name: v1beta1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {after: {type: string}}}}}}
`))

var taskRules = engine.YAML([]byte("crd: tasks.example.com\nbetween: [v1beta1, v1]\nrules:\n- move: {from: spec.after, to: spec.next}\n"))

// Conversion rules are stored with their revision: another replica has them, and so has a restarted process.
func conversionRules(t *testing.T, f fixture) {
	const name = "tasks.example.com"
	one, endOne := newRegistry(t, f.Store)
	registered, err := one.Register(t.Context(), "default", taskCRD, registry.Precondition{})
	if err != nil || registered.CRD == nil {
		endOne()
		t.Fatalf("%+v, %v", registered.Report, err)
	}
	set, err := one.SetConversion(t.Context(), "default", name, registry.ConversionChange{Rules: taskRules})
	if err != nil || set.Outcome != registry.Updated {
		endOne()
		t.Fatalf("%+v, %v", set.Report, err)
	}
	var two *registry.Registry
	var endTwo func()
	switch {
	case f.Another != nil:
		two, endTwo = newRegistry(t, f.Another())
		defer endOne()
	case f.Reopen != nil:
		endOne()
		s, err := f.Reopen()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		two, endTwo = newRegistry(t, s)
	default:
		endOne()
		two, endTwo = newRegistry(t, f.Store)
	}
	defer endTwo()
	d, err := two.CRD(t.Context(), "default", name, "", set.Token)
	if err != nil || d.Revision != set.CRD.Revision || d.Etag != set.CRD.Etag || !strings.Contains(string(d.Conversion), `"from":"spec.after"`) {
		t.Fatalf("%+v, %v; want %+v", d, err, set.CRD)
	}
	view, err := two.View(t.Context(), "default", set.Token)
	if err != nil {
		t.Fatal(err)
	}
	definition, err := view.Named(t.Context(), name, "")
	if err != nil {
		t.Fatal(err)
	}
	object := engine.JSON([]byte(`{"apiVersion": "example.com/v1beta1", "kind": "Task", "metadata": {"name": "a", "namespace": "b"}, "spec": {"after": "x"}}`))
	got, err := definition.Convert(t.Context(), object, "v1", engine.TransformOptions{})
	if err != nil || !strings.Contains(string(got.Object), `"spec":{"next":"x"}`) {
		t.Errorf("%s, %v", got.Object, err)
	}
	again, err := two.SetConversion(t.Context(), "default", name, registry.ConversionChange{Rules: taskRules, Etag: d.Etag})
	if err != nil || again.Outcome != registry.Unchanged {
		t.Errorf("%s, %v", again.Outcome, err)
	}
	removed, err := two.SetConversion(t.Context(), "default", name, registry.ConversionChange{})
	if err != nil || removed.Outcome != registry.Updated || removed.CRD.Revision != registered.CRD.Revision {
		t.Errorf("%+v, %v", removed, err)
	}
	if f.Another == nil {
		return
	}
	if d, err := one.CRD(t.Context(), "default", name, "", removed.Token); err != nil || d.Conversion != nil || d.Revision != registered.CRD.Revision {
		t.Errorf("%+v, %v", d, err)
	}
}
