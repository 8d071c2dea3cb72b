package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// tlsFlags say how to speak TLS to a service.
type tlsFlags struct {
	TLSCA         string `name:"tls-ca" help:"PEM file with the authority of the service's certificate: speak TLS." placeholder:"FILE"`
	TLSServerName string `name:"tls-server-name" help:"The name in the service's certificate. Default: the address' host." placeholder:"NAME"`
	TLSClientCert string `name:"tls-client-cert" help:"PEM file with the client certificate to present." placeholder:"FILE"`
	TLSClientKey  string `name:"tls-client-key" help:"PEM file with its key." placeholder:"FILE"`
}

func (f *tlsFlags) set() bool { return *f != tlsFlags{} }

// config is nil for plain text.
func (f *tlsFlags) config() (*tls.Config, error) {
	if f.TLSCA == "" {
		if f.set() {
			return nil, errors.New("--tls-ca is needed to speak TLS")
		}
		return nil, nil
	}
	authority, err := os.ReadFile(f.TLSCA)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool(), ServerName: f.TLSServerName}
	if !config.RootCAs.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s has no certificate", f.TLSCA)
	}
	if f.TLSClientCert != "" || f.TLSClientKey != "" {
		identity, err := tls.LoadX509KeyPair(f.TLSClientCert, f.TLSClientKey)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{identity}
	}
	return config, nil
}
