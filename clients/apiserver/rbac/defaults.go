package rbac

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	typedrbacv1 "k8s.io/client-go/kubernetes/typed/rbac/v1"

	"github.com/crdeval/crdeval/clients/apiserver/internal/builtin"
)

// aggregate is the prefix of the labels that add the rules of a role to admin, edit or view.
const aggregate = "rbac.authorization.k8s.io/aggregate-to-"

func everything() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
		{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
	}
}

// defaultRoles returns the cluster roles that exist at start.
func defaultRoles() []rbacv1.ClusterRole {
	role := func(name, label string, rules ...rbacv1.PolicyRule) rbacv1.ClusterRole {
		r := rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
		r.Labels = map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"}
		if label != "" {
			r.Labels[aggregate+label] = "true"
		}
		return r
	}
	collection := func(name, label, of string) rbacv1.ClusterRole {
		r := role(name, label)
		selector := metav1.LabelSelector{MatchLabels: map[string]string{aggregate + of: "true"}}
		r.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{selector}}
		return r
	}
	rule := func(group string, resources []string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
	}
	read := []string{"get", "list", "watch"}
	write := append([]string{"create", "update", "patch", "delete", "deletecollection"}, read...)
	return []rbacv1.ClusterRole{
		role("cluster-admin", "", everything()...),
		role("system:discovery", "", rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{
			"/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz", "/version", "/version/",
		}}),
		role("system:basic-user", "",
			rule("authorization.k8s.io", []string{"selfsubjectaccessreviews", "selfsubjectrulesreviews"}, "create"),
			rule("authentication.k8s.io", []string{"selfsubjectreviews"}, "create")),
		collection("admin", "", "admin"),
		collection("edit", "admin", "edit"),
		collection("view", "edit", "view"),
		role("system:aggregate-to-admin", "admin",
			rule(rbacv1.GroupName, []string{"roles", "rolebindings"}, write...),
			rule("authorization.k8s.io", []string{"localsubjectaccessreviews"}, "create")),
		role("system:aggregate-to-edit", "edit",
			rule("", []string{"events"}, "create", "update", "patch"),
			rule("events.k8s.io", []string{"events"}, "create", "update", "patch")),
		role("system:aggregate-to-view", "view",
			rule("", []string{"namespaces", "events"}, read...),
			rule("events.k8s.io", []string{"events"}, read...)),
	}
}

// defaultBindings returns the groups that have a default role.
func defaultBindings() map[string]string {
	return map[string]string{
		"cluster-admin":     user.SystemPrivilegedGroup,
		"system:discovery":  user.AllAuthenticated,
		"system:basic-user": user.AllAuthenticated,
	}
}

// createDefaults creates the default roles and bindings that do not exist. It waits until the server serves them.
func createDefaults(ctx context.Context, client typedrbacv1.RbacV1Interface) error {
	for _, role := range defaultRoles() {
		if err := builtin.EnsureExists(ctx, func(ctx context.Context) error {
			_, err := client.ClusterRoles().Create(ctx, &role, metav1.CreateOptions{})
			return err
		}); err != nil {
			return err
		}
	}
	for role, group := range defaultBindings() {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group}},
		}
		if err := builtin.EnsureExists(ctx, func(ctx context.Context) error {
			_, err := client.ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}
