package kubeserver_test

import (
	"context"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/fixture"
	"github.com/crdeval/crdeval/engine/kubeserver"
)

// TestExistingStatus: the scope of a CRD is immutable once its status says that it is established.
func TestExistingStatus(t *testing.T) {
	ctx := context.Background()
	first := fixture.Compile(t, storedCRD)
	changed := engine.YAML([]byte(strings.Replace(storedCRD, "scope: Namespaced", "scope: Cluster", 1)))
	status := kubeserver.DesiredStatusOf(first).AddStoredVersion(apiextensionsv1.CustomResourceDefinitionStatus{})
	o := engine.Options{Existing: func(string) *engine.Existing {
		return &engine.Existing{Manifest: first.Manifest(), Generation: 1, Status: status}
	}}
	if d, report, err := engine.Compile(ctx, changed, o); err != nil || d == nil || !report.Update || report.Generation != 2 {
		t.Errorf("%+v, %v", report, err)
	}
	group := []kubeserver.CRDStatus{{Name: first.Name(), Desired: kubeserver.DesiredStatusOf(first), Status: status}}
	kubeserver.ReconcileStatus(group, first.Name(), time.Unix(1e9, 0))
	status = group[0].Status
	d, report, err := engine.Compile(ctx, changed, o)
	if err != nil || d != nil || len(report.Violations) != 1 || report.Violations[0].Field != "spec.scope" {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestExistingTerminating: a CRD that kubectl prints says by its deletionTimestamp, or by a condition, that it is being
// deleted.
func TestExistingTerminating(t *testing.T) {
	for _, c := range []struct {
		name, metadata, status string
		want                   bool
	}{
		{"neither", ``, `{conditions: [{type: Established, status: "True"}, {type: Terminating, status: "False"}]}`, false},
		{"deletionTimestamp", `, deletionTimestamp: "2026-01-01T00:00:00Z"`, `{}`, true},
		{"condition", ``, `{conditions: [{type: Established, status: "True"}, {type: Terminating, status: "True"}]}`, true},
	} {
		manifest := strings.Replace(storedCRD, "{name: widgets.example.com}", "{name: widgets.example.com"+c.metadata+"}", 1) + "status: " + c.status + "\n"
		name, existing, err := kubeserver.ExistingFrom(engine.YAML([]byte(manifest)), engine.Limits{})
		if err != nil || name != "widgets.example.com" || existing.Terminating != c.want {
			t.Errorf("%s: %q, %+v, %v", c.name, name, existing, err)
		}
		d, report, err := engine.Compile(context.Background(), engine.YAML([]byte(manifest)), engine.Options{})
		if err != nil || !report.Accepted {
			t.Fatal(err, report)
		}
		if v, err := d.Admit(context.Background(), engine.Create{Object: widget("v1", `"name":"w","namespace":"n"`, ``)}, engine.AdmitOptions{}); err != nil || !v.Allowed {
			t.Errorf("%s: applied anew it is not being deleted: %v, %v", c.name, v, err)
		}
	}
}
