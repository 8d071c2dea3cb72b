package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// TLSFiles name the PEM files of a server's TLS. They may be replaced while the server runs, as cert-manager does.
type TLSFiles struct {
	Certificate string // the certificate, leaf first, with its intermediates
	Key         string // its private key
	ClientCA    string // if not empty: clients must present a certificate that one of these authorities signed
}

// Enabled says whether there is any TLS to speak of.
func (f TLSFiles) Enabled() bool { return f != TLSFiles{} }

// Validate checks that the combination makes sense; what the files hold NewTLS checks.
func (f TLSFiles) Validate() error {
	if f.Enabled() && (f.Certificate == "" || f.Key == "") {
		return errors.New("TLS needs both a certificate and a key; a client CA alone protects nothing")
	}
	return nil
}

// TLS serves the certificate that the files hold at the moment of each handshake.
type TLS struct {
	files   TLSFiles
	current *rotating[*tls.Config]
}

// NewTLS reads the files. Every one that is named must exist and be valid: nothing is ever silently switched off.
func NewTLS(f TLSFiles) (*TLS, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	if !f.Enabled() {
		return nil, errors.New("TLS without a certificate")
	}
	paths := []string{f.Certificate, f.Key}
	if f.ClientCA != "" {
		paths = append(paths, f.ClientCA)
	}
	current, err := newRotating(paths, f.parse)
	if err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return &TLS{files: f, current: current}, nil
}

func (f TLSFiles) parse(contents [][]byte) (*tls.Config, error) {
	certificate, err := tls.X509KeyPair(contents[0], contents[1])
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w", f.Certificate, f.Key, err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}
	if f.ClientCA != "" {
		c.ClientCAs = x509.NewCertPool()
		if !c.ClientCAs.AppendCertsFromPEM(contents[2]) {
			return nil, fmt.Errorf("client CA %s: no certificate in it", f.ClientCA)
		}
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return c, nil
}

// Config returns the configuration of a server that speaks the given protocols (ALPN). It takes every handshake's certificate from the
// files as they were last read.
func (t *TLS) Config(protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			c := t.current.get().Clone()
			c.NextProtos = protocols
			return c, nil
		},
	}
}

// Reload reads the files again now; Run does so regularly.
func (t *TLS) Reload() error {
	_, err := t.current.reload()
	return err
}

// Run reads the files again every PollInterval until ctx ends.
func (t *TLS) Run(ctx context.Context, log *slog.Logger) {
	t.current.poll(ctx, PollInterval, "the TLS certificate", log)
}

// Expires says when the certificate that is served expires, for metrics.
func (t *TLS) Expires() time.Time {
	if leaf := t.current.get().Certificates[0].Leaf; leaf != nil {
		return leaf.NotAfter
	}
	return time.Time{}
}
