// Package access serves the reviews of authorization.k8s.io and authentication.k8s.io on k8s.io/apiserver: clients ask
// what a user may do, and who they are. kubectl auth uses them.
package access

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/common"

	"github.com/crdeval/crdeval/clients/apiserver/internal/builtin"
)

var scheme = builtin.NewScheme()

func init() {
	builtin.Register(scheme, authorizationv1.SchemeGroupVersion, &authorizationv1.SubjectAccessReview{}, &authorizationv1.LocalSubjectAccessReview{},
		&authorizationv1.SelfSubjectAccessReview{}, &authorizationv1.SelfSubjectRulesReview{})
	builtin.Register(scheme, authenticationv1.SchemeGroupVersion, &authenticationv1.SelfSubjectReview{})
}

// Definitions adds the OpenAPI definitions of this package to those of next.
func Definitions(next common.GetOpenAPIDefinitions) common.GetOpenAPIDefinitions {
	return builtin.Definitions(next, authorizationv1.SubjectAccessReview{}, authorizationv1.LocalSubjectAccessReview{},
		authorizationv1.SelfSubjectAccessReview{}, authorizationv1.SelfSubjectRulesReview{}, authenticationv1.SelfSubjectReview{})
}

// Install serves the reviews with the authorizer of the server. rules lists what a user may do.
func Install(s *genericapiserver.GenericAPIServer, rules authorizer.RuleResolver) error {
	r := reviewer{s.Authorizer, rules}
	if err := s.InstallAPIGroup(builtin.Group(scheme, authorizationv1.SchemeGroupVersion, map[string]rest.Storage{
		"subjectaccessreviews":      review[*authorizationv1.SubjectAccessReview]{"subjectaccessreview", false, func() *authorizationv1.SubjectAccessReview { return &authorizationv1.SubjectAccessReview{} }, r.subject},
		"localsubjectaccessreviews": review[*authorizationv1.LocalSubjectAccessReview]{"localsubjectaccessreview", true, func() *authorizationv1.LocalSubjectAccessReview { return &authorizationv1.LocalSubjectAccessReview{} }, r.local},
		"selfsubjectaccessreviews":  review[*authorizationv1.SelfSubjectAccessReview]{"selfsubjectaccessreview", false, func() *authorizationv1.SelfSubjectAccessReview { return &authorizationv1.SelfSubjectAccessReview{} }, r.self},
		"selfsubjectrulesreviews":   review[*authorizationv1.SelfSubjectRulesReview]{"selfsubjectrulesreview", false, func() *authorizationv1.SelfSubjectRulesReview { return &authorizationv1.SelfSubjectRulesReview{} }, r.selfRules},
	})); err != nil {
		return err
	}
	return s.InstallAPIGroup(builtin.Group(scheme, authenticationv1.SchemeGroupVersion, map[string]rest.Storage{
		"selfsubjectreviews": review[*authenticationv1.SelfSubjectReview]{"selfsubjectreview", false, func() *authenticationv1.SelfSubjectReview { return &authenticationv1.SelfSubjectReview{} }, identify},
	}))
}

// review serves a kind of review. Reviews are answered and not stored.
type review[T runtime.Object] struct {
	singular   string
	namespaced bool
	create     func() T
	answer     func(context.Context, T) error // fills in the status
}

func (r review[T]) New() runtime.Object     { return r.create() }
func (r review[T]) Destroy()                {}
func (r review[T]) NamespaceScoped() bool   { return r.namespaced }
func (r review[T]) GetSingularName() string { return r.singular }

func (r review[T]) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	if err := validate(ctx, obj.DeepCopyObject()); err != nil {
		return nil, err
	}
	return obj, r.answer(ctx, obj.(T))
}

type reviewer struct {
	authorizer authorizer.UnconditionalAuthorizer
	rules      authorizer.RuleResolver
}

func (r reviewer) subject(ctx context.Context, o *authorizationv1.SubjectAccessReview) (err error) {
	o.Status, err = r.review(ctx, userOf(&o.Spec), o.Spec.ResourceAttributes, o.Spec.NonResourceAttributes)
	return err
}

