package transport

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

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
