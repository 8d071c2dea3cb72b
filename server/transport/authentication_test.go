package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/crdeval/crdeval/server/access"
	"github.com/crdeval/crdeval/server/call"
)

// guardWith returns a guard for bearer tokens, and how many calls it has denied.
func guardWith(t *testing.T, tokens string) (*Guard, *atomic.Int32) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(tokens), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := access.New(t.Context(), access.Options{TokenFile: path, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	denied := new(atomic.Int32)
	return NewGuard(c, func(context.Context, Denial) { denied.Add(1) }), denied
}

func TestTokens(t *testing.T) {
	guard, denied := guardWith(t, "alpha\nbeta\n")
	addr, _ := serve(t, ServerOptions{Guard: guard, Log: quiet()}, &echo{handle: same}, "localhost:0")
	c := dial(t, addr.String(), insecure.NewCredentials())
	for name, tc := range map[string]struct {
		headers []string
		ok      bool
	}{
		"none": {}, "a token": {[]string{"Bearer alpha"}, true}, "the other": {[]string{"bearer beta"}, true}, "unknown": {headers: []string{"Bearer gamma"}},
		"another scheme": {headers: []string{"Basic alpha"}}, "an empty token": {headers: []string{"Bearer "}},
		"two headers": {headers: []string{"Bearer alpha", "Bearer alpha"}}, "only a token": {headers: []string{"alpha"}},
	} {
		ctx := t.Context()
		for _, h := range tc.headers {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", h)
		}
		_, err := invoke(ctx, c, "")
		if err2 := stream(ctx, c); status.Code(err) != status.Code(err2) {
			t.Errorf("%s: unary %v, stream %v", name, err, err2)
		}
		if (err == nil) != tc.ok || !tc.ok && (status.Code(err) != codes.Unauthenticated || reasonOf(err) != "UNAUTHENTICATED") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := denied.Load(); n != 12 {
		t.Errorf("%d denials", n)
	}
	if _, err := healthpb.NewHealthClient(c).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Errorf("a probe needs no token: %v", err)
	}
}

// TestDenialsByHeaders checks what is reported about the sender of a call that is denied by its headers, over gRPC and HTTP:
// its address, its request ID, and the name in its certificate.
func TestDenialsByHeaders(t *testing.T) {
	guard, _ := guardWith(t, "alpha\n")
	var seen []string
	guard.denied = func(ctx context.Context, d Denial) {
		from, _ := peer.FromContext(ctx)
		host, _, _ := net.SplitHostPort(from.Addr.String())
		of := call.Of(ctx)
		id := of.Identity
		seen = append(seen, fmt.Sprint(d.Method, host, "[", of.RequestID, "]", id.Name, id.Source, d.Err))
	}
	expect := func(name, want string) {
		t.Helper()
		if len(seen) != 1 || !strings.Contains(seen[0], want) {
			t.Errorf("%s: %q, want %s", name, seen, want)
		}
		seen = nil
	}
	addr, _ := serve(t, ServerOptions{Guard: guard, Log: quiet()}, &echo{handle: same}, "localhost:0")
	c := dial(t, addr.String(), insecure.NewCredentials())
	if _, err := invoke(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer beta", requestID, "r1"), c, ""); err == nil {
		t.Error("an unknown token is accepted")
	}
	expect("gRPC", "/test.Echo/Call127.0.0.1[r1]the bearer token")

	carol := &x509.Certificate{Subject: pkix.Name{CommonName: "carol"}}
	p := &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7}, AuthInfo: credentials.TLSInfo{
		State: tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{carol}}}}}
	from := call.With(peer.NewContext(t.Context(), p), &call.Call{RequestID: "r2"})
	r := httptest.NewRequestWithContext(from, "POST", "/v1/catalogs", http.NoBody)
	r.Header.Set(authorization, "Bearer beta")
	if err := NewEntry(ServerOptions{Guard: guard}).AdmitRequest(r); status.Code(err) != codes.Unauthenticated {
		t.Error(err)
	}
	expect("HTTP", "POST /v1/catalogs192.0.2.1[r2]carolcertificatethe bearer token")
	r.Header.Set("Origin", "http://evil.example")
	if err := guard.DenyRequest(r, CrossSite{}.Check(r)); status.Code(err) != codes.PermissionDenied || reasonOf(err) != "PERMISSION_DENIED" {
		t.Error(err)
	}
	expect("another site", "POST /v1/catalogs192.0.2.1[r2]carolcertificatethe request comes from a web page")
}

