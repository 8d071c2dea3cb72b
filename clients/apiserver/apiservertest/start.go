// Package apiservertest starts API servers with CRDs inside of tests.
package apiservertest

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/rest"

	"github.com/crdeval/crdeval/clients/apiserver"
	"github.com/crdeval/crdeval/engine"
)

// Options change the server that StartWith starts. The zero value is the default.
type Options struct {
	// Evaluator evaluates CRDs and custom resources. Default: apiserver.InProcess.
	Evaluator apiserver.Evaluator
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
	if o.Evaluator == nil {
		converter, err := apiserver.NewWebhookConverter(nil, nil)
		check(t, err)
		o.Evaluator = apiserver.InProcess{Options: engine.Options{Converter: converter}}
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	endpoint := startEtcd(t)
	s := newServer(t, o, endpoint)
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

// startEtcd starts an etcd in this process that does not sync its files, and returns its URL.
func startEtcd(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	c := embed.NewConfig()
	c.Dir = filepath.Join(dir, "data")
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	c.UnsafeNoFsync = true
	client := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	peer := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	c.InitialCluster = c.Name + "=" + peer.String()
	e, err := embed.StartEtcd(c)
	check(t, err)
	t.Cleanup(e.Close)
	<-e.Server.ReadyNotify()
	return "http://" + e.Clients[0].Addr().String()
}

func newServer(t testing.TB, o Options, etcd string) *apiserver.Server {
	t.Helper()
	config := genericapiserver.NewRecommendedConfig(crdserver.Codecs)
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check(t, err)
	serving := options.NewSecureServingOptions().WithLoopback()
	serving.Listener, serving.BindPort = listener, listener.Addr().(*net.TCPAddr).Port
	serving.ServerCert.CertDirectory, serving.ServerCert.PairName = "", "crdeval"
	check(t, serving.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.IPv4(127, 0, 0, 1)}))
	check(t, serving.ApplyToConfig(&config.Config))
	config.Authentication.Authenticator = authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
		return &authenticator.Response{User: &user.DefaultInfo{Name: "test", Groups: []string{user.SystemPrivilegedGroup}}}, true, nil
	})
	config.Authorization.Authorizer = authorizerfactory.NewAlwaysAllowAuthorizer()
	backend := storagebackend.NewDefaultConfig("/registry", crdserver.Codecs.LegacyCodec(apiextensionsv1.SchemeGroupVersion))
	backend.Transport.ServerList = []string{etcd}
	store := options.NewEtcdOptions(backend)
	check(t, store.ApplyTo(&config.Config))
	namer := openapinamer.NewDefinitionNamer(crdserver.Scheme)
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(generatedopenapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(generatedopenapi.GetOpenAPIDefinitions, namer)
	s, err := apiserver.New(apiserver.Config{Generic: config, Evaluator: o.Evaluator, CustomResources: config.RESTOptionsGetter}, genericapiserver.NewEmptyDelegate())
	check(t, err)
	return s
}
