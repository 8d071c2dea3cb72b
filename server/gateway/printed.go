package gateway

import (
	"bytes"
	"sync/atomic"
)

// lastPrinted is the status that was printed last. In an overload, many items and calls share one. A status does not
// change after it was returned.
var lastPrinted atomic.Pointer[printedStatus]

// printedStatus is a status with its JSON.
type printedStatus struct {
	status any // a pointer: *status.Status, or its message
	text   []byte
}

// printed returns the JSON of a status that was printed last. It returns nil for another status.
func printed(status any) []byte {
	if last := lastPrinted.Load(); last != nil && last.status == status {
		return last.text
	}
	return nil
}

// remember keeps the JSON of a status.
func remember(status any, text []byte) {
	lastPrinted.Store(&printedStatus{status, bytes.Clone(text)})
}
