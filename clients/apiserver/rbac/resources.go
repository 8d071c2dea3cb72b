package rbac

import (
	"context"
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/crdeval/crdeval/clients/apiserver/internal/builtin"
)

// resource serves a kind of role or binding.
type resource struct {
	*genericregistry.Store
	escalation escalation
}

// Create implements rest.Creater.
func (r resource) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, o *metav1.CreateOptions) (runtime.Object, error) {
	return r.Store.Create(ctx, obj, r.create(validate), o)
}

// Update implements rest.Updater.
func (r resource) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc,
	update rest.ValidateObjectUpdateFunc, force bool, o *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return r.Store.Update(ctx, name, info, r.create(create), func(ctx context.Context, obj, old runtime.Object) error {
		if err := r.escalation.check(ctx, obj, old); err != nil {
			return err
		}
		return update(ctx, obj, old)
	}, force, o)
}

func (r resource) create(next rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		if err := r.escalation.check(ctx, obj, nil); err != nil {
			return err
		}
		return next(ctx, obj)
	}
}

func newResources(getter generic.RESTOptionsGetter, e escalation) (map[string]resource, error) {
	all := map[string]resource{}
	for _, r := range []struct {
		plural, singular string
		namespaced       bool
		create, list     func() runtime.Object
		check            func(obj, old runtime.Object) field.ErrorList
		columns          []builtin.Column
	}{
		{"roles", "role", true, func() runtime.Object { return &rbacv1.Role{} }, func() runtime.Object { return &rbacv1.RoleList{} }, checkRole, roleColumns()},
		{"clusterroles", "clusterrole", false, func() runtime.Object { return &rbacv1.ClusterRole{} }, func() runtime.Object { return &rbacv1.ClusterRoleList{} }, checkRole, roleColumns()},
		{"rolebindings", "rolebinding", true, func() runtime.Object { return &rbacv1.RoleBinding{} }, func() runtime.Object { return &rbacv1.RoleBindingList{} }, checkBinding, bindingColumns()},
		{"clusterrolebindings", "clusterrolebinding", false, func() runtime.Object { return &rbacv1.ClusterRoleBinding{} }, func() runtime.Object { return &rbacv1.ClusterRoleBindingList{} }, checkBinding, bindingColumns()},
	} {
		store, err := builtin.NewStore(builtin.Resource{
			Scheme: scheme, Version: rbacv1.SchemeGroupVersion, Plural: r.plural, Singular: r.singular, New: r.create, NewList: r.list,
			Strategy: &builtin.Strategy{Namespaced: r.namespaced, Unconditional: true, CreateOnUpdate: true, CheckName: segmentName, Check: r.check},
			Columns:  r.columns,
		}, getter)
		if err != nil {
			return nil, err
		}
		all[r.plural] = resource{store, e}
	}
	return all, nil
}

