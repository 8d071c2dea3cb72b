//go:build cluster

package cluster

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/util/cert"
)

// certificate is valid for 127.0.0.1 and localhost.
type certificate struct {
	file, keyFile string
	pem           []byte // with the authority that signed it
}

func newCertificate(t *testing.T) certificate {
	t.Helper()
	public, private, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	c := certificate{filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem"), public}
	for file, content := range map[string][]byte{c.file: public, c.keyFile: private} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return c
}
