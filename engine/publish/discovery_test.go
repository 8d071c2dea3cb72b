package publish_test

import (
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/fixture"
	"github.com/crdeval/crdeval/engine/kubeserver"
	"github.com/crdeval/crdeval/engine/publish"
)

func TestDiscover(t *testing.T) {
	d := fixture.Compile(t, selectableCRD)
	status := apiextensionsv1.CustomResourceDefinitionStatus{AcceptedNames: kubeserver.DesiredStatusOf(d).Names}
	status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: "Established", Status: "True"}}
	found := publish.Discover(publish.NewCRD(d, status), publish.CRD{})
	for _, c := range []struct{ what, got, want string }{
		{"list", string(found.GroupList()), `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"stable.example.com","versions":[` +
			`{"groupVersion":"stable.example.com/v1","version":"v1"},{"groupVersion":"stable.example.com/v1beta1","version":"v1beta1"}],` +
			`"preferredVersion":{"groupVersion":"stable.example.com/v1","version":"v1"}}]}`},
		{"beta", string(found.Resources("stable.example.com", "v1beta1")), `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"stable.example.com/v1beta1","resources":[` +
			`{"name":"crontabs","singularName":"crontab","namespaced":true,"kind":"CronTab","verbs":["delete","deletecollection","get","list","patch","create","update","watch"],` +
			`"shortNames":["ct"],"categories":["all"],"storageVersionHash":"EdX2FP+L0js="}]}`},
		{"not served", string(found.Resources("stable.example.com", "v1alpha1")), ""},
		{"another group", string(found.Group("other")), ""},
		{"versions", fmt.Sprint(found.GroupVersions()), "[stable.example.com/v1 stable.example.com/v1beta1]"},
		{"waiting", string(publish.Discover(publish.NewCRD(d, apiextensionsv1.CustomResourceDefinitionStatus{})).GroupList()), `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s\nwant %s", c.what, c.got, c.want)
		}
	}
	text, etag := found.Aggregated()
	if !strings.HasPrefix(string(text), `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[{"metadata":{"name":"stable.example.com"`) || len(etag) != 128 {
		t.Errorf("%s %s", text, etag)
	}
}
