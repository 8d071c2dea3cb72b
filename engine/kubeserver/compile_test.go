package kubeserver_test

import (
	"context"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/fixture"
	"github.com/crdeval/crdeval/engine/kubeserver"
)

// A CRD that a Go program holds means what its manifest means, wherever the program has it from.
func TestCompileDefinition(t *testing.T) {
	ctx := context.Background()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal([]byte(storedCRD), crd); err != nil {
		t.Fatal(err)
	}
	crd.TypeMeta = metav1.TypeMeta{} // as clients leave it
	crd.UID, crd.ResourceVersion, crd.CreationTimestamp = "u", "5", metav1.Now()
	crd.Status.StoredVersions = []string{"v1"}
	before := crd.DeepCopy()
	d, report, err := kubeserver.CompileDefinition(ctx, crd, engine.Options{})
	if err != nil || d == nil {
		t.Fatal(report, err)
	}
	if !crd.CreationTimestamp.Equal(&before.CreationTimestamp) || crd.UID != before.UID || crd.Kind != "" || len(crd.Spec.Names.Categories) > 0 {
		t.Error("the CRD was changed")
	}
	if want := fixture.Compile(t, storedCRD); d.Revision() != want.Revision() {
		t.Errorf("revision %s, that of the manifest is %s", d.Revision(), want.Revision())
	}
	if v, err := d.Validate(ctx, engine.Create{Object: widget("v1", `"name":"w","namespace":"n"`, `,"spec":{"size":2}`)}, engine.ValidateOptions{}); err != nil || !v.Allowed {
		t.Error(v, err)
	}

	if _, _, err := kubeserver.CompileDefinition(ctx, nil, engine.Options{}); engine.ReasonOf(err) != engine.ReasonInvalidArgument {
		t.Errorf("nil: %v", err)
	}
	crd.Spec.Scope = "Somewhere"
	d, report, err = kubeserver.CompileDefinition(ctx, crd, engine.Options{})
	if err != nil || d != nil || report.Accepted || report.Violations[0].Field != "spec.scope" || report.Violations[0].Position != nil {
		t.Errorf("%v, %+v, %v", d, report, err)
	}
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Default = &apiextensionsv1.JSON{Raw: []byte("{")}
	if _, _, err = kubeserver.CompileDefinition(ctx, crd, engine.Options{}); engine.ReasonOf(err) != engine.ReasonManifestUnreadable {
		t.Errorf("broken default: %v", err)
	}
}

// TestExistingDefinition is the same for CRDs that a Go program holds.
func TestExistingDefinition(t *testing.T) {
	ctx := context.Background()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(storedCRD), crd); err != nil {
		t.Fatal(err)
	}
	first, _, err := kubeserver.CompileDefinition(ctx, crd, engine.Options{})
	if err != nil || first == nil {
		t.Fatal(err)
	}
	crd.Spec.Scope = apiextensionsv1.ClusterScoped
	status := kubeserver.DesiredStatusOf(first).AddStoredVersion(apiextensionsv1.CustomResourceDefinitionStatus{})
	o := engine.Options{Existing: func(string) *engine.Existing {
		return &engine.Existing{Manifest: first.Manifest(), Generation: 1, Status: status}
	}}
	if d, report, err := kubeserver.CompileDefinition(ctx, crd, o); err != nil || d == nil || !report.Update || report.Generation != 2 {
		t.Errorf("%+v, %v", report, err)
	}
	group := []kubeserver.CRDStatus{{Name: first.Name(), Desired: kubeserver.DesiredStatusOf(first), Status: status}}
	kubeserver.ReconcileStatus(group, first.Name(), time.Unix(1e9, 0))
	status = group[0].Status
	d, report, err := kubeserver.CompileDefinition(ctx, crd, o)
	if err != nil || d != nil || len(report.Violations) != 1 || report.Violations[0].Field != "spec.scope" || report.Violations[0].Position != nil {
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
