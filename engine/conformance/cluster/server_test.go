//go:build cluster

package cluster

import (
	"context"
	"path"
	"testing"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apiextensions-apiserver/test/integration/fixtures"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/storage/etcd3/testserver"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// apiServer is an API server for CRDs with its own etcd. Both end with the test.
type apiServer struct {
	crds    clientset.Interface
	objects dynamic.Interface
	config  *rest.Config
	etcd    *clientv3.Client
	prefix  string // of all keys in etcd
}

func startAPIServer(t *testing.T) *apiServer {
	t.Helper()
	klog.SetLogger(klog.Logger{}) // it logs at length, and after the test
	etcd := testserver.RunEtcd(t, nil)
	t.Setenv("KUBE_INTEGRATION_ETCD_URL", etcd.Endpoints()[0])
	// The fixtures need an absolute path of their package, which a test that was built with -trimpath gets from these.
	t.Setenv("TEST_SRCDIR", t.TempDir())
	t.Setenv("TEST_WORKSPACE", "kubernetes")
	own := newCertificate(t)
	stop, config, options, err := fixtures.StartDefaultServer(t, "--tls-cert-file="+own.file, "--tls-private-key-file="+own.keyFile)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return &apiServer{
		clientset.NewForConfigOrDie(config), dynamic.NewForConfigOrDie(config), config, etcd.Client,
		options.RecommendedOptions.Etcd.StorageConfig.Prefix,
	}
}

// stored returns an object as etcd has it.
func (s *apiServer) stored(t *testing.T, of schema.GroupResource, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	key := path.Join("/", s.prefix, of.Group, of.Resource, namespace, name)
	found, err := s.etcd.Get(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Kvs) != 1 {
		t.Fatalf("etcd has %d values at %s", len(found.Kvs), key)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(found.Kvs[0].Value); err != nil {
		t.Fatal(err)
	}
	return object
}

// patience bounds how long a condition may take to become true.
const patience = 5 * time.Minute

// eventually waits until a condition is true.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	poll := func(context.Context) (bool, error) { return condition(), nil }
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, poll); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
