package api

import (
	"context"
	"sync/atomic"
)

const (
	// copies is the number of copies of a document in memory: the document and its form on the wire.
	copies = 2
	// discoveryBytes is the approximate memory for the discovery of one version of a CRD.
	discoveryBytes = 4 << 10
	// documentMessages bounds the memory of documents about catalogs, in messages of the maximum size.
	documentMessages = 4
)

// documentMemory bounds the memory of documents about whole catalogs. A request of few bytes can ask for a document as large as a
// message. It is safe for concurrent use.
type documentMemory struct {
	max   int64
	taken atomic.Int64
}

// take takes memory until the call ends, which is when gRPC sends the response.
func (m *documentMemory) take(ctx context.Context, n int64) error {
	if now := m.taken.Add(n); now > m.max {
		m.taken.Add(-n)
		return overloaded("max_message_bytes", m.max,
			"there is no memory for the document: documents about catalogs would have %d bytes, and the server allows %d, "+
				"%d times max_message_bytes: try again later", now, m.max, documentMessages)
	}
	context.AfterFunc(ctx, func() { m.taken.Add(-n) })
	return nil
}
