package transport

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// patience is the longest wait of a test. Only a server that hangs exceeds it.
const patience = 5 * time.Minute

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a service with one call, whose behaviour each test sets.
type echo struct {
	handle func(context.Context, *wrapperspb.BytesValue) (*wrapperspb.BytesValue, error)
}

var echoService = grpc.ServiceDesc{
	ServiceName: "test.Echo",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{
		MethodName: "Call",
		Handler: func(srv any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
			in := new(wrapperspb.BytesValue)
			if err := decode(in); err != nil {
				return nil, err
			}
			info := &grpc.UnaryServerInfo{Server: srv, FullMethod: "/test.Echo/Call"}
			return intercept(ctx, in, info, func(ctx context.Context, req any) (any, error) {
				return srv.(*echo).handle(ctx, req.(*wrapperspb.BytesValue))
			})
		},
	}},
	Streams: []grpc.StreamDesc{{
		StreamName: "Stream", ServerStreams: true, ClientStreams: true,
		Handler: func(srv any, ss grpc.ServerStream) error {
			_, err := srv.(*echo).handle(ss.Context(), nil)
			return err
		},
	}},
}

func call(ctx context.Context, c *grpc.ClientConn, payload string) (string, error) {
	out := new(wrapperspb.BytesValue)
	err := c.Invoke(ctx, "/test.Echo/Call", wrapperspb.Bytes([]byte(payload)), out)
	return string(out.GetValue()), err
}

