package builtin

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

func definitions() map[string]common.OpenAPIDefinition {
	all := Definitions(generatedopenapi.GetOpenAPIDefinitions, corev1.Namespace{}, corev1.NamespaceList{}, corev1.Event{},
		corev1.Pod{}, rbacv1.ClusterRole{}, rbacv1.RoleBinding{})
	return all(func(name string) spec.Ref { return spec.MustCreateRef("#/definitions/" + name) })
}

// TestDefinitions compares properties of built-in types with those that Kubernetes publishes.
func TestDefinitions(t *testing.T) {
	all := definitions()
	status := all["io.k8s.api.core.v1.NamespaceStatus"].Schema
	conditions := status.Properties["conditions"]
	for key, want := range map[string]any{
		"x-kubernetes-list-type": "map", "x-kubernetes-patch-merge-key": "type", "x-kubernetes-patch-strategy": "merge",
	} {
		if conditions.Extensions[key] != want {
			t.Errorf("conditions: %s is %v, want %v", key, conditions.Extensions[key], want)
		}
	}
	if ref := conditions.Items.Schema.Ref.String(); ref != "#/definitions/io.k8s.api.core.v1.NamespaceCondition" {
		t.Errorf("conditions refer to %s", ref)
	}
	if got := status.Properties["phase"]; !slices.Equal(got.Type, []string{"string"}) || got.Description == "" {
		t.Errorf("phase: %v", got)
	}
	namespace := all["io.k8s.api.core.v1.Namespace"]
	for _, name := range []string{"apiVersion", "kind", "metadata", "spec", "status"} {
		if _, ok := namespace.Schema.Properties[name]; !ok || len(namespace.Schema.Properties) != 5 {
			t.Errorf("a Namespace has the properties %v", namespace.Schema.Properties)
		}
	}
	rule := all["io.k8s.api.rbac.v1.PolicyRule"].Schema
	if !slices.Equal(rule.Required, []string{"verbs"}) || rule.Properties["verbs"].Extensions["x-kubernetes-list-type"] != "atomic" {
		t.Errorf("rule: %v", rule)
	}
	if all["io.k8s.api.core.v1.ObjectReference"].Schema.Extensions["x-kubernetes-map-type"] != "atomic" {
		t.Error("an ObjectReference is not atomic")
	}
	if got := all["io.k8s.api.core.v1.Event"].Schema.Properties["count"]; got.Format != "int32" {
		t.Errorf("count: %v", got)
	}
}

// TestPod compares properties of pods with those that Kubernetes publishes.
func TestPod(t *testing.T) {
	all := definitions()
	ports := all["io.k8s.api.core.v1.Container"].Schema.Properties["ports"]
	if keys, _ := ports.Extensions["x-kubernetes-list-map-keys"].([]any); !slices.Equal(keys, []any{"containerPort", "protocol"}) {
		t.Errorf("keys of ports: %v", keys)
	}
	if got := all["io.k8s.api.core.v1.ContainerPort"].Schema.Properties["protocol"].Default; got != "TCP" {
		t.Errorf("default protocol: %v", got)
	}
	env := all["io.k8s.api.core.v1.Container"].Schema.Properties["env"]
	if keys, _ := env.Extensions["x-kubernetes-list-map-keys"].([]any); !slices.Equal(keys, []any{"name"}) {
		t.Errorf("keys of env: %v", keys)
	}
	port := all["io.k8s.apimachinery.pkg.util.intstr.IntOrString"].Schema
	v2, _ := port.Extensions[common.ExtensionV2Schema].(spec.Schema)
	if len(port.OneOf) != 2 || port.Format != "int-or-string" || !v2.Type.Contains("string") {
		t.Errorf("IntOrString: %+v", port)
	}
	if all["io.k8s.api.core.v1.SecretKeySelector"].Schema.Extensions["x-kubernetes-map-type"] != "atomic" {
		t.Error("a SecretKeySelector is not atomic")
	}
}

// TestDependencies checks that each definition refers only to definitions that exist.
func TestDependencies(t *testing.T) {
	all := definitions()
	for name, definition := range all {
		for _, other := range definition.Dependencies {
			if _, ok := all[other]; !ok {
				t.Errorf("%s refers to %s, which is not defined", name, other)
			}
		}
	}
}
