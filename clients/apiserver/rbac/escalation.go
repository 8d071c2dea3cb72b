package rbac

import (
	"context"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// check checks the write of a role or binding. old is nil on a creation.
func (e escalation) check(ctx context.Context, obj, old runtime.Object) error {
	switch o := obj.(type) {
	case *rbacv1.Role:
		if before, ok := old.(*rbacv1.Role); ok && equality.Semantic.DeepEqual(before.Rules, o.Rules) {
			return nil
		}
		return e.grant(ctx, "escalate", "roles", o.Namespace, o.Name, o.Name, o.Rules, nil)
	case *rbacv1.ClusterRole:
		before, ok := old.(*rbacv1.ClusterRole)
		if ok && equality.Semantic.DeepEqual(before.Rules, o.Rules) && equality.Semantic.DeepEqual(before.AggregationRule, o.AggregationRule) {
			return nil
		}
		rules := o.Rules
		if o.AggregationRule != nil { // the rules of other roles can be added later
			rules = append(slices.Clone(rules), everything()...)
		}
		return e.grant(ctx, "escalate", "clusterroles", "", o.Name, o.Name, rules, nil)
	case *rbacv1.RoleBinding:
		if before, ok := old.(*rbacv1.RoleBinding); ok && equality.Semantic.DeepEqual(before.RoleRef, o.RoleRef) && equality.Semantic.DeepEqual(before.Subjects, o.Subjects) {
			return nil
		}
		return e.bind(ctx, o.RoleRef, "rolebindings", o.Namespace, o.Name)
	case *rbacv1.ClusterRoleBinding:
		if before, ok := old.(*rbacv1.ClusterRoleBinding); ok && equality.Semantic.DeepEqual(before.RoleRef, o.RoleRef) && equality.Semantic.DeepEqual(before.Subjects, o.Subjects) {
			return nil
		}
		return e.bind(ctx, o.RoleRef, "clusterrolebindings", "", o.Name)
	}
	return nil
}

func (e escalation) bind(ctx context.Context, ref rbacv1.RoleRef, resource, namespace, name string) error {
	rules, err := e.roles.rulesOf(ref, namespace)
	target := "clusterroles"
	if ref.Kind == "Role" {
		target = "roles"
	}
	err = e.grant(ctx, "bind", target, namespace, ref.Name, name, rules, err)
	if status, ok := err.(*apierrors.StatusError); ok && apierrors.IsForbidden(err) { //nolint:errorlint // as grant returns it
		return apierrors.NewForbidden(rbacv1.Resource(resource), name, fmt.Errorf("%s", status.ErrStatus.Message))
	}
	return err
}

// grant returns an error if the user may not grant rules. failure says why the rules are unknown.
func (e escalation) grant(ctx context.Context, verb, resource, namespace, target, name string, rules []rbacv1.PolicyRule, failure error) error {
	u, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return apierrors.NewForbidden(rbacv1.Resource(resource), name, fmt.Errorf("the request has no user"))
	}
	if slices.Contains(u.GetGroups(), user.SystemPrivilegedGroup) {
		return nil
	}
	decision, _, err := e.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: u, Verb: verb, APIGroup: rbacv1.GroupName, APIVersion: "*", Resource: resource, Namespace: namespace, Name: target, ResourceRequest: true,
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
	text := fmt.Sprintf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held: %v", u.GetName(), u.GetGroups(), missing)
	if err != nil {
		text += fmt.Sprintf("; resolution errors: %v", err)
	}
	return apierrors.NewForbidden(rbacv1.Resource(resource), name, fmt.Errorf("%s", text))
}
