// Command genuine serves CRDs and custom resources with upstream's k8s.io/apiextensions-apiserver, for comparisons with
// crdeval-apiserver. Both have the same authentication, authorization, TLS, OpenAPI and watch caches. genuine serves no
// namespaces, so that objects can be in any namespace.
//
// It writes the files of crdeval-apiserver to --data-dir, such as kubeconfig and admin-token, and ends with SIGINT or
// SIGTERM. Its profiles are at /debug/pprof.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	crdoptions "k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/klog/v2"

	"github.com/crdeval/crdeval/clients/apiserver/standalone"
)

func main() {
	address := flag.String("address", "127.0.0.1:0", "`ADDRESS` to listen on: an IP address and a port. Port 0: a free port.")
	etcd := flag.String("etcd-servers", "", "Comma-separated `URLS` of etcd. Required.")
	dir := flag.String("data-dir", "genuine-data", "`DIR` of the certificate, the admin token and the kubeconfig.")
	flag.Parse()
	if *etcd == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err := serve(genericapiserver.SetupSignalContext(), *address, strings.Split(*etcd, ","), *dir); err != nil {
		fmt.Fprintln(os.Stderr, "genuine:", err)
		os.Exit(1)
	}
}

// serve serves until the context ends.
func serve(ctx context.Context, address string, etcd []string, dir string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	bound := listener.Addr().(*net.TCPAddr)
	serving := options.NewSecureServingOptions().WithLoopback()
	serving.Listener, serving.BindPort, serving.BindAddress = listener, bound.Port, bound.IP
	serving.ServerCert.CertDirectory, serving.ServerCert.PairName = dir, "server"
	if err := serving.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{bound.IP}); err != nil {
		return err
	}
	token, err := standalone.AdminToken(filepath.Join(dir, "admin-token"))
	if err != nil {
		return err
	}
	transport := storagebackend.TransportConfig{ServerList: etcd}
	config := standalone.Config{Serving: serving, Etcd: transport, Authenticator: standalone.NewAuthenticator(token, nil, nil)}
	server, err := newServer(&config)
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(serving.ServerCert.CertKey.CertFile)
	if err != nil {
		return err
	}
	if err := standalone.WriteKubeconfig(filepath.Join(dir, "kubeconfig"), "https://"+bound.String(), token, ca); err != nil {
		return err
	}
	return server.GenericAPIServer.PrepareRun().RunWithContext(ctx)
}

// newServer builds upstream's server with the configuration of crdeval-apiserver.
func newServer(c *standalone.Config) (*crdserver.CustomResourceDefinitions, error) {
	generic, err := c.Generic()
	if err != nil {
		return nil, err
	}
	generic.MergedResourceConfig = crdserver.DefaultAPIResourceConfigSource()
	backend := storagebackend.NewDefaultConfig(standalone.DefaultPrefix, crdserver.Codecs.LegacyCodec(apiextensionsv1.SchemeGroupVersion))
	backend.Transport = c.Etcd
	stores := crdoptions.NewCRDRESTOptionsGetter(*options.NewEtcdOptions(backend), nil, generic.StorageObjectCountTracker)
	config := crdserver.Config{GenericConfig: generic, ExtraConfig: crdserver.ExtraConfig{
		CRDRESTOptionsGetter: stores, ServiceResolver: webhook.NewDefaultServiceResolver(),
	}}
	return config.Complete().New(genericapiserver.NewEmptyDelegate())
}