// TestTokenIsCheckedBeforeTheMessage: a call without a token is rejected by its headers, before its message is received.
func TestTokenIsCheckedBeforeTheMessage(t *testing.T) {
	guard, _ := guardWith(t, "alpha\n")
	addr, _ := serve(t, ServerOptions{Log: quiet(), Guard: guard}, &echo{}, "localhost:0")
	c := dial(t, addr.String(), insecure.NewCredentials())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s, err := c.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, "/test.Echo/Call") // a unary method whose message never comes
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RecvMsg(new(wrapperspb.BytesValue)); status.Code(err) != codes.Unauthenticated || reasonOf(err) != "UNAUTHENTICATED" {
		t.Error(err)
	}
}

// TestCaller checks what names a caller: its identity, or the connection.
func TestCaller(t *testing.T) {
	ctx := func(guard *Guard, token, subject string, port int) context.Context {
		p := &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: port}}
		if subject != "" {
			certificate := &x509.Certificate{Subject: pkix.Name{CommonName: subject}}
			p.AuthInfo = credentials.TLSInfo{State: tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{certificate}}}}
		}
		ctx := call.With(peer.NewContext(t.Context(), p), &call.Call{})
		var headers []string
		if token != "" {
			headers = []string{"Bearer " + token}
		}
		if err := guard.authenticate(ctx, headers); err != nil {
			t.Fatal(err)
		}
		return ctx
	}
	tokens, _ := guardWith(t, "x\ny\nz,zoe,1\n")
	open := NewGuard(&access.Control{}, nil)
	gate := NewGate(GateOptions{})
	for name, c := range map[string]struct {
		a, b context.Context
		same bool
	}{
		"one token, two connections":       {ctx(tokens, "x", "", 1), ctx(tokens, "x", "", 2), true},
		"two tokens":                       {ctx(tokens, "x", "", 1), ctx(tokens, "y", "", 1), false},
		"a token without authentication":   {ctx(open, "x", "", 1), ctx(open, "y", "", 1), true},
		"one certificate, two connections": {ctx(open, "", "a", 1), ctx(open, "", "a", 2), true},
		"two certificates":                 {ctx(open, "", "a", 1), ctx(open, "", "b", 1), false},
		"two connections":                  {ctx(open, "", "", 1), ctx(open, "", "", 2), false},
	} {
		if a, b := gate.caller(c.a), gate.caller(c.b); (a == b) != c.same || a == "" {
			t.Errorf("%s: %q and %q", name, a, b)
		}
	}
	closed := NewGate(GateOptions{Authenticated: true})
	if a, b := closed.caller(ctx(open, "", "", 1)), closed.caller(ctx(open, "", "", 2)); a != b || a == "" {
		t.Errorf("two connections without credentials to a server that authenticates: %q and %q", a, b)
	}
	if name := gate.caller(ctx(tokens, "z", "", 1)); name != "user:zoe" {
		t.Errorf("a named token: %q", name)
	}
}

func TestCallerAllocatesNothing(t *testing.T) {
	server, client := net.Pipe()
	defer func() { _, _ = server.Close(), client.Close() }()
	gate := NewGate(GateOptions{})
	ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: (&conn{Conn: server}).RemoteAddr()})
	if name := gate.caller(ctx); name != "connection:pipe" {
		t.Errorf("caller %q", name)
	}
	if n := testing.AllocsPerRun(100, func() { gate.caller(ctx) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
