package etcd_test

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/crdeval/crdeval/server/internal/testcert"
)

// newCertificate returns flags of etcd with a new certificate, and a TLS configuration with it. Server and clients share
// it.
func newCertificate(t *testing.T) (flags []string, config *tls.Config) {
	t.Helper()
	ca := testcert.New(t)
	cert, key := ca.Issue(t, "etcd", time.Hour)
	dir := t.TempDir()
	for name, text := range map[string][]byte{"cert": cert, "key": key, "trusted-ca": ca.PEM} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		flags = append(flags, "--"+name+"-file="+file)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return flags, &tls.Config{RootCAs: ca.Pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
}
