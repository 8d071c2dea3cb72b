package gateway

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestOverloadPause: the answer to a call that is rejected because of load is held back, except while the server drains.
// The time is that of testing/synctest, not of a clock.
func TestOverloadPause(t *testing.T) {
	for _, c := range []struct {
		name     string
		code     codes.Code
		draining bool
		want     time.Duration
	}{
		{"overload", codes.Unavailable, false, overloadPause},
		{"draining", codes.Unavailable, true, 0},
		{"an invalid request", codes.InvalidArgument, false, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := &gateway{options: Options{Bodies: NewBodies(nil)}}
			if c.draining {
				g.options.Bodies.Drain()
			}
			start, w := time.Now(), httptest.NewRecorder()
			g.reject(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/catalogs", http.NoBody), status.Error(c.code, "test"))
			if took := time.Since(start); took != c.want || w.Code < 400 {
				t.Errorf("%s: %v, HTTP %d, want %v", c.name, took, w.Code, c.want)
			}
		})
	}
}
