package rbac_test

import (
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/crdeval/crdeval/clients/apiserver/apiservertest"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func as(t *testing.T, config *rest.Config, user string) *kubernetes.Clientset {
	t.Helper()
	config = rest.CopyConfig(config)
	if user != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	}
	client, err := kubernetes.NewForConfig(config)
	check(t, err)
	return client
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 600 {
		if done() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s: not within 30 s", what)
}

// may asks whether a user may do something, as kubectl auth can-i does.
func may(t *testing.T, client *kubernetes.Clientset, verb, resource, namespace string) bool {
	t.Helper()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Group: "example.com", Verb: verb, Resource: resource, Namespace: namespace},
	}}
	answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
	check(t, err)
	return answer.Status.Allowed
}

// TestRBAC grants a role, and checks requests, reviews, escalation and aggregation with it.
func TestRBAC(t *testing.T) {
	ctx := t.Context()
	config := apiservertest.StartWith(t, apiservertest.Options{Core: true})
	admin, bob := as(t, config, ""), as(t, config, "bob")
	eventually(t, "the default roles", func() bool {
		_, err := bob.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
			Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "default"}}, metav1.CreateOptions{})
		return err == nil
	})
	if _, err := bob.CoreV1().Namespaces().List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("bob without a role: %v", err)
	}
	if may(t, bob, "get", "widgets", "default") {
		t.Error("bob without a role may get widgets")
	}

	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "reader", Labels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
		Rules: []rbacv1.PolicyRule{
			{Verbs: []string{"get", "list"}, APIGroups: []string{"example.com"}, Resources: []string{"widgets"}},
			{Verbs: []string{"create"}, APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles", "rolebindings"}},
		},
	}
	_, err := admin.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
	check(t, err)
	_, err = admin.RbacV1().RoleBindings("default").Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "bob"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "reader"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "bob"}},
	}, metav1.CreateOptions{})
	check(t, err)
	eventually(t, "the role of bob", func() bool { return may(t, bob, "get", "widgets", "default") })
	for _, c := range [][3]string{{"create", "widgets", "default"}, {"get", "widgets/status", "default"}, {"get", "widgets", "other"}, {"get", "widgets", ""}} {
		if may(t, bob, c[0], c[1], c[2]) {
			t.Errorf("bob may %v", c)
		}
	}

	grant := func(name string, rule rbacv1.PolicyRule) error {
		_, err := bob.RbacV1().Roles("default").Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{rule}}, metav1.CreateOptions{})
		return err
	}
	check(t, grant("less", rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"example.com"}, Resources: []string{"widgets"}}))
	err = grant("more", rbacv1.PolicyRule{Verbs: []string{"delete"}, APIGroups: []string{"example.com"}, Resources: []string{"widgets"}})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "attempting to grant RBAC permissions not currently held") {
		t.Errorf("bob grants more than he has: %v", err)
	}
	_, err = bob.RbacV1().RoleBindings("default").Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "self"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "cluster-admin"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "bob"}},
	}, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("bob binds himself to cluster-admin: %v", err)
	}

	for _, aggregated := range []string{"view", "edit", "admin"} {
		eventually(t, "the rules of reader in "+aggregated, func() bool {
			r, err := admin.RbacV1().ClusterRoles().Get(ctx, aggregated, metav1.GetOptions{})
			if err != nil {
				return false
			}
			for _, rule := range r.Rules {
				if rule.Resources[0] == "widgets" {
					return true
				}
			}
			return false
		})
	}
}

// TestAggregationEscalation checks that users who may write cluster roles cannot add the rules of a role that they lack to
// another role with a label, cannot remove an aggregation rule, and can change finalizers.
func TestAggregationEscalation(t *testing.T) {
	ctx := t.Context()
	config := apiservertest.StartWith(t, apiservertest.Options{Core: true})
	admin, carol := as(t, config, ""), as(t, config, "carol")
	_, err := admin.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "writer"}, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"get", "patch"}, APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}},
	}}, metav1.CreateOptions{})
	check(t, err)
	_, err = admin.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "carol"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "writer"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "carol"}},
	}, metav1.CreateOptions{})
	check(t, err)
	patch := func(role, body string) error {
		_, err := carol.RbacV1().ClusterRoles().Patch(ctx, role, types.MergePatchType, []byte(body), metav1.PatchOptions{})
		return err
	}
	const label = `{"metadata":{"labels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"}}}`
	eventually(t, "the role of carol", func() bool { return patch("writer", label) == nil })
	err = patch("cluster-admin", label)
	want := `clusterroles.rbac.authorization.k8s.io "cluster-admin" is forbidden: user "carol" (groups=["system:authenticated"]) is attempting ` +
		"to grant RBAC permissions not currently held:\n" + `{APIGroups:["*"], Resources:["*"], Verbs:["*"]}` + "\n" + `{NonResourceURLs:["*"], Verbs:["*"]}`
	if !apierrors.IsForbidden(err) || err.Error() != want {
		t.Errorf("a label of cluster-admin: %v", err)
	}
	if err := patch("view", `{"aggregationRule":null,"rules":null}`); !apierrors.IsForbidden(err) {
		t.Errorf("without its aggregation rule: %v", err)
	}
	check(t, patch("cluster-admin", `{"metadata":{"finalizers":["example.com/f"]}}`))
}

// TestInvalid writes roles and bindings that are not valid.
func TestInvalid(t *testing.T) {
	ctx := t.Context()
	admin := as(t, apiservertest.StartWith(t, apiservertest.Options{Core: true}), "")
	_, err := admin.RbacV1().Roles("default").Create(ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "r"}, Rules: []rbacv1.PolicyRule{{Resources: []string{"x"}}, {Verbs: []string{"get"}, NonResourceURLs: []string{"/x"}}},
	}, metav1.CreateOptions{})
	for _, want := range []string{"rules[0].verbs: Required", "rules[0].apiGroups: Required", "rules[1].nonResourceURLs: Invalid"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("an invalid role: %v, want %s", err, want)
		}
	}
	bindings := admin.RbacV1().ClusterRoleBindings()
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "b"}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "x"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "a"}, {Kind: "Robot", Name: "r"}}}
	_, err = bindings.Create(ctx, binding, metav1.CreateOptions{})
	for _, want := range []string{"roleRef.kind: Unsupported", "subjects[0].namespace: Required", "subjects[1].kind: Unsupported"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("an invalid binding: %v, want %s", err, want)
		}
	}
	binding.RoleRef.Kind, binding.Subjects = "ClusterRole", nil
	created, err := bindings.Create(ctx, binding, metav1.CreateOptions{})
	check(t, err)
	created.RoleRef.Name = "y"
	if _, err := bindings.Update(ctx, created, metav1.UpdateOptions{}); err == nil || !strings.Contains(err.Error(), "cannot change roleRef") {
		t.Errorf("another roleRef: %v", err)
	}
}
