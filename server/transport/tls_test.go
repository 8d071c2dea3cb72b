package transport

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/crdeval/crdeval/server/internal/testcert"
)

// secretDir is a mounted Kubernetes secret: the names are links into ..data, which is a link to a directory that is exchanged at once.
type secretDir struct {
	path string
	n    int
}

func (d *secretDir) write(t *testing.T, files map[string][]byte) {
	t.Helper()
	d.n++
	version := filepath.Join(d.path, strings.Repeat("v", d.n))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(version, 0o700))
	for name, content := range files {
		must(os.WriteFile(filepath.Join(version, name), content, 0o600))
	}
	must(os.Symlink(version, filepath.Join(d.path, "..tmp")))
	must(os.Rename(filepath.Join(d.path, "..tmp"), filepath.Join(d.path, "..data")))
	if d.n == 1 {
		for name := range files {
			must(os.Symlink(filepath.Join("..data", name), filepath.Join(d.path, name)))
		}
	}
}

func TestTLSRotation(t *testing.T) {
	ca, clientCA := testcert.New(t), testcert.New(t)
	dir := &secretDir{path: t.TempDir()}
	cert, key := ca.Issue(t, "first", time.Hour)
	dir.write(t, map[string][]byte{"tls.crt": cert, "tls.key": key, "ca.crt": clientCA.PEM})
	files := TLSFiles{Certificate: filepath.Join(dir.path, "tls.crt"), Key: filepath.Join(dir.path, "tls.key"), ClientCA: filepath.Join(dir.path, "ca.crt")}
	secure, err := NewTLS(files)
	if err != nil {
		t.Fatal(err)
	}
	if until := time.Until(secure.Expires()); until < 50*time.Minute || until > time.Hour {
		t.Errorf("expires in %v", until)
	}
	addr, _ := serve(t, ServerOptions{TLS: secure, Log: quiet()}, &echo{handle: same}, "localhost:0")
	target := "localhost:" + addr.(*net.TCPAddr).AddrPort().String()[strings.LastIndex(addr.String(), ":")+1:]
	identity := clientCA.Pair(t, "client", time.Hour)
	// connect makes a new connection and returns the name in the certificate it was shown.
	connect := func(certificates ...tls.Certificate) (name string, err error) {
		config := &tls.Config{RootCAs: ca.Pool, Certificates: certificates, ServerName: "localhost", VerifyConnection: func(s tls.ConnectionState) error {
			name = s.PeerCertificates[0].Subject.CommonName
			return nil
		}}
		_, err = invoke(t.Context(), dial(t, target, credentials.NewTLS(config)), "")
		return name, err
	}
	if name, err := connect(identity); name != "first" || err != nil {
		t.Errorf("%s, %v", name, err)
	}
	if _, err := connect(); err == nil {
		t.Error("a client without a certificate got through")
	}
	if _, err := connect(testcert.New(t).Pair(t, "stranger", time.Hour)); err == nil {
		t.Error("a client of another authority got through")
	}
	if _, err := invoke(t.Context(), dial(t, target, insecure.NewCredentials()), ""); err == nil {
		t.Error("plaintext got through")
	}

	cert2, key2 := ca.Issue(t, "second", time.Hour)
	dir.write(t, map[string][]byte{"tls.crt": cert2, "tls.key": key2, "ca.crt": clientCA.PEM})
	if _, err := secure.current.Reload(); err != nil {
		t.Fatal(err)
	}
	if name, err := connect(identity); name != "second" || err != nil {
		t.Errorf("after rotation: %s, %v", name, err)
	}
	// A half-written pair, a missing or an empty CA: what was loaded stays, client checks included.
	for name, broken := range map[string]map[string][]byte{
		"a key of another certificate": {"tls.crt": cert2, "tls.key": key, "ca.crt": clientCA.PEM},
		"no CA":                        {"tls.crt": cert, "tls.key": key},
		"an empty CA":                  {"tls.crt": cert, "tls.key": key, "ca.crt": nil},
	} {
		dir.write(t, broken)
		if _, err := secure.current.Reload(); err == nil {
			t.Errorf("%s: no error", name)
		}
		if shown, err := connect(identity); shown != "second" || err != nil {
			t.Errorf("%s: %s, %v", name, shown, err)
		}
		if _, err := connect(); err == nil {
			t.Errorf("%s: client checks are off", name)
		}
	}
}

