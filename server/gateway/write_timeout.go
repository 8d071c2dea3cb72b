package gateway

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/transport"
)

// timedWriter bounds the time to write a response by transport.WritePatience. Streams set their own deadlines.
type timedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	call    *call.Call
	revoked atomic.Bool
}

// Unwrap returns the inner writer, for http.ResponseController.
func (w *timedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements io.Writer.
func (w *timedWriter) Write(data []byte) (written int, err error) {
	if w.Header().Get("Content-Type") == mediaLines {
		return w.ResponseWriter.Write(data)
	}
	defer w.call.Lease.AwaitPeer(nil)
	for {
		if written%transport.FastBytes == 0 {
			w.call.Lease.AwaitPeer(w.revoke)
		}
		_ = w.control.SetWriteDeadline(time.Now().Add(transport.WritePatience)) // not every writer has deadlines
		if w.revoked.Load() {
			w.revoke() // its deadline was replaced
		}
		n, err := w.ResponseWriter.Write(data[written:min(written+transport.MinProgress, len(data))])
		if written += n; err != nil || written == len(data) {
			return written, err
		}
	}
}

// revoke makes the current and all further writes fail.
func (w *timedWriter) revoke() {
	w.revoked.Store(true)
	_ = w.control.SetWriteDeadline(time.Now())
}
