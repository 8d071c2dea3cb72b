package registry

import (
	"slices"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/diff"
)

func TestCompare(t *testing.T) {
	r := newRegistry(t, newTestStore(), nil)
	ten := mustAccept(t, r, crontabs(10), Created)
	nine := mustAccept(t, r, crontabs(9), Updated)
	objects := []engine.Document{engine.JSON([]byte(object))}
	for _, tc := range []struct {
		name      string
		c         Comparison
		base      string // the revision compared with
		identical bool
	}{
		{"with the current one", Comparison{New: crontabs(9), Objects: objects}, nine.CRD.Revision, true},
		{"with a kept one", Comparison{New: crontabs(9), Name: ten.CRD.Name, Revision: ten.CRD.Revision, Objects: objects}, ten.CRD.Revision, false},
		{"of two manifests", Comparison{New: crontabs(9), Base: crontabs(10), Objects: objects}, "", false},
		{"without objects", Comparison{New: crontabs(9), Base: crontabs(10)}, "", false},
	} {
		done, err := r.Compare(t.Context(), "default", tc.c, r.last())
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if done.Diff.Identical != tc.identical || (done.Base == nil) != (tc.base == "") || done.Base != nil && done.Base.Revision != tc.base || len(done.Replayed) != len(tc.c.Objects) {
			t.Errorf("%s: %+v", tc.name, done)
		}
		if !tc.identical && len(done.Replayed) == 1 && !slices.Contains(done.Replayed[0].Outcomes, diff.NewlyRejected) {
			t.Errorf("%s: %+v", tc.name, done.Replayed)
		}
	}
	for _, tc := range []struct {
		c    Comparison
		want Reason
	}{
		{Comparison{New: widget("Widget", "", "v1")}, CRDNotFound},
		{Comparison{New: crontabs(9), Revision: "sha256:none"}, RevisionNotFound},
	} {
		_, err := r.Compare(t.Context(), "default", tc.c, "")
		wantReason(t, err, tc.want)
	}
	_, err := r.Compare(t.Context(), "never", Comparison{New: crontabs(9)}, "")
	wantReason(t, err, CatalogNotFound)
	if r.Counts().Revisions != 2 {
		t.Error("comparing registers")
	}
}

// A comparison with a registered CRD keeps its conversion rules, as an update does.
func TestCompareKeepsConversion(t *testing.T) {
	r := newRegistry(t, newTestStore(), nil)
	mustAccept(t, r, hosts("Webhook", ""), Created)
	setRules(t, r, moveHost(), Updated)
	stored := engine.JSON([]byte(`{"apiVersion": "example.com/v1beta1", "kind": "Host", "metadata": {"name": "a", "namespace": "b"}, "spec": {"host": "h"}}`))
	for _, tc := range []struct {
		name string
		c    Comparison
		fits bool
	}{
		{"of a CRD that the rules fit", Comparison{New: hosts("Webhook", "")}, true},
		{"of another", Comparison{New: hosts("Webhook", ", port: {type: integer}")}, false},
	} {
		tc.c.Objects = []engine.Document{stored}
		done, err := r.Compare(t.Context(), "default", tc.c, "")
		if err != nil {
			t.Fatal(err)
		}
		c := done.Report.Conversion
		if c == nil || c.Accepted != tc.fits || len(c.Violations) > 0 && c.Violations[0].Position != nil {
			t.Errorf("%s: %+v", tc.name, c)
		}
		if len(done.Replayed) != 1 || (done.Replayed[0].Err == nil) != tc.fits {
			t.Errorf("%s: %+v", tc.name, done.Replayed)
		}
	}
	if done, err := r.Compare(t.Context(), "default", Comparison{New: hosts("Webhook", ""), Base: hosts("Webhook", "")}, ""); err != nil || done.Report.Conversion != nil {
		t.Errorf("of two manifests: %+v, %v", done.Report.Conversion, err)
	}
}
