package gateway

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/transport"
)

// slowWriter is a response writer whose client reads at a rate, in bytes per second.
type slowWriter struct {
	http.ResponseWriter
	rate     int
	deadline atomic.Value
}

// SetWriteDeadline implements what http.ResponseController calls.
func (w *slowWriter) SetWriteDeadline(t time.Time) error {
	w.deadline.Store(t)
	return nil
}

// Write implements io.Writer.
func (w *slowWriter) Write(data []byte) (written int, err error) {
	for ; written < len(data); written += min(1<<10, len(data)-written) {
		time.Sleep(time.Second << 10 / time.Duration(w.rate))
		if !time.Now().Before(w.deadline.Load().(time.Time)) {
			return written, os.ErrDeadlineExceeded
		}
	}
	return written, nil
}

// TestSlowReaders: a response ends if its client reads less than MinProgress in WritePatience, or if others need the
// memory of a client that is not fast.
func TestSlowReaders(t *testing.T) {
	for _, c := range []struct {
		name  string
		rate  int
		short bool
		err   error
	}{
		{"too slow", transport.MinProgress/int(transport.WritePatience/time.Second) - 100, false, os.ErrDeadlineExceeded},
		{"slow", transport.MinProgress/int(transport.WritePatience/time.Second) + 100, false, nil},
		{"slow, others need memory", transport.MinProgress, true, os.ErrDeadlineExceeded},
		{"fast, others need memory", 2 * transport.FastBytes, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := call.NewMemory(8 << 20)
				lease := memory.Open("a")
				data := make([]byte, memory.MaxPerCaller())
				if err := lease.Grow(t.Context(), call.Response, int64(len(data))); err != nil {
					t.Fatal(err)
				}
				if c.short {
					time.AfterFunc(2*time.Second, func() { _ = memory.Open("b").Grow(t.Context(), call.Request, 2<<20) })
				}
				to := &slowWriter{ResponseWriter: httptest.NewRecorder(), rate: c.rate}
				w := &timedWriter{ResponseWriter: to, control: http.NewResponseController(to), call: &call.Call{Lease: lease}}
				if _, err := w.Write(data); !errors.Is(err, c.err) {
					t.Error(err)
				}
				lease.Release()
				synctest.Wait()
			})
		})
	}
}
