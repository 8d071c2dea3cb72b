//go:build cluster

package cluster

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/crdeval/crdeval/engine/conformance/handwritten"
)

// webhook is where an API server finds a conversion webhook, and the certificate authority that it trusts.
type webhook struct {
	url string
	ca  []byte
}

// authority returns the certificate authority of a server.
func authority(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// TestHandwritten proves that the scenario is right, with a webhook that knows nothing of crdeval.
func TestHandwritten(t *testing.T) {
	var calls, partial atomic.Int64
	convert := handwritten.Handler(handwritten.CronTab)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			Request struct{ Objects []map[string]any }
		}
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &review)
		}
		if err != nil {
			t.Error(err)
		}
		calls.Add(1)
		for _, o := range review.Request.Objects {
			if o["metadata"] == nil {
				partial.Add(1)
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		convert.ServeHTTP(w, r)
	}))
	defer server.Close()
	migrate(t, webhook{
		url: server.URL + "/crdconvert",
		ca:  authority(server),
	}, (*migration).rewriteAll)
	t.Logf("%d calls, %d objects without metadata", calls.Load(), partial.Load())
	if partial.Load() == 0 {
		t.Error("no object without metadata was sent")
	}
}