func stream(ctx context.Context, c *grpc.ClientConn) error {
	s, err := c.NewStream(ctx, &echoService.Streams[0], "/test.Echo/Stream")
	if err != nil {
		return err
	}
	if err = s.RecvMsg(new(wrapperspb.BytesValue)); errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// serve starts a server on an address and returns how to stop it.
func serve(t *testing.T, o ServerOptions, e *echo, address string) (net.Addr, *grpc.Server) {
	t.Helper()
	l, err := Listen(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(o)
	s.RegisterService(&echoService, e)
	healthpb.RegisterHealthServer(s, health.NewServer())
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr(), s
}

func dial(t *testing.T, target string, c credentials.TransportCredentials, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(target, append(options, grpc.WithTransportCredentials(c))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func same(_ context.Context, in *wrapperspb.BytesValue) (*wrapperspb.BytesValue, error) {
	return in, nil
}

// reasonOf returns the reason in a status' details.
func reasonOf(err error) string {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetDomain() == "crdeval.dev" {
			return info.GetReason()
		}
	}
	return ""
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestParseAddress(t *testing.T) {
	for _, tc := range []struct{ address, network, target string }{
		{"localhost:9090", "tcp", "localhost:9090"}, {":9090", "tcp", ":9090"}, {"[::1]:0", "tcp", "[::1]:0"},
		{"unix:///run/x.sock", "unix", "/run/x.sock"}, {"unix://relative", "", ""}, {"localhost", "", ""}, {"", "", ""},
	} {
		network, target, err := ParseAddress(tc.address)
		if network != tc.network || target != tc.target || (err == nil) != (tc.network != "") {
			t.Errorf("%q: %q %q %v", tc.address, network, target, err)
		}
	}
}

func TestUnixSockets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	first, err := Listen(t.Context(), "unix://"+path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != SocketMode {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := Listen(t.Context(), "unix://"+path); err == nil || !strings.Contains(err.Error(), "another process uses the socket") {
		t.Errorf("got %v", err)
	}
	// What kill -9 leaves: the file without the listener.
	first.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = first.Close()
	second, err := Listen(t.Context(), "unix://"+path)
	if err != nil {
		t.Fatal(err)
	}
	_ = second.Close()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(t.Context(), "unix://"+path); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("got %v", err)
	}
}

func TestInterceptors(t *testing.T) {
	var logged bytes.Buffer
	e := &echo{handle: same}
	addr, _ := serve(t, ServerOptions{MaxMessageBytes: 1000, Log: slog.New(slog.NewTextHandler(&logged, nil))}, e, "localhost:0")
	c := dial(t, addr.String(), insecure.NewCredentials())
	if got, err := call(t.Context(), c, "hello"); got != "hello" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := call(t.Context(), c, strings.Repeat("x", 1001)); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("too large a request: %v", err)
	}
	e.handle = func(context.Context, *wrapperspb.BytesValue) (*wrapperspb.BytesValue, error) {
		return wrapperspb.Bytes(make([]byte, 1001)), nil
	}
	if _, err := call(t.Context(), c, ""); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("too large a response: %v", err)
	}
	e.handle = func(context.Context, *wrapperspb.BytesValue) (*wrapperspb.BytesValue, error) { panic("secret ouch") }
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-request-id", "r17")
	for name, err := range map[string]error{"unary": func() error { _, err := call(ctx, c, ""); return err }(), "stream": stream(ctx, c)} {
		if status.Code(err) != codes.Internal || reasonOf(err) != "INTERNAL" || strings.Contains(err.Error(), "ouch") {
			t.Errorf("%s: a panic became %v", name, err)
		}
	}
	if n := strings.Count(logged.String(), "request_id=r17"); n != 2 {
		t.Errorf("the access log has %d calls by their names:\n%s", n, &logged)
	}
	if n := strings.Count(logged.String(), "secret ouch"); n != 2 || !strings.Contains(logged.String(), "transport_test.go") {
		t.Errorf("the log has %d panics:\n%s", n, &logged)
	}
}

// TestRequestIDsAreBounded: a caller cannot fill the log with its request ID.
func TestRequestIDsAreBounded(t *testing.T) {
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	addr, _ := serve(t, ServerOptions{Log: log}, &echo{handle: same}, "localhost:0")
	c := dial(t, addr.String(), insecure.NewCredentials())
	for _, id := range []string{strings.Repeat("a", 128), strings.Repeat("b", 129)} {
		if _, err := call(metadata.AppendToOutgoingContext(t.Context(), "x-request-id", id), c, ""); err != nil {
			t.Fatal(err)
		}
	}
	ids := regexp.MustCompile(`request_id=(\S+)`).FindAllStringSubmatch(logged.String(), -1)
	if len(ids) != 2 || ids[0][1] != strings.Repeat("a", 128) || strings.HasPrefix(ids[1][1], "b") || len(ids[1][1]) > 128 {
		t.Errorf("%v in the log:\n%s", ids, &logged)
	}
}

func TestMaxInFlight(t *testing.T) {
	var rejected atomic.Int32
	entered, leave := make(chan struct{}), make(chan struct{})
	e := &echo{handle: func(_ context.Context, in *wrapperspb.BytesValue) (*wrapperspb.BytesValue, error) {
		entered <- struct{}{}
		<-leave
		return in, nil
	}}
	addr, _ := serve(t, ServerOptions{Gate: NewGate(GateOptions{MaxInFlight: 2, Rejected: func() { rejected.Add(1) }}), Log: quiet()}, e, "localhost:0")
	c := dial(t, addr.String(), insecure.NewCredentials())
	results := make(chan error, 2)
	go func() { _, err := call(t.Context(), c, ""); results <- err }()
	go func() { results <- stream(t.Context(), c) }()
	<-entered
	<-entered
	for name, err := range map[string]error{"unary": func() error { _, err := call(t.Context(), c, ""); return err }(), "stream": stream(t.Context(), c)} {
		if status.Code(err) != codes.Unavailable || reasonOf(err) != "OVERLOADED" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := healthpb.NewHealthClient(c).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Errorf("a probe of a busy server: %v", err)
	}
	if n := rejected.Load(); n != 2 {
		t.Errorf("%d rejections counted", n)
	}
	close(leave)
	if a, b := <-results, <-results; a != nil || b != nil {
		t.Errorf("%v, %v", a, b)
	}
	go func() { <-entered }()
	if _, err := call(t.Context(), c, ""); err != nil {
		t.Errorf("the slot was not released: %v", err)
	}
}

func TestMemoryPressure(t *testing.T) {
	short := true
	addr, _ := serve(t, ServerOptions{Gate: NewGate(GateOptions{UnderPressure: func() bool { return short }}), Log: quiet()}, &echo{handle: same}, "localhost:0")
	c := dial(t, addr.String(), insecure.NewCredentials())
	if _, err := call(t.Context(), c, ""); reasonOf(err) != "OVERLOADED" {
		t.Errorf("got %v", err)
	}
	short = false
	if _, err := call(t.Context(), c, ""); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	write := func(content string) {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, nil))
	if _, err := NewTokens(path, log); err == nil {
		t.Error("no error for a missing file")
	}
	write("# two\nalpha\n  beta \n")
	tokens, err := NewTokens(path, log)
	if err != nil {
		t.Fatal(err)
	}
	addr, _ := serve(t, ServerOptions{Gate: NewGate(GateOptions{Tokens: tokens}), Log: quiet()}, &echo{handle: same}, "localhost:0")
	c := dial(t, addr.String(), insecure.NewCredentials())
	try := func(header string) error {
		ctx := t.Context()
		if header != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", header)
		}
		_, err := call(ctx, c, "")
		if err2 := stream(ctx, c); status.Code(err) != status.Code(err2) {
			t.Errorf("unary %v, stream %v", err, err2)
		}
		return err
	}
	for header, ok := range map[string]bool{"": false, "Bearer alpha": true, "bearer beta": true, "Bearer gamma": false, "Basic alpha": false, "Bearer ": false, "Bearer # two": false} {
		if err := try(header); (err == nil) != ok || !ok && (status.Code(err) != codes.Unauthenticated || reasonOf(err) != "UNAUTHENTICATED") {
			t.Errorf("%q: %v", header, err)
		}
	}
	if _, err := healthpb.NewHealthClient(c).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Errorf("a probe needs no token: %v", err)
	}
	write("gamma\n")
	if _, err := tokens.current.reload(); err != nil {
		t.Fatal(err)
	}
	if try("Bearer gamma") != nil || try("Bearer alpha") == nil {
		t.Error("the tokens were not exchanged")
	}
	if logged.Len() > 0 {
		t.Errorf("logged: %s", &logged)
	}
	write("# gamma\n\n") // revokes gamma
	if _, err := tokens.current.reload(); err != nil || try("Bearer gamma") == nil || try("Bearer # gamma") == nil {
		t.Errorf("a file without tokens does not reject all callers: %v", err)
	}
	if n := strings.Count(logged.String(), "the token file has no tokens"); n != 1 {
		t.Errorf("%d warnings in the log: %s", n, &logged)
	}
}