func checkRole(obj, _ runtime.Object) (all field.ErrorList) {
	rules, namespaced := []rbacv1.PolicyRule(nil), true
	switch o := obj.(type) {
	case *rbacv1.Role:
		rules = o.Rules
	case *rbacv1.ClusterRole:
		rules, namespaced = o.Rules, false
		if o.AggregationRule != nil {
			at := field.NewPath("aggregationRule", "clusterRoleSelectors")
			if len(o.AggregationRule.ClusterRoleSelectors) == 0 {
				all = append(all, field.Required(at, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
			}
			for i := range o.AggregationRule.ClusterRoleSelectors {
				all = append(all, metav1validation.ValidateLabelSelector(&o.AggregationRule.ClusterRoleSelectors[i], metav1validation.LabelSelectorValidationOptions{}, at.Index(i))...)
			}
		}
	}
	for i := range rules {
		all = append(all, checkRule(&rules[i], namespaced, field.NewPath("rules").Index(i))...)
	}
	return all
}

func checkRule(r *rbacv1.PolicyRule, namespaced bool, at *field.Path) (all field.ErrorList) {
	if len(r.Verbs) == 0 {
		all = append(all, field.Required(at.Child("verbs"), "verbs must contain at least one value"))
	}
	if len(r.NonResourceURLs) > 0 {
		if namespaced {
			all = append(all, field.Invalid(at.Child("nonResourceURLs"), r.NonResourceURLs, "namespaced rules cannot apply to non-resource URLs"))
		}
		if len(r.APIGroups) > 0 || len(r.Resources) > 0 || len(r.ResourceNames) > 0 {
			all = append(all, field.Invalid(at.Child("nonResourceURLs"), r.NonResourceURLs, "rules cannot apply to both regular resources and non-resource URLs"))
		}
		return all
	}
	if len(r.APIGroups) == 0 {
		all = append(all, field.Required(at.Child("apiGroups"), "resource rules must supply at least one api group"))
	}
	if len(r.Resources) == 0 {
		all = append(all, field.Required(at.Child("resources"), "resource rules must supply at least one resource"))
	}
	return all
}

func checkBinding(obj, old runtime.Object) (all field.ErrorList) {
	ref, subjects, namespaced := bindingOf(obj)
	at := field.NewPath("roleRef")
	if ref.APIGroup != rbacv1.GroupName {
		all = append(all, field.NotSupported(at.Child("apiGroup"), ref.APIGroup, []string{rbacv1.GroupName}))
	}
	kinds := []string{"ClusterRole"}
	if namespaced {
		kinds = []string{"Role", "ClusterRole"}
	}
	if ref.Kind != "ClusterRole" && (ref.Kind != "Role" || !namespaced) {
		all = append(all, field.NotSupported(at.Child("kind"), ref.Kind, kinds))
	}
	if ref.Name == "" {
		all = append(all, field.Required(at.Child("name"), ""))
	} else {
		for _, detail := range content.IsPathSegmentName(ref.Name) {
			all = append(all, field.Invalid(at.Child("name"), ref.Name, detail))
		}
	}
	for i := range subjects {
		all = append(all, checkSubject(&subjects[i], namespaced, field.NewPath("subjects").Index(i))...)
	}
	if old != nil {
		if before, _, _ := bindingOf(old); before != ref {
			all = append(all, field.Invalid(at, ref, "cannot change roleRef"))
		}
	}
	return all
}

func checkSubject(s *rbacv1.Subject, namespaced bool, at *field.Path) (all field.ErrorList) {
	if s.Name == "" {
		all = append(all, field.Required(at.Child("name"), ""))
	}
	group := rbacv1.GroupName
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		group = ""
		if s.Name != "" {
			for _, detail := range validation.ValidateServiceAccountName(s.Name, false) {
				all = append(all, field.Invalid(at.Child("name"), s.Name, detail))
			}
		}
		if !namespaced && s.Namespace == "" {
			all = append(all, field.Required(at.Child("namespace"), ""))
		}
	case rbacv1.UserKind, rbacv1.GroupKind:
	default:
		return append(all, field.NotSupported(at.Child("kind"), s.Kind, []string{rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind}))
	}
	if s.APIGroup != group {
		all = append(all, field.NotSupported(at.Child("apiGroup"), s.APIGroup, []string{group}))
	}
	return all
}

func bindingOf(obj runtime.Object) (ref rbacv1.RoleRef, subjects []rbacv1.Subject, namespaced bool) {
	switch o := obj.(type) {
	case *rbacv1.RoleBinding:
		return o.RoleRef, o.Subjects, true
	case *rbacv1.ClusterRoleBinding:
		return o.RoleRef, o.Subjects, false
	}
	return ref, nil, false
}

func roleColumns() []builtin.Column {
	return []builtin.Column{builtin.NameColumn(), builtin.CreatedColumn()}
}

func bindingColumns() []builtin.Column {
	subjects := func(name, kind string) builtin.Column {
		return builtin.Column{Name: name, Type: "string", Wide: true, Description: name + " in the subjects of the binding", Cell: func(obj runtime.Object) any {
			_, all, _ := bindingOf(obj)
			var names []string
			for _, s := range all {
				switch {
				case s.Kind != kind:
				case kind == rbacv1.ServiceAccountKind:
					names = append(names, s.Namespace+"/"+s.Name)
				default:
					names = append(names, s.Name)
				}
			}
			return strings.Join(names, ", ")
		}}
	}
	return []builtin.Column{
		builtin.NameColumn(),
		{Name: "Role", Type: "string", Description: "The role that the binding grants", Cell: func(obj runtime.Object) any {
			ref, _, _ := bindingOf(obj)
			return fmt.Sprintf("%s/%s", ref.Kind, ref.Name)
		}},
		builtin.AgeColumn(),
		subjects("Users", rbacv1.UserKind), subjects("Groups", rbacv1.GroupKind), subjects("ServiceAccounts", rbacv1.ServiceAccountKind),
	}
}

// segmentName returns why a name, or the prefix of generated names, cannot be a segment of a URL path.
func segmentName(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}
