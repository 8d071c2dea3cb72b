package rbac

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/component-helpers/auth/rbac/validation"
)

// escalation checks that users grant only what they have, unless the verbs escalate and bind allow more.
type escalation struct {
	roles      *Authorizer
	authorizer authorizer.UnconditionalAuthorizer
}

// check checks the write of a role or binding. old is nil on a creation. A label of a role can add its rules to another
// role, so each update is checked, except one that changes only what the deletion of the object depends on.
func (e escalation) check(ctx context.Context, obj, old runtime.Object) (err error) {
	if old != nil && changesDeletionOnly(obj, old) {
		return nil
	}
	resource := ""
	switch o := obj.(type) {
	case *rbacv1.Role:
		resource = "roles"
		err = e.grant(ctx, "escalate", resource, o.Namespace, o.Name, o.Rules, nil)
	case *rbacv1.ClusterRole:
		rules, before := o.Rules, &rbacv1.ClusterRole{}
		if old != nil {
			before = old.(*rbacv1.ClusterRole)
		}
		if o.AggregationRule != nil || before.AggregationRule != nil { // the rules of other roles can be added later
			rules = append(slices.Clone(rules), everything()...)
		}
		resource = "clusterroles"
		err = e.grant(ctx, "escalate", resource, "", o.Name, rules, nil)
	case *rbacv1.RoleBinding:
		resource = "rolebindings"
		err = e.bind(ctx, o.RoleRef, o.Namespace)
	case *rbacv1.ClusterRoleBinding:
		resource = "clusterrolebindings"
		err = e.bind(ctx, o.RoleRef, "")
	}
	if status := apierrors.APIStatus(nil); err == nil || errors.As(err, &status) {
		return err
	}
	return apierrors.NewForbidden(rbacv1.Resource(resource), obj.(metav1.Object).GetName(), err)
}

// changesDeletionOnly reports whether an update changes at most the owners and finalizers of an object. The server sets
// the other fields that it ignores.
func changesDeletionOnly(obj, old runtime.Object) bool {
	copied := obj.DeepCopyObject()
	copied.GetObjectKind().SetGroupVersionKind(old.GetObjectKind().GroupVersionKind())
	to, from := copied.(metav1.Object), old.(metav1.Object)
	to.SetOwnerReferences(from.GetOwnerReferences())
	to.SetFinalizers(from.GetFinalizers())
	to.SetManagedFields(from.GetManagedFields())
	to.SetResourceVersion(from.GetResourceVersion())
	return equality.Semantic.DeepEqual(copied, old)
}

func (e escalation) bind(ctx context.Context, ref rbacv1.RoleRef, namespace string) error {
	rules, err := e.roles.rulesOf(ref, namespace)
	resource := "clusterroles"
	if ref.Kind == "Role" {
		resource = "roles"
	}
	return e.grant(ctx, "bind", resource, namespace, ref.Name, rules, err)
}

// grant returns an error if the user may not grant the rules of a role. failure says why the rules are unknown.
func (e escalation) grant(ctx context.Context, verb, resource, namespace, name string, rules []rbacv1.PolicyRule, failure error) error {
	u, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return errors.New("the request has no user")
	}
	if slices.Contains(u.GetGroups(), user.SystemPrivilegedGroup) {
		return nil
	}
	decision, _, err := e.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: u, Verb: verb, APIGroup: rbacv1.GroupName, APIVersion: "*", Resource: resource, Namespace: namespace, Name: name, ResourceRequest: true,
	})
	if err == nil && decision == authorizer.DecisionAllow {
		return nil
	}
	if failure != nil {
		return failure
	}
	own, err := e.roles.rules(u, namespace)
	covered, missing := validation.Covers(own, rules)
	if covered {
		return nil
	}
	text := fmt.Sprintf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:", u.GetName(), u.GetGroups())
	for i := range missing {
		text += "\n" + describe(&missing[i])
	}
	if err != nil {
		text += fmt.Sprintf("; resolution errors: %v", err)
	}
	return errors.New(text)
}

// describe returns the text of a rule, without its empty fields.
func describe(r *rbacv1.PolicyRule) string {
	var parts []string
	for _, f := range []struct {
		name   string
		values []string
	}{
		{"APIGroups", r.APIGroups}, {"Resources", r.Resources}, {"NonResourceURLs", r.NonResourceURLs},
		{"ResourceNames", r.ResourceNames}, {"Verbs", r.Verbs},
	} {
		if len(f.values) > 0 {
			parts = append(parts, fmt.Sprintf("%s:%q", f.name, f.values))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
