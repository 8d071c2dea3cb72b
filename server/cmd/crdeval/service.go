package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	crdeval "github.com/crdeval/crdeval/clients/go"
)

// serviceFlags select what evaluates: the engine in this process, or the service of --server.
type serviceFlags struct {
	Kubernetes kubernetesVersion `help:"Check CRDs as this version of Kubernetes does, such as 1.34. Default: the latest supported version." placeholder:"VERSION"`
	Server     string            `help:"Use the service at HOST:PORT or unix:///PATH (gRPC). Default: evaluate in this process." placeholder:"ADDRESS"`
	Catalog    string            `default:"default" placeholder:"NAME" help:"Catalog of the service. Needs --server."`
	Token      string            `help:"Bearer token. Needs --server. Prefer the environment variable." placeholder:"TOKEN"`
	tlsFlags
}

// validate checks the combination of flags.
func (f *serviceFlags) validate() error {
	switch {
	case f.Server == "" && (f.Catalog != "default" || f.Token != "" || f.set()):
		return errors.New("--catalog, --token and the TLS flags need --server")
	case f.Server != "" && f.Kubernetes != "":
		return errors.New("--kubernetes cannot be used with --server: the catalog determines the version")
	}
	return nil
}

// eitherFilesOrServer is validate for commands about the CRDs of files, or about those of a service.
func (f *serviceFlags) eitherFilesOrServer(files []string, missing string) error {
	switch {
	case f.Server == "" && len(files) == 0:
		return errors.New(missing)
	case f.Server != "" && len(files) > 0:
		return errors.New("files cannot be used with --server: register their CRDs with the service instead")
	}
	return f.validate()
}

// service is a client of the service of --server.
type service struct {
	*crdeval.Client
	address string
	catalog string
	given   inlineCRDs // that each request brings
}

// dial returns a client of the service of --server. The caller closes it.
func (f *serviceFlags) dial() (*service, error) {
	config, err := f.config()
	if err != nil {
		return nil, err
	}
	options := []crdeval.Option{crdeval.WithCatalog(f.Catalog)}
	if config != nil {
		options = append(options, crdeval.WithTLS(config))
	}
	if f.Token != "" {
		options = append(options, crdeval.WithToken(f.Token))
	}
	client, err := crdeval.Dial(dialTarget(f.Server), options...)
	if err != nil {
		return nil, callError("", "", errors.New(strings.ReplaceAll(err.Error(), "WithTLS", "--tls or --tls-ca")))
	}
	return &service{Client: client, address: f.Server, catalog: f.Catalog}, nil
}

func (s *service) close() { _ = s.Close() }

// dialTarget returns the target for an address that a service listens on: ":9090" means this host.
func dialTarget(address string) string {
	if strings.HasPrefix(address, "unix:") {
		return address
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}

// tlsFlags configure TLS connections to a service.
type tlsFlags struct {
	TLS           bool   `name:"tls" help:"Use TLS, and trust the CAs of the system."`
	TLSCA         string `name:"tls-ca" help:"PEM file with the CA of the service's certificate. Enables TLS, and replaces the CAs of the system." placeholder:"FILE"`
	TLSServerName string `name:"tls-server-name" help:"Name in the service's certificate. Default: the host of the address." placeholder:"NAME"`
	TLSClientCert string `name:"tls-client-cert" help:"PEM file with the client certificate." placeholder:"FILE"`
	TLSClientKey  string `name:"tls-client-key" help:"PEM file with the key of the client certificate." placeholder:"FILE"`
}

func (f *tlsFlags) set() bool { return *f != tlsFlags{} }

// config returns nil for a connection without TLS.
func (f *tlsFlags) config() (*tls.Config, error) {
	if !f.set() {
		return nil, nil
	}
	if !f.TLS && f.TLSCA == "" {
		return nil, errors.New("TLS needs --tls or --tls-ca")
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.TLSServerName}
	if f.TLSCA != "" {
		authority, err := os.ReadFile(f.TLSCA)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(authority) {
			return nil, fmt.Errorf("%s has no certificate", f.TLSCA)
		}
	}
	if f.TLSClientCert != "" || f.TLSClientKey != "" {
		pair, err := tls.LoadX509KeyPair(f.TLSClientCert, f.TLSClientKey)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