func TestDrain(t *testing.T) {
	for _, tc := range []struct {
		name     string
		takes    time.Duration
		grace    time.Duration
		graceful bool
	}{
		{"in time", 100 * time.Millisecond, patience, true},
		{"too late", patience, 100 * time.Millisecond, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			entered := make(chan struct{})
			e := &echo{handle: func(ctx context.Context, in *wrapperspb.BytesValue) (*wrapperspb.BytesValue, error) {
				close(entered)
				select {
				case <-time.After(tc.takes):
					return in, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}}
			addr, s := serve(t, ServerOptions{Log: quiet()}, e, "localhost:0")
			c := dial(t, addr.String(), insecure.NewCredentials())
			result := make(chan error, 1)
			go func() { _, err := call(t.Context(), c, ""); result <- err }()
			<-entered
			ctx, cancel := context.WithTimeout(t.Context(), tc.grace)
			defer cancel()
			if got := Drain(ctx, s); got != tc.graceful {
				t.Errorf("graceful: %t", got)
			}
			if err := <-result; (err == nil) != tc.graceful {
				t.Errorf("the call ended with %v", err)
			}
		})
	}
}

// TestDrainLeavesHandlersBehind: a handler that ignores its context does not delay Drain.
func TestDrainLeavesHandlersBehind(t *testing.T) {
	entered, end := make(chan struct{}), make(chan struct{})
	e := &echo{handle: func(_ context.Context, in *wrapperspb.BytesValue) (*wrapperspb.BytesValue, error) {
		close(entered)
		<-end
		return in, nil
	}}
	addr, s := serve(t, ServerOptions{Log: quiet()}, e, "localhost:0")
	c := dial(t, addr.String(), insecure.NewCredentials())
	result := make(chan error, 1)
	go func() { _, err := call(t.Context(), c, ""); result <- err }()
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	drained := make(chan bool, 1)
	go func() { drained <- Drain(ctx, s) }()
	select {
	case graceful := <-drained:
		if graceful {
			t.Error("the aborted drain is reported as graceful")
		}
	case <-time.After(patience):
		t.Error("the handler delays the drain")
	}
	close(end)
	if err := <-result; err == nil {
		t.Error("the call was not aborted")
	}
}

func TestHTTPPanicsAreLoggedAndCloseTheConnection(t *testing.T) {
	var logged bytes.Buffer
	l, err := Listen(t.Context(), "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	s := NewHTTPServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("half an ans"))
		panic("ouch")
	}), slog.New(slog.NewTextHandler(&logged, nil)))
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	client := &http.Client{Transport: &http.Transport{}}
	resp, err := client.Get("http://" + l.Addr().String())
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
	}
	if err == nil {
		t.Error("half an answer was taken for a whole one")
	}
	client.CloseIdleConnections()
	if !DrainHTTP(t.Context(), s) {
		t.Error("not graceful")
	}
	<-done
	if !strings.Contains(logged.String(), "ouch") {
		t.Errorf("log: %s", &logged)
	}
}

