package gateway

import (
	"net/http/httptest"
	"testing"

	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// TestPrintedStatuses: equal and different statuses in turn have their own texts, in errors of calls and of items.
func TestPrintedStatuses(t *testing.T) {
	withDetails := func(message string) *status.Status {
		return status.Convert(failure(crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED, message, nil))
	}
	a, b := withDetails("a"), withDetails("b")
	items := []*crdevalv1.VerdictResult{}
	for _, st := range []*status.Status{a, a, b, a} {
		p := st.Proto()
		for range 2 {
			items = append(items, &crdevalv1.VerdictResult{Result: &crdevalv1.VerdictResult_Error{Error: p}})
		}
		w := httptest.NewRecorder()
		WriteError(w, st.Err())
		lastPrinted.Store(nil)
		fresh := httptest.NewRecorder()
		WriteError(fresh, st.Err())
		if got, want := w.Body.String(), fresh.Body.String(); got != want {
			t.Errorf("%s: %s, want %s", st.Message(), got, want)
		}
	}
	for i, item := range items {
		text, err := Marshaler{}.Marshal(item)
		lastPrinted.Store(nil)
		fresh, failed := Marshaler{}.Marshal(item)
		if err != nil || failed != nil || string(text) != string(fresh) {
			t.Errorf("item %d: %s, %v, want %s, %v", i, text, err, fresh, failed)
		}
		_, _ = Marshaler{}.Marshal(items[(i+1)%len(items)])
	}
}
