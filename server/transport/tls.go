package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// TLSFiles are the PEM files of a server. They may be replaced while the server runs.
type TLSFiles struct {
	Certificate string // leaf first, then intermediates
	Key         string // private key of the certificate
	ClientCA    string // CAs of client certificates; "": clients need none
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
	current *rotating[*tls.Config]
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
	current, err := newRotating(paths, f.parse)
	if err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return &TLS{current}, nil
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
			return nil, fmt.Errorf("client CA %s: the file has no certificate", f.ClientCA)
		}
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return c, nil
}

// Config returns the configuration of a server for the given protocols (ALPN).
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

// Run reads the files again every PollInterval until ctx ends.
func (t *TLS) Run(ctx context.Context, log *slog.Logger) {
	t.current.poll(ctx, PollInterval, "the TLS certificate", log)
}

// Expires returns when the certificate expires.
func (t *TLS) Expires() time.Time {
	if leaf := t.current.get().Certificates[0].Leaf; leaf != nil {
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

// PollInterval is how often rotated files are read again. Polling is reliable: mounted secrets change by a symbolic
// link two directories up, and file events can be missed.
const PollInterval = 10 * time.Second

// rotating is a value parsed from files. It is parsed again after their content changes.
type rotating[T any] struct {
	paths []string
	parse func(contents [][]byte) (T, error)
	last  [][]byte
	value atomic.Pointer[T]
}

// newRotating reads the files for the first time.
func newRotating[T any](paths []string, parse func([][]byte) (T, error)) (*rotating[T], error) {
	r := &rotating[T]{paths: paths, parse: parse}
	if _, err := r.reload(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *rotating[T]) get() T { return *r.value.Load() }

// reload parses the files if one has changed. After an error, it keeps the value.
func (r *rotating[T]) reload() (changed bool, err error) {
	contents := make([][]byte, len(r.paths))
	same := r.last != nil
	for i, path := range r.paths {
		if contents[i], err = os.ReadFile(path); err != nil {
			return false, err
		}
		same = same && bytes.Equal(contents[i], r.last[i])
	}
	if same {
		return false, nil
	}
	v, err := r.parse(contents)
	if err != nil {
		return false, err
	}
	r.last = contents
	r.value.Store(&v)
	return true, nil
}

// poll reloads regularly until ctx ends. It logs each error once.
func (r *rotating[T]) poll(ctx context.Context, interval time.Duration, what string, log *slog.Logger) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	logged := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		switch changed, err := r.reload(); {
		case err != nil && err.Error() != logged:
			logged = err.Error()
			log.ErrorContext(ctx, "cannot reload "+what+"; the previously loaded version stays in use", "error", err)
		case err == nil:
			logged = ""
			if changed {
				log.InfoContext(ctx, "reloaded "+what)
			}
		}
	}
}
