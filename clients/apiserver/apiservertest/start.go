// Package apiservertest starts API servers with CRDs inside of tests.
package apiservertest

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/rest"

	"github.com/crdeval/crdeval/clients/apiserver"
	"github.com/crdeval/crdeval/clients/apiserver/standalone"
	"github.com/crdeval/crdeval/engine"
)

// Options change the server that StartWith starts. The zero value is the default.
type Options struct {
	// Evaluator evaluates CRDs and custom resources. Default: apiserver.InProcess.
	Evaluator apiserver.Evaluator
	// Core serves namespaces, events, roles and access reviews too. Objects then need an existing namespace, such as
	// default. Roles decide what impersonated users may do.
	Core bool
	// Kinds serves the common types of Kubernetes too, such as pods, secrets and leases, and calls admission webhooks. No
	// controller acts on the objects, and only their metadata is validated. It implies Core.
	Kinds bool
}

// Start starts a server with its own storage, creates the CRDs, and waits until their custom resources are served. The
// result is the configuration of a client with all permissions. The server stops at the end of the test.
func Start(t testing.TB, crds ...*apiextensionsv1.CustomResourceDefinition) *rest.Config {
	t.Helper()
	return StartWith(t, Options{}, crds...)
}

// StartWith is Start with options.
func StartWith(t testing.TB, o Options, crds ...*apiextensionsv1.CustomResourceDefinition) *rest.Config {
	t.Helper()
	o.Core = o.Core || o.Kinds
	if o.Evaluator == nil {
		converter, err := apiserver.NewWebhookConverter(nil, nil)
		check(t, err)
		o.Evaluator = apiserver.InProcess{Options: engine.Options{Converter: converter}}
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	s := newServer(t, o)
	go func() {
		defer close(stopped)
		if err := s.PrepareRun().RunWithContext(ctx); err != nil {
			t.Errorf("API server: %v", err)
		}
	}()
	t.Cleanup(func() { cancel(); <-stopped })
	config := rest.CopyConfig(s.LoopbackClientConfig)
	client, err := clientset.NewForConfig(config)
	check(t, err)
	poll(ctx, t, "the server to be ready", func() bool {
		return client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil
	})
	for _, crd := range crds {
		_, err := client.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, crd, metav1.CreateOptions{})
		check(t, err)
	}
	for _, crd := range crds {
		poll(ctx, t, "CRD "+crd.Name, func() bool {
			got, err := client.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, crd.Name, metav1.GetOptions{})
			check(t, err)
			if !apihelpers.IsCRDConditionTrue(got, apiextensionsv1.Established) {
				return false
			}
			for _, v := range crd.Spec.Versions {
				list, err := client.Discovery().ServerResourcesForGroupVersion(crd.Spec.Group + "/" + v.Name)
				if v.Served && (err != nil || !lists(list, crd.Spec.Names.Plural)) {
					return false
				}
			}
			return true
		})
	}
	return config
}

func lists(list *metav1.APIResourceList, resource string) bool {
	for _, r := range list.APIResources {
		if r.Name == resource {
			return true
		}
	}
	return false
}

func poll(ctx context.Context, t testing.TB, what string, done func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(ctx, 5*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) { return done(), nil })
	if err != nil {
		t.Fatalf("wait for %s: %v", what, err)
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newServer returns a server with its own storage. Every caller is a member of system:masters.
func newServer(t testing.TB, o Options) *apiserver.Server {
	t.Helper()
	etcd, err := standalone.StartEtcd(t.TempDir(), false)
	check(t, err)
	t.Cleanup(etcd.Close)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check(t, err)
	serving := options.NewSecureServingOptions().WithLoopback()
	serving.Listener, serving.BindPort = listener, listener.Addr().(*net.TCPAddr).Port
	serving.ServerCert.CertDirectory, serving.ServerCert.PairName = "", "crdeval"
	check(t, serving.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.IPv4(127, 0, 0, 1)}))
	everyone := authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
		return &authenticator.Response{User: &user.DefaultInfo{Name: "test", Groups: []string{user.SystemPrivilegedGroup}}}, true, nil
	})
	s, err := standalone.New(standalone.Config{
		Evaluator: o.Evaluator, Serving: serving, Etcd: etcd.Transport(), Authenticator: everyone, Core: o.Core, RBAC: o.Core, Kinds: o.Kinds,
	})
	check(t, err)
	return s
}
