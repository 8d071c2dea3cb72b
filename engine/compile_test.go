package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A CRD that a Go program holds means what its manifest means, wherever the program has it from.
func TestCompileDefinition(t *testing.T) {
	ctx := context.Background()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal([]byte(cronTabCRD), crd); err != nil {
		t.Fatal(err)
	}
	crd.TypeMeta = metav1.TypeMeta{} // as clients leave it
	crd.UID, crd.ResourceVersion, crd.CreationTimestamp = "u", "5", metav1.Now()
	crd.Status.StoredVersions = []string{"v1"}
	before := crd.DeepCopy()
	d, report, err := CompileDefinition(ctx, crd, Options{})
	if err != nil || d == nil {
		t.Fatal(report, err)
	}
	if !crd.CreationTimestamp.Equal(&before.CreationTimestamp) || crd.UID != before.UID || crd.Kind != "" || len(crd.Spec.Names.ListKind) > 0 {
		t.Error("the CRD was changed")
	}
	if want := mustCompile(t, cronTabCRD); d.Revision() != want.Revision() {
		t.Errorf("revision %s, that of the manifest is %s", d.Revision(), want.Revision())
	}
	if v, err := d.Validate(ctx, Create{Object: JSON([]byte(cronTab))}, ValidateOptions{}); err != nil || !v.Allowed {
		t.Error(v, err)
	}

	if _, _, err := CompileDefinition(ctx, nil, Options{}); ReasonOf(err) != ReasonInvalidArgument {
		t.Errorf("nil: %v", err)
	}
	crd.Spec.Scope = "Somewhere"
	d, report, err = CompileDefinition(ctx, crd, Options{})
	if err != nil || d != nil || report.Accepted || report.Violations[0].Field != "spec.scope" || report.Violations[0].Position != nil {
		t.Errorf("%v, %+v, %v", d, report, err)
	}
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Default = &apiextensionsv1.JSON{Raw: []byte("{")}
	if _, _, err = CompileDefinition(ctx, crd, Options{}); ReasonOf(err) != ReasonManifestUnreadable {
		t.Errorf("broken default: %v", err)
	}
}

// What is stored of a CRD gives the same Definition again, and what it is stored as does not depend on how it was
// written.
func TestCompileStored(t *testing.T) {
	ctx := context.Background()
	for name, o := range map[string]Options{"latest": {}, "1.30": {KubernetesMinor: 30}} {
		first, _, err := Compile(ctx, JSON([]byte(cronTabCRD)), o)
		if err != nil {
			t.Fatal(name, err)
		}
		again, err := CompileStored(ctx, first.Manifest(), o)
		if err != nil {
			t.Fatal(name, err)
		}
		if again.Revision() != first.Revision() || !bytes.Equal(again.Manifest(), first.Manifest()) || again.Size() != first.Size() {
			t.Errorf("%s: %s of %d bytes, was %s of %d", name, again.Revision(), again.Size(), first.Revision(), first.Size())
		}
	}
	written := mustCompile(t, strings.Replace(cronTabCRD, `"default":1`, `"default": 1.0`, 1))
	if got := mustCompile(t, cronTabCRD); got.Revision() != written.Revision() {
		t.Error("1.0 is stored as 1, and makes another revision")
	}
	old, _, err := Compile(ctx, JSON([]byte(cronTabCRD)), Options{KubernetesMinor: 30})
	if err != nil || old.Revision() == written.Revision() {
		t.Error("another minor means something else, and makes the same revision")
	}

	_, err = CompileStored(ctx, []byte("{"), Options{})
	if e := (*Error)(nil); !errors.As(err, &e) || e.Reason != ReasonManifestUnreadable || !strings.HasPrefix(e.Message, "stored CRD: ") {
		t.Errorf("broken: %v", err)
	}
	if _, err = CompileStored(ctx, written.Manifest(), Options{KubernetesMinor: 24}); ReasonOf(err) != ReasonInvalidArgument {
		t.Errorf("1.24: %v", err)
	}
}

// Defaults within defaults can make much of a small CRD.
func TestCompileIsBounded(t *testing.T) {
	crd := strings.Replace(cronTabCRD, `"image":{"type":"string"}`, `"list":{"type":"array","default":[{}`+strings.Repeat(",{}", 300)+
		`],"items":{"type":"object","properties":{"a":{"type":"string","default":"`+strings.Repeat("x", 100_000)+`"}}}}`, 1)
	_, _, err := Compile(context.Background(), JSON([]byte(crd)), Options{})
	if e := (*Error)(nil); !errors.As(err, &e) || e.Reason != ReasonLimitExceeded || e.Limit == 0 || !strings.Contains(e.Message, "CRD crontabs.stable.example.com, version v1: ") {
		t.Errorf("%v", err)
	}
}
