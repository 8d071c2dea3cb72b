package gateway

import (
	"context"
	"net/http"
)

// Call answers the JSON body of a request with JSON that ends in a line feed. Errors are statuses.
type Call func(ctx context.Context, body []byte) ([]byte, error)

// serveCall answers a request to one of Options.Calls.
func (g *gateway) serveCall(w http.ResponseWriter, r *http.Request, call Call) {
	b := g.receive(w, r, isJSON)
	if b == nil {
		return
	}
	answer, err := call(r.Context(), b.data)
	if err != nil {
		WriteError(w, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusOK, answer[:max(0, len(answer)-1)])
}

// Malformed returns the status of a body that a Call cannot decode.
func Malformed(message string) error { return malformed(message) }
