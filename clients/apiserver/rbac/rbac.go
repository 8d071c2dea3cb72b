// Package rbac serves the roles and bindings of rbac.authorization.k8s.io on k8s.io/apiserver, and authorizes requests
// with them.
//
// authorizer.go evaluates roles, resources.go stores them, escalation.go rejects grants of permissions that the caller lacks,
// aggregation.go fills in aggregated roles, and defaults.go has the roles that exist at start.
package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kube-openapi/pkg/common"

	"github.com/crdeval/crdeval/clients/apiserver/internal/builtin"
)

var scheme = builtin.NewScheme()

func init() {
	builtin.Register(scheme, rbacv1.SchemeGroupVersion, &rbacv1.Role{}, &rbacv1.RoleList{}, &rbacv1.RoleBinding{}, &rbacv1.RoleBindingList{},
		&rbacv1.ClusterRole{}, &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBinding{}, &rbacv1.ClusterRoleBindingList{})
	scheme.AddTypeDefaultingFunc(&rbacv1.RoleBinding{}, func(obj any) {
		b := obj.(*rbacv1.RoleBinding)
		setDefaults(&b.RoleRef, b.Subjects)
	})
	scheme.AddTypeDefaultingFunc(&rbacv1.ClusterRoleBinding{}, func(obj any) {
		b := obj.(*rbacv1.ClusterRoleBinding)
		setDefaults(&b.RoleRef, b.Subjects)
	})
}

// setDefaults fills in the API groups of a binding.
func setDefaults(ref *rbacv1.RoleRef, subjects []rbacv1.Subject) {
	if ref.APIGroup == "" {
		ref.APIGroup = rbacv1.GroupName
	}
	for i := range subjects {
		if s := &subjects[i]; s.APIGroup == "" && (s.Kind == rbacv1.UserKind || s.Kind == rbacv1.GroupKind) {
			s.APIGroup = rbacv1.GroupName
		}
	}
}

// Definitions adds the OpenAPI definitions of this package to those of next.
func Definitions(next common.GetOpenAPIDefinitions) common.GetOpenAPIDefinitions {
	return builtin.Definitions(next, rbacv1.Role{}, rbacv1.RoleList{}, rbacv1.RoleBinding{}, rbacv1.RoleBindingList{},
		rbacv1.ClusterRole{}, rbacv1.ClusterRoleList{}, rbacv1.ClusterRoleBinding{}, rbacv1.ClusterRoleBindingList{})
}

// Install serves the resources, creates the default roles, and fills in aggregated roles. The informers must be those of
// the server.
func Install(s *genericapiserver.GenericAPIServer, getter generic.RESTOptionsGetter, factory informers.SharedInformerFactory) error {
	client, err := kubernetes.NewForConfig(s.LoopbackClientConfig)
	if err != nil {
		return err
	}
	e := escalation{NewAuthorizer(factory.Rbac().V1()), s.Authorizer}
	resources, err := newResources(getter, e)
	if err != nil {
		return err
	}
	storage := map[string]rest.Storage{}
	for name, r := range resources {
		storage[name] = r
	}
	if err := s.InstallAPIGroup(builtin.Group(scheme, rbacv1.SchemeGroupVersion, storage)); err != nil {
		return err
	}
	a, err := newAggregation(client.RbacV1().ClusterRoles(), factory.Rbac().V1().ClusterRoles())
	if err != nil {
		return err
	}
	return s.AddPostStartHook("start-rbac", func(hook genericapiserver.PostStartHookContext) error {
		go a.run(hook)
		return createDefaults(hook, client.RbacV1())
	})
}
