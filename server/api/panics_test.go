package api_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/registry"
)

// syncBuffer is a buffer for a log.
type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func panickingHook() { panic("a secret of the server") }

// TestPanicsOfGoroutines checks that a panic in a goroutine of a call fails that call. The client receives INTERNAL, and
// the log has the stack.
func TestPanicsOfGoroutines(t *testing.T) {
	var log *syncBuffer
	start := func(t *testing.T) *wire {
		log = &syncBuffer{}
		return startWith(t, func(r api.Registry) api.Registry {
			return &watched{treacherous{r}, func(context.Context, string, func(registry.Event) error) error {
				panickingHook()
				return nil
			}}
		}, func(o *api.Options) {
			o.Log = slog.New(slog.NewTextHandler(log, nil))
			o.ItemFailed = func(reason string) {
				if reason != "INTERNAL" {
					panickingHook()
				}
			}
		}).withCronTab()
	}
	absent := &crdevalv1.WriteItem{Crd: "absent", Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(cronTab(`{}`))}}}
	items := slices.Repeat([]*crdevalv1.WriteItem{absent}, 100)
	check := func(t *testing.T, st *status.Status, function string) {
		t.Helper()
		if st.Code() != codes.Internal || reason(t, st) != "INTERNAL" || strings.Contains(st.Message(), "secret") {
			t.Errorf("got %v", st)
		}
		if !strings.Contains(log.String(), function) || !strings.Contains(log.String(), "a secret of the server") {
			t.Errorf("the log has no stack with %s:\n%s", function, log)
		}
	}
	t.Run("an item", func(t *testing.T) {
		w := start(t)
		got, err := w.evaluation.Validate(t.Context(), &crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: []*crdevalv1.WriteItem{
			{Crd: "panics", Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(cronTab(`{}`))}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		check(t, status.FromProto(got.GetResults()[0].GetError()), "treacherousView")
		if !strings.Contains(log.String(), "item 0: ") {
			t.Errorf("the log has no index of the item:\n%s", log)
		}
	})
	t.Run("a batch", func(t *testing.T) {
		w := start(t)
		_, err := w.evaluation.Validate(t.Context(), &crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: items})
		check(t, status.Convert(err), "panickingHook")
	})
	t.Run("a stream", func(t *testing.T) {
		w := start(t)
		s, err := w.evaluation.AdmitStream(t.Context())
		if err == nil {
			err = s.Send(&crdevalv1.AdmitStreamRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: items})
		}
		if err == nil {
			_, err = s.Recv()
		}
		check(t, status.Convert(err), "panickingHook")
	})
	t.Run("a watch", func(t *testing.T) {
		w := start(t)
		s, err := w.registry.WatchCrds(t.Context(), &crdevalv1.WatchCrdsRequest{Catalog: "default"})
		if err == nil {
			_, err = s.Recv()
		}
		check(t, status.Convert(err), "panickingHook")
	})
}
