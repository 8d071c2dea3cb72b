package rbac

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	informers "k8s.io/client-go/informers/rbac/v1"
	listers "k8s.io/client-go/listers/rbac/v1"
)

// Authorizer authorizes requests with the roles and bindings of informers. A request that no role allows gets no opinion.
type Authorizer struct {
	authorizer.Authorizer
	roles           listers.RoleLister
	bindings        listers.RoleBindingLister
	clusterRoles    listers.ClusterRoleLister
	clusterBindings listers.ClusterRoleBindingLister
}

// NewAuthorizer returns an Authorizer. It adds the informers it needs; the caller starts them.
func NewAuthorizer(i informers.Interface) *Authorizer {
	a := &Authorizer{
		roles: i.Roles().Lister(), bindings: i.RoleBindings().Lister(),
		clusterRoles: i.ClusterRoles().Lister(), clusterBindings: i.ClusterRoleBindings().Lister(),
	}
	a.Authorizer = authorizer.AuthorizerFunc(a.authorize)
	return a
}

func (a *Authorizer) authorize(_ context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	allowed := ""
	err := a.visit(attributes.GetUser(), attributes.GetNamespace(), func(source string, rule *rbacv1.PolicyRule) bool {
		if allows(rule, attributes) {
			allowed = source
		}
		return allowed == ""
	})
	if allowed != "" {
		return authorizer.DecisionAllow, "RBAC: allowed by " + allowed, nil
	}
	reason := ""
	if err != nil {
		reason = "RBAC: " + err.Error()
	}
	return authorizer.DecisionNoOpinion, reason, nil
}

// RulesFor implements authorizer.RuleResolver.
func (a *Authorizer) RulesFor(_ context.Context, u user.Info, namespace string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	var resources []authorizer.ResourceRuleInfo
	var paths []authorizer.NonResourceRuleInfo
	rules, err := a.rules(u, namespace)
	for _, r := range rules {
		if len(r.Resources) > 0 {
			resources = append(resources, &authorizer.DefaultResourceRuleInfo{Verbs: r.Verbs, APIGroups: r.APIGroups, Resources: r.Resources, ResourceNames: r.ResourceNames})
		}
		if len(r.NonResourceURLs) > 0 {
			paths = append(paths, &authorizer.DefaultNonResourceRuleInfo{Verbs: r.Verbs, NonResourceURLs: r.NonResourceURLs})
		}
	}
	return resources, paths, false, err
}

// rules returns the rules of a user in a namespace.
func (a *Authorizer) rules(u user.Info, namespace string) (all []rbacv1.PolicyRule, err error) {
	err = a.visit(u, namespace, func(_ string, rule *rbacv1.PolicyRule) bool {
		all = append(all, *rule)
		return true
	})
	return all, err
}

// visit calls do with each rule that applies to a user, until do returns false. Bindings of missing roles are errors, and
// do not end the visit.
func (a *Authorizer) visit(u user.Info, namespace string, do func(source string, rule *rbacv1.PolicyRule) bool) error {
	var errs []error
	proceed := true
	binding := func(name string, subjects []rbacv1.Subject, ref rbacv1.RoleRef, namespace string) {
		i := slices.IndexFunc(subjects, func(s rbacv1.Subject) bool { return applies(s, u, namespace) })
		if i < 0 {
			return
		}
		rules, err := a.rulesOf(ref, namespace)
		if err != nil {
			errs = append(errs, err)
		}
		for j := range rules {
			if proceed {
				proceed = do(fmt.Sprintf("%s of %s %q to %s %q", name, ref.Kind, ref.Name, subjects[i].Kind, subjects[i].Name), &rules[j])
			}
		}
	}
	cluster, err := a.clusterBindings.List(labels.Everything())
	if err != nil {
		return err
	}
	for _, b := range cluster {
		if proceed {
			binding(fmt.Sprintf("ClusterRoleBinding %q", b.Name), b.Subjects, b.RoleRef, "")
		}
	}
	if namespace == "" || !proceed {
		return errors.Join(errs...)
	}
	local, err := a.bindings.RoleBindings(namespace).List(labels.Everything())
	if err != nil {
		return err
	}
	for _, b := range local {
		if proceed {
			binding(fmt.Sprintf("RoleBinding \"%s/%s\"", b.Name, b.Namespace), b.Subjects, b.RoleRef, namespace)
		}
	}
	return errors.Join(errs...)
}

// rulesOf returns the rules of a referenced role. namespace is that of the binding, empty for a cluster role binding.
func (a *Authorizer) rulesOf(ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	if ref.Kind == "Role" {
		role, err := a.roles.Roles(namespace).Get(ref.Name)
		if err != nil {
			return nil, err
		}
		return role.Rules, nil
	}
	role, err := a.clusterRoles.Get(ref.Name)
	if err != nil {
		return nil, err
	}
	return role.Rules, nil
}

// applies reports whether a subject of a binding is a user. namespace is that of the binding.
func applies(s rbacv1.Subject, u user.Info, namespace string) bool {
	switch s.Kind {
	case rbacv1.UserKind:
		return s.Name == u.GetName()
	case rbacv1.GroupKind:
		return slices.Contains(u.GetGroups(), s.Name)
	case rbacv1.ServiceAccountKind:
		if s.Namespace != "" {
			namespace = s.Namespace
		}
		return namespace != "" && serviceaccount.MatchesUsername(namespace, s.Name, u.GetName())
	}
	return false
}

// allows reports whether a rule allows a request.
func allows(rule *rbacv1.PolicyRule, a authorizer.Attributes) bool {
	if !has(rule.Verbs, rbacv1.VerbAll, a.GetVerb()) {
		return false
	}
	if !a.IsResourceRequest() {
		return slices.ContainsFunc(rule.NonResourceURLs, func(url string) bool {
			prefix, isPrefix := strings.CutSuffix(url, "*")
			return url == a.GetPath() || isPrefix && strings.HasPrefix(a.GetPath(), prefix)
		})
	}
	resource := a.GetResource()
	every := "*"
	if sub := a.GetSubresource(); sub != "" {
		resource, every = resource+"/"+sub, "*/"+sub
	}
	return has(rule.APIGroups, rbacv1.APIGroupAll, a.GetAPIGroup()) &&
		(has(rule.Resources, rbacv1.ResourceAll, resource) || slices.Contains(rule.Resources, every)) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, a.GetName()))
}

func has(list []string, all, value string) bool {
	return slices.Contains(list, value) || slices.Contains(list, all)
}
