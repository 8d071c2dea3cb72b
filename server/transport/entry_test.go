package transport

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/crdeval/crdeval/server/access"
	"github.com/crdeval/crdeval/server/call"
)

// endRecorder is a stats.Handler that records the method and the code of each call.
type endRecorder struct{ ended []string }

func (r *endRecorder) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (r *endRecorder) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if end, is := s.(*stats.End); is {
		r.ended = append(r.ended, call.Of(ctx).Method+" "+status.Code(end.Error).String())
	}
}

func (r *endRecorder) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (r *endRecorder) HandleConn(context.Context, stats.ConnStats)                       {}

// TestEntryRun checks that functions run as calls: authorized, logged, measured, and without their panics.
func TestEntryRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "access.yaml")
	if err := os.WriteFile(file, []byte("bindings: [{role: evaluator, catalogs: [a], users: [eve]}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	control, err := access.New(t.Context(), access.Options{File: file, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	const label = "/group/Name"
	for name, c := range map[string]struct {
		required access.Permission
		catalog  string
		f        func(context.Context) error
		code     codes.Code
		message  string // of the error
		denied   bool
		log      []string
	}{
		"permitted": {access.Evaluates, "a", nil, codes.OK, "", false, []string{"level=DEBUG msg=call method=/group/Name code=OK", "request_id=r1"}},
		"lacks the permission": {access.Registers, "a", nil, codes.PermissionDenied,
			`"eve" may not call Name in the catalog "a": the role registrar or admin in this catalog is required`, true,
			[]string{"level=DEBUG msg=call method=/group/Name code=PermissionDenied"}},
		"in another catalog": {access.Evaluates, "b", nil, codes.PermissionDenied, `in the catalog "b"`, true, nil},
		"a status": {access.Evaluates, "a", func(context.Context) error { return status.Error(codes.Internal, "broken") },
			codes.Internal, "broken", false, []string{"level=ERROR msg=call method=/group/Name code=Internal"}},
		"another error": {access.Evaluates, "a", func(context.Context) error { return context.DeadlineExceeded },
			codes.DeadlineExceeded, "deadline", false, nil},
		"a panic": {access.Evaluates, "a", func(context.Context) error { panic("ouch") }, codes.Internal, "the log of the server has the details",
			false, []string{`msg="a call panicked" panic=ouch`, "entry_test.go", "msg=call method=/group/Name code=Internal"}},
	} {
		t.Run(name, func(t *testing.T) {
			var logged bytes.Buffer
			var denials []Denial
			measured := &endRecorder{}
			e := NewEntry(ServerOptions{
				Guard: NewGuard(control, func(_ context.Context, d Denial) { denials = append(denials, d) }), Stats: measured,
				Log: slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
			})
			ctx := call.With(t.Context(), &call.Call{Identity: access.Identity{Name: "eve", Source: access.FromToken}, RequestID: "r1", Caller: "user:eve"})
			ctx = metadata.NewOutgoingContext(ctx, metadata.Pairs("authorization", "secret"))
			var ran context.Context
			err := e.Run(ctx, label, c.required, c.catalog, func(ctx context.Context) error {
				ran = ctx
				if c.f != nil {
					return c.f(ctx)
				}
				return nil
			})
			if st := status.Convert(err); st.Code() != c.code || !strings.Contains(st.Message(), c.message) {
				t.Errorf("%v, want %v: %s", err, c.code, c.message)
			}
			if got := strings.Join(measured.ended, ", "); got != label+" "+c.code.String() {
				t.Errorf("measured: %s", got)
			}
			for _, want := range c.log {
				if !strings.Contains(logged.String(), want) {
					t.Errorf("%s is not in the log:\n%s", want, &logged)
				}
			}
			if c.denied {
				if ran != nil || len(denials) != 1 || denials[0].Method != label || denials[0].Catalog != c.catalog {
					t.Errorf("denials: %+v; did it run? %v", denials, ran != nil)
				}
				return
			}
			of := call.Of(ran)
			if of.Method != label || of.Catalog != c.catalog || of.Flow.Name != c.catalog || len(denials) != 0 {
				t.Errorf("%+v, denials %v", of, denials)
			}
			if md, _ := metadata.FromOutgoingContext(ran); len(md) > 0 || !errors.Is(ran.Err(), context.Canceled) {
				t.Errorf("metadata %v, end of the context: %v", md, ran.Err())
			}
		})
	}
}