// authority signs certificates for tests.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pem  []byte
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{key, cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

func (a authority) sign(t *testing.T, serial int64) (cert, key []byte) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &k.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

func (a authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

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
	ca, clientCA := newAuthority(t), newAuthority(t)
	dir := &secretDir{path: t.TempDir()}
	cert, key := ca.sign(t, 1)
	dir.write(t, map[string][]byte{"tls.crt": cert, "tls.key": key, "ca.crt": clientCA.pem})
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
	clientCert, clientKey := clientCA.sign(t, 7)
	identity, err := tls.X509KeyPair(clientCert, clientKey)
	if err != nil {
		t.Fatal(err)
	}
	// connect makes a new connection and returns the serial number of the certificate it was shown.
	connect := func(certificates ...tls.Certificate) (serial int64, err error) {
		config := &tls.Config{RootCAs: ca.pool(), Certificates: certificates, ServerName: "localhost", VerifyConnection: func(s tls.ConnectionState) error {
			serial = s.PeerCertificates[0].SerialNumber.Int64()
			return nil
		}}
		_, err = call(t.Context(), dial(t, target, credentials.NewTLS(config)), "")
		return serial, err
	}
	if serial, err := connect(identity); serial != 1 || err != nil {
		t.Errorf("serial %d, %v", serial, err)
	}
	if _, err := connect(); err == nil {
		t.Error("a client without a certificate got through")
	}
	strangerCert, strangerKey := newAuthority(t).sign(t, 8)
	if stranger, _ := tls.X509KeyPair(strangerCert, strangerKey); true {
		if _, err := connect(stranger); err == nil {
			t.Error("a client of another authority got through")
		}
	}
	if _, err := call(t.Context(), dial(t, target, insecure.NewCredentials()), ""); err == nil {
		t.Error("plaintext got through")
	}

	cert2, key2 := ca.sign(t, 2)
	dir.write(t, map[string][]byte{"tls.crt": cert2, "tls.key": key2, "ca.crt": clientCA.pem})
	if _, err := secure.current.reload(); err != nil {
		t.Fatal(err)
	}
	if serial, err := connect(identity); serial != 2 || err != nil {
		t.Errorf("after rotation: serial %d, %v", serial, err)
	}
	// A half-written pair, a missing or an empty CA: what was loaded stays, client checks included.
	for name, broken := range map[string]map[string][]byte{
		"a key of another certificate": {"tls.crt": cert2, "tls.key": key, "ca.crt": clientCA.pem},
		"no CA":                        {"tls.crt": cert, "tls.key": key},
		"an empty CA":                  {"tls.crt": cert, "tls.key": key, "ca.crt": nil},
	} {
		dir.write(t, broken)
		if _, err := secure.current.reload(); err == nil {
			t.Errorf("%s: no error", name)
		}
		if serial, err := connect(identity); serial != 2 || err != nil {
			t.Errorf("%s: serial %d, %v", name, serial, err)
		}
		if _, err := connect(); err == nil {
			t.Errorf("%s: client checks are off", name)
		}
	}
}

func TestUnixSocketsNeedNoTLS(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.sign(t, 1)
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
	if got, err := call(t.Context(), dial(t, socket, insecure.NewCredentials()), "x"); got != "x" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestHTTPS(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.sign(t, 1)
	dir := t.TempDir()
	files := TLSFiles{Certificate: filepath.Join(dir, "crt"), Key: filepath.Join(dir, "key"), ClientCA: filepath.Join(dir, "ca")}
	for path, content := range map[string][]byte{files.Certificate: cert, files.Key: key, files.ClientCA: ca.pem} {
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
			TLSClientConfig:   &tls.Config{RootCAs: ca.pool(), ServerName: "localhost", Certificates: tc.certificates},
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
	ca := newAuthority(t)
	cert, key := ca.sign(t, 1)
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

func TestPolling(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write := func(s string) {
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("1")
	r, err := newRotating([]string{path}, func(c [][]byte) (string, error) { return string(c[0]), nil })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { r.poll(ctx, time.Millisecond, "the file", quiet()); close(done) }()
	write("2")
	for deadline := time.Now().Add(patience); r.get() != "2"; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not reloaded")
		}
	}
	cancel()
	<-done
}
