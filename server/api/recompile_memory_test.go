package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/registry"
)

// TestRecompilationTooLarge checks that an item fails whose CRD must be compiled again with more memory than its caller
// may use.
func TestRecompilationTooLarge(t *testing.T) {
	var of *registry.Registry
	w := startWith(t, func(r api.Registry) api.Registry {
		of = r.(*registry.Registry) //nolint:forcetypeassert // start makes one
		return r
	}, nil).large(1)
	done, err := of.CRD(t.Context(), "default", "a0s.large.example.com", "", "")
	if err != nil {
		t.Fatal(err)
	}
	validate := func(memory int64) answer {
		of.Programs.Remove(done.Revision)
		w.ledger = call.NewMemory(memory)
		return w.do(http.MethodPost, "/v1/catalogs/default:validate",
			`{"items":[{"create":{"object":{"apiVersion":"large.example.com/v1","kind":"A0","metadata":{"name":"a"}}}}]}`)
	}
	if got := validate(16 << 20); got.code != http.StatusOK || !strings.Contains(got.text, `"reason":"LIMIT_EXCEEDED"`) ||
		!strings.Contains(got.text, `"code":8,`) { // RESOURCE_EXHAUSTED
		t.Errorf("HTTP %d %.300s", got.code, got.text)
	}
	if got := validate(128 << 20); got.code != http.StatusOK || !strings.Contains(got.text, `"allowed":true`) {
		t.Errorf("HTTP %d %.300s", got.code, got.text)
	}
}
