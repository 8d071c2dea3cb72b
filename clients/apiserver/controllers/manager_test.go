package controllers

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/clients/apiserver/apiservertest"
	"github.com/crdeval/crdeval/engine/testenv"
)

const (
	namespace     = "shop"
	infraGroup    = "infrastructure.example.com"
	limit         = 90 * time.Second // of a step
	betweenChecks = 100 * time.Millisecond
)

// output is the log of the manager.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// readCRDs returns the CRDs of a directory.
func readCRDs(t *testing.T, dir string) (all []*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	check(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(t, err)
		crd := &apiextensionsv1.CustomResourceDefinition{}
		check(t, yaml.UnmarshalStrict(text, crd))
		all = append(all, crd)
	}
	if len(all) == 0 {
		t.Fatalf("no CRDs in %s", dir)
	}
	return all
}

// infrastructureCRD returns a CRD of an infrastructure provider, without a schema.
func infrastructureCRD(kind string) *apiextensionsv1.CustomResourceDefinition {
	preserve, lower := true, strings.ToLower(kind)
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name: lower + "s." + infraGroup, Labels: map[string]string{"cluster.x-k8s.io/v1beta2": "v1"},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: infraGroup, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: lower + "s", Singular: lower, Kind: kind, ListKind: kind + "List",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve},
				},
			}},
		},
	}
}

// objects are the objects of a user: a cluster, and two machines of it.
const objects = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: infrastructure.example.com/v1
kind: RackCluster
metadata: {name: one, namespace: shop}
spec: {}
---
apiVersion: infrastructure.example.com/v1
kind: RackMachineTemplate
metadata: {name: small, namespace: shop}
spec: {template: {spec: {size: small}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: one, namespace: shop}
spec:
  infrastructureRef: {apiGroup: infrastructure.example.com, kind: RackCluster, name: one}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: workers, namespace: shop}
spec:
  clusterName: one
  replicas: 2
  rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}}
  selector: {matchLabels: {pool: workers}}
  template:
    metadata: {labels: {pool: workers}}
    spec:
      clusterName: one
      bootstrap: {dataSecretName: bootstrap}
      infrastructureRef: {apiGroup: infrastructure.example.com, kind: RackMachineTemplate, name: small}