func TestUnixSocketsNeedNoTLS(t *testing.T) {
	ca := testcert.New(t)
	cert, key := ca.Issue(t, "first", time.Hour)
	dir := t.TempDir()
	files := TLSFiles{Certificate: filepath.Join(dir, "crt"), Key: filepath.Join(dir, "key")}
	if err := os.WriteFile(files.Certificate, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files.Key, key, 0o600); err != nil {
		t.Fatal(err)
	}
	secure, err := NewTLS(files)
	if err != nil {
		t.Fatal(err)
	}
	socket := "unix://" + filepath.Join(dir, "s")
	serve(t, ServerOptions{TLS: secure, Log: quiet()}, &echo{handle: same}, socket)
	if got, err := invoke(t.Context(), dial(t, socket, insecure.NewCredentials()), "x"); got != "x" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestHTTPS(t *testing.T) {
	ca := testcert.New(t)
	cert, key := ca.Issue(t, "first", time.Hour)
	dir := t.TempDir()
	files := TLSFiles{Certificate: filepath.Join(dir, "crt"), Key: filepath.Join(dir, "key"), ClientCA: filepath.Join(dir, "ca")}
	for path, content := range map[string][]byte{files.Certificate: cert, files.Key: key, files.ClientCA: ca.PEM} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	secure, err := NewTLS(files)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen(t.Context(), "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	s := NewHTTPServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }), quiet())
	done := make(chan error, 1)
	go func() { done <- s.Serve(SecureHTTP(l, secure)) }()
	identity, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		certificates []tls.Certificate
		http2        bool
		want         string // "" if rejected
	}{
		"HTTP/2":         {[]tls.Certificate{identity}, true, "HTTP/2.0"},
		"HTTP/1.1":       {[]tls.Certificate{identity}, false, "HTTP/1.1"},
		"no certificate": {nil, true, ""},
	} {
		transport := &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: ca.Pool, ServerName: "localhost", Certificates: tc.certificates},
			ForceAttemptHTTP2: tc.http2,
		}
		resp, err := (&http.Client{Transport: transport}).Get("https://" + l.Addr().String())
		got := ""
		if err == nil {
			body, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			got = string(body)
		}
		if got != tc.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		transport.CloseIdleConnections()
	}
	if !DrainHTTP(t.Context(), s) {
		t.Error("not graceful")
	}
	<-done
}

func TestTLSFilesAreNeverIgnored(t *testing.T) {
	ca := testcert.New(t)
	cert, key := ca.Issue(t, "first", time.Hour)
	dir := t.TempDir()
	path := func(name string, content []byte) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	c, k, empty, missing := path("crt", cert), path("key", key), path("empty", nil), filepath.Join(dir, "missing")
	for name, files := range map[string]TLSFiles{
		"nothing":                   {},
		"certificate alone":         {Certificate: c},
		"key alone":                 {Key: k},
		"client CA alone":           {ClientCA: c},
		"missing certificate":       {Certificate: missing, Key: k},
		"missing client CA":         {Certificate: c, Key: k, ClientCA: missing},
		"empty client CA":           {Certificate: c, Key: k, ClientCA: empty},
		"key as certificate":        {Certificate: k, Key: k},
		"certificate as a CA's key": {Certificate: c, Key: c},
	} {
		if _, err := NewTLS(files); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestSuites checks over real handshakes that clients get no suite without authenticated encryption and forward secrecy.
func TestSuites(t *testing.T) {
	ca := testcert.New(t)
	cert, key := ca.Issue(t, "first", time.Hour)
	directory := t.TempDir()
	files := TLSFiles{Certificate: filepath.Join(directory, "tls.crt"), Key: filepath.Join(directory, "tls.key")}
	for path, text := range map[string][]byte{files.Certificate: cert, files.Key: key} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	secure, err := NewTLS(files)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen(t.Context(), "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	l = SecureHTTP(l, secure)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.(*tls.Conn).HandshakeContext(t.Context())
			_ = conn.Close()
		}
	}()
	defer func() { _ = l.Close(); <-done }()
	accepted := 0
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if slices.Contains(suite.SupportedVersions, tls.VersionTLS13) {
			continue
		}
		d := tls.Dialer{Config: &tls.Config{
			RootCAs: ca.Pool, ServerName: "localhost", MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite.ID},
		}}
		conn, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
		if err == nil {
			accepted++
			_ = conn.Close()
		}
		modern := strings.HasPrefix(suite.Name, "TLS_ECDHE_ECDSA_") && (strings.Contains(suite.Name, "_GCM_") || strings.Contains(suite.Name, "_CHACHA20_"))
		if (err == nil) != modern {
			t.Errorf("%s: %v", suite.Name, err)
		}
	}
	for _, version := range []uint16{tls.VersionTLS10, tls.VersionTLS11} {
		d := tls.Dialer{Config: &tls.Config{RootCAs: ca.Pool, ServerName: "localhost", MinVersion: tls.VersionTLS10, MaxVersion: version}}
		if conn, err := d.DialContext(t.Context(), "tcp", l.Addr().String()); err == nil {
			_ = conn.Close()
			t.Errorf("TLS version %x is accepted", version)
		}
	}
	if accepted != 3 {
		t.Errorf("%d suites are accepted", accepted)
	}
}
