package registry

import (
	"errors"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/convert"
)

func TestOverlay(t *testing.T) {
	store := newTestStore()
	r := newRegistry(t, store, nil)
	mustAccept(t, r, crontabs(10), Created)
	sequence := store.sequence
	for range 3 {
		v, err := r.ViewWith(t.Context(), "default", r.last(), []engine.Document{widget("Widget", "", "v1"), crontabs(9)})
		if err != nil {
			t.Fatal(err)
		}
		if d, err := v.OfKind(t.Context(), "example.com", "Widget", ""); err != nil || d.Name() != "widgets.example.com" {
			t.Errorf("%v", err)
		}
		d, err := v.OfKind(t.Context(), "stable.example.com", "CronTab", "")
		if err != nil || allowed(t, d) {
			t.Errorf("the overlay's is not in force: %v", err)
		}
		below, err := r.CRD(t.Context(), "default", "crontabs.stable.example.com", "", "")
		if err != nil {
			t.Fatal(err)
		}
		if d, err := v.Named(t.Context(), "crontabs.stable.example.com", below.Revision); err != nil || !allowed(t, d) {
			t.Errorf("the registered revision cannot be pinned: %v", err)
		}
	}
	if store.sequence != sequence || r.Counts().CRDs != 1 {
		t.Error("the overlay was registered")
	}
	// Three manifests, each compiled once: when it was judged.
	if s := r.Programs.Stats(); s.Entries != 3 || s.Builds != 0 || r.inline.Stats().Entries != 2 {
		t.Errorf("%+v, %d cached", s, r.inline.Stats().Entries)
	}
	// A verdict holds as long as what it was made against is registered.
	mustAccept(t, r, widget("Gadget", "", "v1"), Created)
	_, err := r.ViewWith(t.Context(), "default", "", []engine.Document{widget("Widget", "", "v1")})
	wantReason(t, err, CRDRejected)
}

// Of two inline CRDs of a name, the second is evaluated. Rules may follow their CRD.
func TestOverlayUpdates(t *testing.T) {
	r := newRegistry(t, newTestStore(), nil)
	v, err := r.ViewWith(t.Context(), "default", "", []engine.Document{crontabs(10), hosts("Webhook", ""), crontabs(9), moveHost()})
	if err != nil {
		t.Fatal(err)
	}
	if d, err := v.Named(t.Context(), "crontabs.stable.example.com", ""); err != nil || allowed(t, d) {
		t.Errorf("the first one is in force: %v", err)
	}
	if d, err := v.Named(t.Context(), hostsName, ""); err != nil || !convert.IsDeclared(d) {
		t.Errorf("the rules are not in force: %v", err)
	}
}

func TestOverlayRejections(t *testing.T) {
	r := newRegistry(t, newTestStore(), nil)
	mustAccept(t, r, widget("Widget", "", "v1"), Created)
	bad := engine.YAML([]byte("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\nspec: {}\n"))
	for _, tc := range []struct {
		name    string
		overlay []engine.Document
		want    Reason
		message string
	}{
		{"rejected", []engine.Document{crontabs(1), bad}, CRDRejected, "crds[1]: "},
		{"rejected as an update", []engine.Document{widget("Gadget", "", "v1")}, CRDRejected, "field is immutable"},
		{"rejected as an update of the overlay", []engine.Document{crontabs(1), engine.YAML([]byte(strings.Replace(string(crontabs(1).YAML), "scope: Namespaced", "scope: Cluster", 1)))}, CRDRejected, "field is immutable"},
	} {
		_, err := r.ViewWith(t.Context(), "default", "", tc.overlay)
		wantReason(t, err, tc.want)
		var e *Error
		if errors.As(err, &e) && (!strings.Contains(e.Message, tc.message) || (e.Report != nil) != (tc.want == CRDRejected)) {
			t.Errorf("%s: %+v", tc.name, e)
		}
	}
	var unreadable *engine.Error
	_, err := r.ViewWith(t.Context(), "default", "", []engine.Document{crontabs(1), engine.JSON([]byte("{"))})
	if !errors.As(err, &unreadable) || unreadable.Reason != engine.ReasonManifestUnreadable || !strings.HasPrefix(unreadable.Message, "crds[1]: ") {
		t.Errorf("%v", err)
	}
	_, err = r.ViewWith(t.Context(), "never", "", nil)
	wantReason(t, err, CatalogNotFound)
	// Names that the group has given away are not those of the overlay.
	v, err := r.ViewWith(t.Context(), "default", "", []engine.Document{engine.YAML([]byte(strings.NewReplacer("widgets", "gizmos").Replace(string(widget("Widget", "", "v1").YAML))))})
	if err != nil {
		t.Fatal(err)
	}
	_, err = v.Named(t.Context(), "gizmos.example.com", "")
	wantReason(t, err, CRDNotEstablished)
	if d, err := v.OfKind(t.Context(), "example.com", "Widget", ""); err != nil || d.Plural() != "widgets" {
		t.Errorf("%v", err)
	}
}
