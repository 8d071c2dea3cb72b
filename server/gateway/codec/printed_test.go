package codec

import (
	"testing"

	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
)

// TestPrintedStatuses: equal and different statuses in turn have their own texts, in errors of calls and of items.
func TestPrintedStatuses(t *testing.T) {
	withDetails := func(message string) *status.Status {
		return status.Convert(&api.Error{Reason: crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED, Message: message})
	}
	a, b := withDetails("a"), withDetails("b")
	items := []*crdevalv1.VerdictResult{}
	for _, st := range []*status.Status{a, a, b, a} {
		p := st.Proto()
		for range 2 {
			items = append(items, &crdevalv1.VerdictResult{Result: &crdevalv1.VerdictResult_Error{Error: p}})
		}
		got := string(AppendStatus(nil, st))
		lastPrinted.Store(nil)
		if want := string(AppendStatus(nil, st)); got != want {
			t.Errorf("%s: %s, want %s", st.Message(), got, want)
		}
	}
	for i, item := range items {
		text, err := Marshal(item)
		lastPrinted.Store(nil)
		fresh, failed := Marshal(item)
		if err != nil || failed != nil || string(text) != string(fresh) {
			t.Errorf("item %d: %s, %v, want %s, %v", i, text, err, fresh, failed)
		}
		_, _ = Marshal(items[(i+1)%len(items)])
	}
}