func (r reviewer) local(ctx context.Context, o *authorizationv1.LocalSubjectAccessReview) (err error) {
	namespace := genericapirequest.NamespaceValue(ctx)
	switch a := o.Spec.ResourceAttributes; {
	case a == nil:
		return apierrors.NewBadRequest("spec.resourceAttributes is required")
	case a.Namespace != namespace:
		return apierrors.NewBadRequest(fmt.Sprintf("spec.resourceAttributes.namespace is %q, and must be %q as in the URL", a.Namespace, namespace))
	}
	o.Status, err = r.review(ctx, userOf(&o.Spec), o.Spec.ResourceAttributes, nil)
	return err
}

func (r reviewer) self(ctx context.Context, o *authorizationv1.SelfSubjectAccessReview) error {
	u, err := caller(ctx)
	if err == nil {
		o.Status, err = r.review(ctx, u, o.Spec.ResourceAttributes, o.Spec.NonResourceAttributes)
	}
	return err
}

func (r reviewer) selfRules(ctx context.Context, o *authorizationv1.SelfSubjectRulesReview) error {
	u, err := caller(ctx)
	if err != nil {
		return err
	}
	if o.Spec.Namespace == "" {
		return apierrors.NewBadRequest("no namespace on request")
	}
	resources, paths, incomplete, err := r.rules.RulesFor(ctx, u, o.Spec.Namespace)
	o.Status = authorizationv1.SubjectRulesReviewStatus{
		ResourceRules: []authorizationv1.ResourceRule{}, NonResourceRules: []authorizationv1.NonResourceRule{}, Incomplete: incomplete,
	}
	for _, r := range resources {
		o.Status.ResourceRules = append(o.Status.ResourceRules, authorizationv1.ResourceRule{
			Verbs: r.GetVerbs(), APIGroups: r.GetAPIGroups(), Resources: r.GetResources(), ResourceNames: r.GetResourceNames(),
		})
	}
	for _, p := range paths {
		o.Status.NonResourceRules = append(o.Status.NonResourceRules, authorizationv1.NonResourceRule{Verbs: p.GetVerbs(), NonResourceURLs: p.GetNonResourceURLs()})
	}
	if err != nil {
		o.Status.EvaluationError = err.Error()
	}
	return nil
}

// identify answers who the caller is.
func identify(ctx context.Context, o *authenticationv1.SelfSubjectReview) error {
	u, err := caller(ctx)
	if err != nil {
		return err
	}
	o.Status.UserInfo = authenticationv1.UserInfo{Username: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups()}
	for key, value := range u.GetExtra() {
		if o.Status.UserInfo.Extra == nil {
			o.Status.UserInfo.Extra = map[string]authenticationv1.ExtraValue{}
		}
		o.Status.UserInfo.Extra[key] = value
	}
	return nil
}

func caller(ctx context.Context) (user.Info, error) {
	u, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return nil, apierrors.NewBadRequest("no user present on request")
	}
	return u, nil
}

func userOf(s *authorizationv1.SubjectAccessReviewSpec) user.Info {
	u := &user.DefaultInfo{Name: s.User, UID: s.UID, Groups: s.Groups, Extra: map[string][]string{}}
	for key, value := range s.Extra {
		u.Extra[key] = value
	}
	return u
}

// review authorizes what the attributes describe.
func (r reviewer) review(ctx context.Context, u user.Info, resource *authorizationv1.ResourceAttributes, path *authorizationv1.NonResourceAttributes) (status authorizationv1.SubjectAccessReviewStatus, err error) {
	if (resource == nil) == (path == nil) {
		return status, apierrors.NewBadRequest("exactly one of spec.resourceAttributes and spec.nonResourceAttributes is required")
	}
	if u.GetName() == "" && len(u.GetGroups()) == 0 {
		return status, apierrors.NewBadRequest("at least one of spec.user and spec.groups is required")
	}
	a := authorizer.AttributesRecord{User: u}
	if path != nil {
		a.Verb, a.Path = path.Verb, path.Path
	} else {
		a.ResourceRequest, a.Verb, a.Namespace, a.Name = true, resource.Verb, resource.Namespace, resource.Name
		a.APIGroup, a.APIVersion, a.Resource, a.Subresource = resource.Group, resource.Version, resource.Resource, resource.Subresource
	}
	decision, reason, err := r.authorizer.Authorize(ctx, a)
	status.Allowed, status.Denied, status.Reason = decision == authorizer.DecisionAllow, decision == authorizer.DecisionDeny, reason
	if err != nil {
		status.EvaluationError = err.Error()
	}
	return status, nil
}
