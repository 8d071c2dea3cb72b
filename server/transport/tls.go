package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/crdeval/crdeval/server/reload"
)

// TLSFiles are the PEM files of a server. They may be replaced while the server runs.
type TLSFiles struct {
	Certificate string // leaf first, then intermediates
	Key         string // private key of the certificate
	ClientCA    string // CAs of client certificates; "": clients present no certificate
	// OptionalClient lets clients connect without a certificate. A certificate that they present must be valid.
	OptionalClient bool
}

// Enabled reports whether TLS is configured.
func (f TLSFiles) Enabled() bool { return f != TLSFiles{} }

// Validate checks which files are configured. NewTLS checks their content.
func (f TLSFiles) Validate() error {
	if f.Enabled() && (f.Certificate == "" || f.Key == "") {
		return errors.New("TLS needs a certificate and a key, also with a client CA")
	}
	return nil
}

// TLS serves the certificate that the files have at the time of each handshake.
type TLS struct {
	current *reload.Value[*tls.Config]
}

// NewTLS reads the files.
func NewTLS(f TLSFiles) (*TLS, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	if !f.Enabled() {
		return nil, errors.New("TLS needs a certificate")
	}
	paths := []string{f.Certificate, f.Key}
	if f.ClientCA != "" {
		paths = append(paths, f.ClientCA)
	}
	current, err := reload.New(paths, f.parse)
	if err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return &TLS{current}, nil
}

// suites are the TLS 1.2 cipher suites with authenticated encryption and forward secrecy. All cipher suites of TLS 1.3
// have both.
var suites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

func (f TLSFiles) parse(contents [][]byte) (*tls.Config, error) {
	certificate, err := tls.X509KeyPair(contents[0], contents[1])
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w", f.Certificate, f.Key, err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, CipherSuites: suites, Certificates: []tls.Certificate{certificate}}
	if f.ClientCA != "" {
		c.ClientCAs = x509.NewCertPool()
		if !c.ClientCAs.AppendCertsFromPEM(contents[2]) {
			return nil, fmt.Errorf("client CA %s: the file has no certificate", f.ClientCA)
		}
		c.ClientAuth = tls.RequireAndVerifyClientCert
		if f.OptionalClient {
			c.ClientAuth = tls.VerifyClientCertIfGiven
		}
	}
	return c, nil
}

// Config returns the configuration of a server for the given protocols (ALPN).
func (t *TLS) Config(protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			c := t.current.Get().Clone()
			c.NextProtos = protocols
			return c, nil
		},
	}
}

// Run reads the files again every reload.Interval until ctx ends.
func (t *TLS) Run(ctx context.Context, log *slog.Logger) {
	reload.Run(ctx, reload.Interval, func() { t.current.Poll(ctx, "the TLS certificate", log) })
}

// Expires returns when the certificate expires.
func (t *TLS) Expires() time.Time {
	if leaf := t.current.Get().Certificates[0].Leaf; leaf != nil {
		return leaf.NotAfter
	}
	return time.Time{}
}

// tcpOnly uses TLS for TCP only. Connections over unix sockets do not cross a network; the permissions of the socket
// restrict them.
type tcpOnly struct {
	credentials.TransportCredentials // for TCP
	plain                            credentials.TransportCredentials
}

// credentialsOf returns the credentials of a gRPC server. t may be nil.
func credentialsOf(t *TLS) credentials.TransportCredentials {
	plain := insecure.NewCredentials()
	if t == nil {
		return plain
	}
	return tcpOnly{TransportCredentials: credentials.NewTLS(t.Config("h2")), plain: plain}
}

// ServerHandshake implements credentials.TransportCredentials.
func (c tcpOnly) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if conn.LocalAddr().Network() != "tcp" {
		return c.plain.ServerHandshake(conn)
	}
	return c.TransportCredentials.ServerHandshake(conn)
}

// Clone implements credentials.TransportCredentials.
func (c tcpOnly) Clone() credentials.TransportCredentials {
	return tcpOnly{TransportCredentials: c.TransportCredentials.Clone(), plain: c.plain.Clone()}
}
