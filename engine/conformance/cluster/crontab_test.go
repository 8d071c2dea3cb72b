//go:build cluster

package cluster

import (
	"context"
	"maps"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/test/integration/fixtures"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"
)

const (
	before = "v1beta1" // has hostPort
	after  = "v1"      // has host and port
)

// crontabCRD is the CRD of Kubernetes' documentation about versions, without its webhook.
const crontabCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: crontabs.example.com
spec:
  group: example.com
  scope: Namespaced
  names:
    plural: crontabs
    singular: crontab
    kind: CronTab
    shortNames: [ct]
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          hostPort: {type: string}
  - name: v1
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties:
          host: {type: string}
          port: {type: string}
`

// crontabs is an API server with the CRD of CronTabs.
type crontabs struct {
	*apiServer
	t *testing.T
}

func registerCronTabs(t *testing.T, w webhook) *crontabs {
	t.Helper()
	s, crd := startAPIServer(t), readCRD(t, crontabCRD)
	setWebhook(crd, w)
	if _, err := fixtures.CreateNewV1CustomResourceDefinition(crd, s.crds, s.objects); err != nil {
		t.Fatal(err)
	}
	return &crontabs{s, t}
}

// at returns a client of a version.
func (c *crontabs) at(version string) dynamic.ResourceInterface {
	gvr := schema.GroupVersionResource{Group: "example.com", Version: version, Resource: "crontabs"}
	return c.objects.Resource(gvr).Namespace("default")
}

// updateCRD changes spec of the CRD. The API server applies the change some time later.
func (c *crontabs) updateCRD(change func(*apiextensionsv1.CustomResourceDefinition)) {
	c.t.Helper()
	c.writeCRD(change, c.crds.ApiextensionsV1().CustomResourceDefinitions().Update)
}

// updateCRDStatus changes status of the CRD.
func (c *crontabs) updateCRDStatus(change func(*apiextensionsv1.CustomResourceDefinition)) {
	c.t.Helper()
	c.writeCRD(change, c.crds.ApiextensionsV1().CustomResourceDefinitions().UpdateStatus)
}

func (c *crontabs) writeCRD(change func(*apiextensionsv1.CustomResourceDefinition), write func(
	context.Context, *apiextensionsv1.CustomResourceDefinition, metav1.UpdateOptions,
) (*apiextensionsv1.CustomResourceDefinition, error),
) {
	c.t.Helper()
	if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		crd := c.crd()
		change(crd)
		_, err := write(context.Background(), crd, metav1.UpdateOptions{})
		return err
	}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *crontabs) crd() *apiextensionsv1.CustomResourceDefinition {
	c.t.Helper()
	client := c.crds.ApiextensionsV1().CustomResourceDefinitions()
	crd, err := client.Get(context.Background(), "crontabs.example.com", metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return crd
}

// manifest returns a CronTab at a version.
func manifest(version, name string, fields map[string]any) *unstructured.Unstructured {
	object := map[string]any{
		"apiVersion": "example.com/" + version, "kind": "CronTab",
		"metadata": map[string]any{"name": name, "namespace": "default"},
	}
	maps.Copy(object, fields)
	return &unstructured.Unstructured{Object: object}
}

// fields returns what a CronTab has at a version for a host and a port, separated by a colon. If there is no colon, it
// has no form at v1.
func fields(version, hostPort string) map[string]any {
	if hostPort == "" {
		return map[string]any{}
	}
	if version == before {
		return map[string]any{"hostPort": hostPort}
	}
	host, port, _ := strings.Cut(hostPort, ":")
	return map[string]any{"host": host, "port": port}
}
