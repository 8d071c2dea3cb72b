package transport

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/auth"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// authenticate returns the error of a call without a valid token. authorization is the value of the header.
func (g *Gate) authenticate(authorization string) error {
	if g.Tokens == nil {
		return nil
	}
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "bearer") || !g.Tokens.known(token) {
		return statusError(crdevalv1.ErrorReason_ERROR_REASON_UNAUTHENTICATED,
			"a valid bearer token is required: send the header authorization: Bearer TOKEN", nil)
	}
	return nil
}

// Caller returns the identity of a caller, for limits per caller: the digest of its bearer token if the server requires
// tokens, else the subject of its verified client certificate, else the address of its connection.
func (g *Gate) Caller(ctx context.Context) string {
	if g.Tokens != nil {
		if token, err := auth.AuthFromMD(ctx, "bearer"); err == nil {
			digest := sha256.Sum256([]byte(token))
			return "token:" + hex.EncodeToString(digest[:])
		}
	}
	p, ok := peer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return ""
	}
	if info, ok := p.AuthInfo.(credentials.TLSInfo); ok && len(info.State.VerifiedChains) > 0 {
		return "certificate:" + info.State.VerifiedChains[0][0].Subject.String()
	}
	return "connection:" + p.Addr.String()
}
