package rbac

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// TestAllows checks which requests a rule allows.
func TestAllows(t *testing.T) {
	request := func(verb, group, resource, subresource, name string) authorizer.AttributesRecord {
		return authorizer.AttributesRecord{Verb: verb, APIGroup: group, Resource: resource, Subresource: subresource, Name: name, ResourceRequest: true}
	}
	path := func(verb, path string) authorizer.AttributesRecord {
		return authorizer.AttributesRecord{Verb: verb, Path: path}
	}
	rule := func(verb, group, resource string, names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: names}
	}
	urls := func(url string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{url}}
	}
	for name, c := range map[string]struct {
		rule    rbacv1.PolicyRule
		request authorizer.AttributesRecord
		want    bool
	}{
		"exact":                          {rule("get", "g", "r"), request("get", "g", "r", "", ""), true},
		"another verb":                   {rule("get", "g", "r"), request("list", "g", "r", "", ""), false},
		"another group":                  {rule("get", "g", "r"), request("get", "h", "r", "", ""), false},
		"another resource":               {rule("get", "g", "r"), request("get", "g", "s", "", ""), false},
		"a subresource needs a rule":     {rule("get", "g", "r"), request("get", "g", "r", "status", ""), false},
		"a subresource":                  {rule("get", "g", "r/status"), request("get", "g", "r", "status", ""), true},
		"a subresource of all resources": {rule("get", "g", "*/status"), request("get", "g", "r", "status", ""), true},
		"all":                            {rule("*", "*", "*"), request("get", "g", "r", "status", "n"), true},
		"a name":                         {rule("get", "g", "r", "n"), request("get", "g", "r", "", "n"), true},
		"another name":                   {rule("get", "g", "r", "n"), request("get", "g", "r", "", "m"), false},
		"no name, as in a list":          {rule("get", "g", "r", "n"), request("get", "g", "r", "", ""), false},
		"a path":                         {urls("/healthz"), path("get", "/healthz"), true},
		"below a path":                   {urls("/healthz"), path("get", "/healthz/x"), false},
		"a prefix":                       {urls("/apis/*"), path("get", "/apis/x"), true},
		"a shorter path than the prefix": {urls("/apis/*"), path("get", "/apis"), false},
		"a path of a resource rule":      {rule("*", "*", "*"), path("get", "/apis"), false},
		"a resource of a path rule":      {urls("*"), request("get", "g", "r", "", ""), false},
	} {
		if got := allows(&c.rule, c.request); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestApplies checks whom a subject names.
func TestApplies(t *testing.T) {
	u := &user.DefaultInfo{Name: "system:serviceaccount:ns:sa", Groups: []string{"g"}}
	for name, c := range map[string]struct {
		subject   rbacv1.Subject
		namespace string
		want      bool
	}{
		"user":                               {rbacv1.Subject{Kind: "User", Name: u.Name}, "", true},
		"another user":                       {rbacv1.Subject{Kind: "User", Name: "g"}, "", false},
		"group":                              {rbacv1.Subject{Kind: "Group", Name: "g"}, "", true},
		"another group":                      {rbacv1.Subject{Kind: "Group", Name: u.Name}, "", false},
		"service account":                    {rbacv1.Subject{Kind: "ServiceAccount", Name: "sa", Namespace: "ns"}, "", true},
		"in the namespace of the binding":    {rbacv1.Subject{Kind: "ServiceAccount", Name: "sa"}, "ns", true},
		"in another namespace":               {rbacv1.Subject{Kind: "ServiceAccount", Name: "sa"}, "other", false},
		"without a namespace":                {rbacv1.Subject{Kind: "ServiceAccount", Name: "sa"}, "", false},
		"a kind that RBAC does not know":     {rbacv1.Subject{Kind: "Robot", Name: u.Name}, "", false},
		"a namespace other than the binding": {rbacv1.Subject{Kind: "ServiceAccount", Name: "sa", Namespace: "x"}, "ns", false},
	} {
		if got := applies(c.subject, u, c.namespace); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
