package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"testing"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// TestCaller checks what identifies a caller: a token if tokens are required, a client certificate, or the connection.
func TestCaller(t *testing.T) {
	ctx := func(token, subject string, port int) context.Context {
		p := &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: port}}
		if subject != "" {
			certificate := &x509.Certificate{Subject: pkix.Name{CommonName: subject}}
			p.AuthInfo = credentials.TLSInfo{State: tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{certificate}}}}
		}
		ctx := peer.NewContext(context.Background(), p)
		if token != "" {
			ctx = metadata.NewIncomingContext(ctx, metadata.Pairs("authorization", "Bearer "+token))
		}
		return ctx
	}
	withTokens, without := &Gate{GateOptions: GateOptions{Tokens: &Tokens{}}}, &Gate{}
	for name, c := range map[string]struct {
		gate *Gate
		a, b context.Context
		same bool
	}{
		"one token, two connections":       {withTokens, ctx("x", "", 1), ctx("x", "", 2), true},
		"two tokens":                       {withTokens, ctx("x", "", 1), ctx("y", "", 1), false},
		"a token that nobody checks":       {without, ctx("x", "", 1), ctx("y", "", 1), true},
		"one certificate, two connections": {without, ctx("", "a", 1), ctx("", "a", 2), true},
		"two certificates":                 {without, ctx("", "a", 1), ctx("", "b", 1), false},
		"two connections":                  {without, ctx("", "", 1), ctx("", "", 2), false},
	} {
		if a, b := c.gate.Caller(c.a), c.gate.Caller(c.b); (a == b) != c.same || a == "" {
			t.Errorf("%s: %q and %q", name, a, b)
		}
	}
}
