package gateway

import (
	"net/http"
	"time"

	"github.com/crdeval/crdeval/server/flow"
)

// timedWriter bounds the time to write a response: bodyPatience, and a second more per bodyPace bytes written. While a
// client does not read, others can take the memory of its call. Streams set their own deadlines.
type timedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	lease   *flow.Lease
	next    time.Time // zero: nothing was written yet
}

// Unwrap returns the inner writer, for http.ResponseController.
func (w *timedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements io.Writer.
func (w *timedWriter) Write(data []byte) (written int, err error) {
	if w.Header().Get("Content-Type") == mediaLines {
		return w.ResponseWriter.Write(data)
	}
	if w.next.IsZero() {
		w.next = time.Now().Add(bodyPatience)
	}
	for {
		piece := data[written:min(written+bodyPace, len(data))]
		_ = w.control.SetWriteDeadline(w.next) // not every writer has deadlines
		w.lease.AwaitPeer(func() { _ = w.control.SetWriteDeadline(time.Now()) })
		n, err := w.ResponseWriter.Write(piece)
		written += n
		w.lease.AwaitPeer(nil)
		if err != nil || written == len(data) {
			return written, err
		}
		w.next = w.next.Add(time.Second)
	}
}
