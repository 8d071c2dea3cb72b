package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	crdeval "github.com/crdeval/crdeval/clients/go"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/localregistry"
	"github.com/crdeval/crdeval/server/registry"
)

// serviceFlags select the service that evaluates: one in this process, or the one of --server.
type serviceFlags struct {
	KubernetesMinor int    `default:"0" help:"Check CRDs as Kubernetes 1.N does. Default: the latest supported version." placeholder:"N"`
	Server          string `help:"Use the service at HOST:PORT or unix:///PATH (gRPC). Default: evaluate in this process." placeholder:"ADDRESS"`
	Catalog         string `default:"default" help:"Catalog of the service. Needs --server."`
	Token           string `help:"Bearer token. Needs --server. Prefer the environment variable." placeholder:"TOKEN"`
	tlsFlags
}

// validate checks the combination of flags.
func (f *serviceFlags) validate() error {
	switch {
	case f.Server == "" && (f.Catalog != "default" || f.Token != "" || f.set()):
		return errors.New("--catalog, --token and the TLS flags need --server")
	case f.Server != "" && f.KubernetesMinor != 0:
		return errors.New("--kubernetes-minor cannot be used with --server: the catalog determines the version")
	}
	return validateMinor(f.KubernetesMinor)
}

// validateMinor checks --kubernetes-minor.
func validateMinor(minor int) error {
	if minor != 0 && (minor < engine.OldestMinor || minor > engine.LatestMinor) {
		return fmt.Errorf("--kubernetes-minor is %d: it must be from %d to %d", minor, engine.OldestMinor, engine.LatestMinor)
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

// service is a client of a crdeval service.
type service struct {
	*crdeval.Client
	address    string // "" for the service in this process
	catalog    string
	local      *localregistry.Registry        // nil for --server
	inline     [][]byte                       // CRDs and conversion rules that each request brings
	inlineCRDs map[string]bool                // the names of these CRDs
	converted  map[string]*workspace.Manifest // conversion rules of this run by the name of their CRD
	strictness crdevalv1.FieldValidation      // of CRDs
	close      func()
}

// testedObjects is the number of generated objects on which the laws of the rules of files are tested, for each pair of
// versions and direction. Tests of other subjects use fewer.
var testedObjects = registry.TestedObjects

// newLocalService starts a service in this process.
func newLocalService(minor int) *service {
	conn, local := localregistry.Start(minor, testedObjects)
	return &service{
		Client: crdeval.New(conn, "default"), catalog: "default", local: local, converted: map[string]*workspace.Manifest{},
		close: conn.Stop,
	}
}

// connect returns a client of the selected service. The caller closes it.
func (f *serviceFlags) connect() (*service, error) {
	if f.Server == "" {
		return newLocalService(f.KubernetesMinor), nil
	}
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
	return &service{
		Client: client, address: f.Server, catalog: f.Catalog, inlineCRDs: map[string]bool{}, converted: map[string]*workspace.Manifest{},
		close: func() { _ = client.Close() },
	}, nil
}

// registered is the answer to a registration or a check of a CRD.
type registered interface {
	GetAccepted() bool
	GetReport() *crdevalv1.CrdReport
	GetCrd() *crdevalv1.Crd
}

// register registers a CRD with a service in this process. A remote service only checks it: then requests bring it.
func (s *service) register(ctx context.Context, crd *workspace.Manifest, adopt bool) (registered, error) {
	if s.local != nil {
		s.local.Adopts = adopt
		return s.Registry().RegisterCrd(ctx,
			&crdevalv1.RegisterCrdRequest{Catalog: s.catalog, Manifest: toDocument(crd.Document), FieldValidation: s.strictness})
	}
	answer, err := s.Registry().CheckCrd(ctx,
		&crdevalv1.CheckCrdRequest{Catalog: s.catalog, Manifest: toDocument(crd.Document), FieldValidation: s.strictness})
	if err == nil && answer.GetAccepted() {
		s.inline = append(s.inline, crd.JSON())
		s.inlineCRDs[crd.Name] = true
	}
	return answer, err
}

// publishedExitCodes are the exit codes of commands about published CRDs.
const publishedExitCodes = `

Exit code 0: success. Exit code 1: a CRD is rejected. It is reported on stderr and omitted. Exit code 2: a document could not be read, or the usage is wrong.`

// missingFiles is the error for a command without files and without --server.
const missingFiles = `expected "<file> ...", or --server`

// registerAndPrint registers the CRDs of files, if any, calls print, and returns errRejected if a CRD was rejected.
func (f *serviceFlags) registerAndPrint(ctx context.Context, env environment, files []string,
	print func(*service) error) error {
	s, err := f.connect()
	if err != nil {
		return err
	}
	defer s.close()
	crds, err := env.files(false).CRDs(ctx, files...)
	if err != nil {
		return err
	}
	rejected := false
	for _, crd := range crds {
		j := s.registerCRD(ctx, crd, crd.AsCRD().Established)
		switch {
		case j.Error != "":
			return fmt.Errorf("%s: %s", crd.Where(), j.Error)
		case !j.Accepted:
			rejected = true
			if err := j.print(env.stderr); err != nil {
				return err
			}
		}
	}
	if err := print(s); err != nil || !rejected {
		return err
	}
	return errRejected
}

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
