package codec

import (
	"bytes"
	"sync/atomic"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/engine/document"
)

// lastPrinted is the status that was printed last. In an overload, many items and calls share one. A status does not
// change after it was returned.
var lastPrinted atomic.Pointer[printedStatus]

// printedStatus is a status with its JSON.
type printedStatus struct {
	status any // a pointer: *status.Status, or its message
	text   []byte
}

// appendShared appends the JSON of a status, whose message is called only if it is not the status that was printed last.
func appendShared(dst []byte, status any, message func() proto.Message) ([]byte, error) {
	if last := lastPrinted.Load(); last != nil && last.status == status {
		return append(dst, last.text...), nil
	}
	start := len(dst)
	dst, err := appendForeign(dst, message())
	if err == nil {
		lastPrinted.Store(&printedStatus{status, bytes.Clone(dst[start:])})
	}
	return dst, err
}

// AppendStatus appends the JSON of a status. A status with a detail of an unknown type has its message only.
func AppendStatus(dst []byte, st *status.Status) []byte {
	text, err := appendShared(dst, st, func() proto.Message { return st.Proto() })
	if err != nil {
		text = append(document.AppendString(append(dst, `{"code":13,"message":`...), st.Message()), '}')
	}
	return text
}
