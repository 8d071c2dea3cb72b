package e2e

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/crdeval/crdeval/clients/apiserver"
	"github.com/crdeval/crdeval/clients/apiserver/standalone"
)

const token = "0123456789abcdef0123456789abcdef"

// startServer starts a server with the resources of crdeval-apiserver, and writes a kubeconfig. The result is the
// configuration of a client. The server stops at the end of the test.
func startServer(t testing.TB, e apiserver.Evaluator, kubeconfig string) (*rest.Config, error) {
	t.Helper()
	dir := t.TempDir()
	etcd, err := standalone.StartEtcd(filepath.Join(dir, "etcd"), false)
	if err != nil {
		return nil, err
	}
	t.Cleanup(etcd.Close)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().(*net.TCPAddr)
	serving := options.NewSecureServingOptions().WithLoopback()
	serving.Listener, serving.BindPort, serving.BindAddress = listener, address.Port, address.IP
	serving.ServerCert.CertDirectory, serving.ServerCert.PairName = dir, "server"
	if err := serving.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{address.IP}); err != nil {
		return nil, err
	}
	s, err := standalone.New(standalone.Config{
		Evaluator: e, Serving: serving, Etcd: etcd.Transport(), Core: true,
		Authenticator: standalone.NewAuthenticator(token, nil, nil),
	})
	if err != nil {
		return nil, err
	}
	run(t, s)
	client, err := kubernetes.NewForConfig(s.LoopbackClientConfig)
	if err != nil {
		return nil, err
	}
	err = wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		return client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil, nil
	})
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(serving.ServerCert.CertKey.CertFile)
	if err != nil {
		return nil, err
	}
	return s.LoopbackClientConfig, standalone.WriteKubeconfig(kubeconfig, "https://"+address.String(), token, ca)
}

// run runs a server until the end of the test.
func run(t testing.TB, s *apiserver.Server) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- s.PrepareRun().RunWithContext(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Errorf("API server: %v", err)
		}
	})
}
