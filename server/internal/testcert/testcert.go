// Package testcert issues certificates for tests.
package testcert

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"testing"
	"time"
)

// CA signs certificates.
type CA struct {
	PEM  []byte // the certificate
	Pool *x509.CertPool
	tls.Certificate
}

// New returns a new CA.
func New(t testing.TB) *CA {
	t.Helper()
	text, key := create(t, nil, &x509.Certificate{
		Subject: pkix.Name{CommonName: "test CA"}, NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return &CA{PEM: text, Pool: pool, Certificate: pair(t, text, key)}
}

// Issue returns a certificate with a common name and its key in PEM. The certificate is for clients, and for servers at
// localhost and 127.0.0.1.
func (ca *CA) Issue(t testing.TB, name string, validFor time.Duration) (certificate, key []byte) {
	t.Helper()
	return create(t, ca, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(validFor),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
}

// Pair returns a certificate of Issue with its key.
func (ca *CA) Pair(t testing.TB, name string, validFor time.Duration) tls.Certificate {
	t.Helper()
	certificate, key := ca.Issue(t, name, validFor)
	return pair(t, certificate, key)
}

func pair(t testing.TB, certificate, key []byte) tls.Certificate {
	t.Helper()
	p, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// create creates a key and its certificate. ca is nil for a CA itself.
func create(t testing.TB, ca *CA, template *x509.Certificate) (certificate, key []byte) {
	t.Helper()
	template.NotBefore = template.NotAfter.Add(-48 * time.Hour)
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent, signer := template, crypto.PrivateKey(private)
	if ca != nil {
		parent, signer = ca.Leaf, ca.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, private.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}