`

func resource(group, version, plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: plural}
}

// startManager compiles and starts the project's manager. It stops at the end of the test.
func startManager(t *testing.T, kubeconfig, project string) *output {
	t.Helper()
	dir, log := t.TempDir(), &output{}
	run(t, project, "go", "build", "-o", filepath.Join(dir, "manager"), "./core")
	certificate, key, err := certutil.GenerateSelfSignedCertKey("localhost", nil, nil)
	check(t, err)
	check(t, os.WriteFile(filepath.Join(dir, "tls.crt"), certificate, 0o600))
	check(t, os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600))
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check(t, err)
	port := listener.Addr().(*net.TCPAddr).Port // for the manager's webhooks, which this test does not configure
	check(t, listener.Close())
	manager := command(context.Background(), t, dir, filepath.Join(dir, "manager"), "--kubeconfig="+kubeconfig,
		"--webhook-cert-dir="+dir, fmt.Sprintf("--webhook-port=%d", port), "--health-addr=127.0.0.1:0",
		"--diagnostics-address=127.0.0.1:0", "--insecure-diagnostics")
	manager.Stdout, manager.Stderr = log, log
	check(t, manager.Start())
	ended := make(chan error, 1)
	go func() { ended <- manager.Wait() }()
	t.Cleanup(func() {
		_ = manager.Process.Signal(syscall.SIGTERM) // it fails if the manager has ended, which Wait reports
		if err := <-ended; err != nil {
			t.Errorf("the manager: %v", err)
		}
		if t.Failed() {
			t.Log(log)
		}
	})
	for begin := time.Now(); !strings.Contains(log.String(), "Starting workers"); time.Sleep(betweenChecks) {
		if len(ended) > 0 || time.Since(begin) > limit {
			t.Fatal("the manager does not start")
		}
	}
	return log
}

// TestManager creates a cluster, provides its infrastructure, scales it, and deletes it.
func TestManager(t *testing.T) {
	testenv.E2E(t)
	source := download(t)
	crds := readCRDs(t, filepath.Join(source, "core", "config", "crd", "bases"))
	for _, kind := range []string{"RackCluster", "RackMachineTemplate", "RackMachine"} {
		crds = append(crds, infrastructureCRD(kind))
	}
	config := apiservertest.StartWith(t, apiservertest.Options{Kinds: true}, crds...)
	log := startManager(t, apiservertest.Kubeconfig(t, config), source)

	ctx := t.Context()
	client, err := dynamic.NewForConfig(config)
	check(t, err)
	kinds, err := kubernetes.NewForConfig(config)
	check(t, err)
	eventually := func(what string, done func() bool) {
		t.Helper()
		for begin := time.Now(); !done(); time.Sleep(betweenChecks) {
			if time.Since(begin) > limit {
				t.Fatalf("not within %v: %s", limit, what)
			}
		}
	}
	in := func(group, version, plural string) dynamic.ResourceInterface {
		return client.Resource(resource(group, version, plural)).Namespace(namespace)
	}
	clusters, racks := in("cluster.x-k8s.io", "v1beta2", "clusters"), in(infraGroup, "v1", "rackclusters")
	deployments := in("cluster.x-k8s.io", "v1beta2", "machinedeployments")
	machines, rackMachines := in("cluster.x-k8s.io", "v1beta2", "machines"), in(infraGroup, "v1", "rackmachines")
	count := func(r dynamic.ResourceInterface, n int) func() bool {
		return func() bool {
			list, err := r.List(ctx, metav1.ListOptions{})
			check(t, err)
			return len(list.Items) == n
		}
	}
	field := func(r dynamic.ResourceInterface, name string, path ...string) any {
		u, err := r.Get(ctx, name, metav1.GetOptions{})
		check(t, err)
		value, _, err := unstructured.NestedFieldNoCopy(u.Object, path...)
		check(t, err)
		return value
	}

	for text := range strings.SplitSeq(objects, "\n---\n") {
		u := &unstructured.Unstructured{}
		check(t, yaml.Unmarshal([]byte(text), &u.Object))
		plural := map[string]string{"RackMachineTemplate": "rackmachinetemplates"}[u.GetKind()]
		if plural == "" {
			plural = strings.ToLower(u.GetKind()) + "s"
		}
		gv := u.GroupVersionKind().GroupVersion()
		r := client.Resource(gv.WithResource(plural)).Namespace(u.GetNamespace())
		_, err := r.Create(ctx, u, metav1.CreateOptions{FieldValidation: "Strict"})
		check(t, err)
	}
	eventually("the manager owns the infrastructure of the cluster", func() bool {
		return field(racks, "one", "metadata", "ownerReferences") != nil
	})
	eventually("the cluster waits for its infrastructure", func() bool {
		return field(clusters, "one", "status", "phase") == "Provisioning"
	})
	patch := func(r dynamic.ResourceInterface, name, text string, subresources ...string) {
		_, err := r.Patch(ctx, name, types.MergePatchType, []byte(text), metav1.PatchOptions{}, subresources...)
		check(t, err)
	}
	patch(racks, "one", `{"spec": {"controlPlaneEndpoint": {"host": "one.example.com", "port": 6443}}}`)
	patch(racks, "one", `{"status": {"initialization": {"provisioned": true}}}`, "status")
	eventually("the cluster is provisioned", func() bool {
		return field(clusters, "one", "status", "phase") == "Provisioned"
	})
	eventually("the cluster has the endpoint of its infrastructure", func() bool {
		return field(clusters, "one", "spec", "controlPlaneEndpoint", "host") == "one.example.com"
	})
	eventually("two machines", count(machines, 2))
	eventually("the infrastructure of two machines", count(rackMachines, 2))
	list, err := rackMachines.List(ctx, metav1.ListOptions{})
	check(t, err)
	for _, m := range list.Items {
		size, _, _ := unstructured.NestedString(m.Object, "spec", "size")
		if size != "small" || len(m.GetOwnerReferences()) == 0 {
			t.Errorf("infrastructure of a machine: %v", m.Object)
		}
	}
	eventually("the status counts the machines", func() bool {
		return field(deployments, "workers", "status", "replicas") == int64(2)
	})

	patch(deployments, "workers", `{"spec": {"replicas": 1}}`, "scale")
	eventually("one machine", func() bool { return count(machines, 1)() && count(rackMachines, 1)() })
	eventually("an event of the manager", func() bool {
		events, err := kinds.EventsV1().Events(namespace).List(ctx, metav1.ListOptions{})
		check(t, err)
		return len(events.Items) > 0
	})

	check(t, clusters.Delete(ctx, "one", metav1.DeleteOptions{}))
	eventually("the cluster is deleted", func() bool {
		_, err := clusters.Get(ctx, "one", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	for _, r := range []dynamic.ResourceInterface{machines, rackMachines, deployments, racks} {
		if !count(r, 0)() {
			t.Error("objects of the cluster remain")
		}
	}
	if strings.Contains(log.String(), "panic") {
		t.Error("the manager panicked")
	}
}
