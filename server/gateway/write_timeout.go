package gateway

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/crdeval/crdeval/server/flow"
)

// A client must read minProgress of a response in writePatience. Others can take the memory of its call if it reads less
// than fastBytes in a second.
const (
	writePatience = time.Minute
	minProgress   = 64 << 10
	fastBytes     = 512 << 10
)

// timedWriter bounds the time to write a response. Streams set their own deadlines.
type timedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	lease   *flow.Lease
	revoked atomic.Bool
}

// Unwrap returns the inner writer, for http.ResponseController.
func (w *timedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements io.Writer.
func (w *timedWriter) Write(data []byte) (written int, err error) {
	if w.Header().Get("Content-Type") == mediaLines {
		return w.ResponseWriter.Write(data)
	}
	defer w.lease.AwaitPeer(nil)
	for {
		if written%fastBytes == 0 {
			w.lease.AwaitPeer(w.revoke)
		}
		_ = w.control.SetWriteDeadline(time.Now().Add(writePatience)) // not every writer has deadlines
		if w.revoked.Load() {
			w.revoke() // its deadline was replaced
		}
		n, err := w.ResponseWriter.Write(data[written:min(written+minProgress, len(data))])
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
