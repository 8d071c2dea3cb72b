package transport

import (
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/crdeval/crdeval/server/call"
)

// connected returns a conn of c, and its client.
func connected(t *testing.T, c *Connections) (*conn, net.Conn) {
	t.Helper()
	client, server := net.Pipe()
	own := c.add(server).(*conn) //nolint:forcetypeassert // it is one
	t.Cleanup(func() {
		_ = own.Close()
		_ = client.Close()
	})
	return own, client
}

// respond writes a response of size bytes as gRPC does. It returns when the response is written or the connection closed.
func respond(t *testing.T, c *conn, memory *call.Memory, size int) {
	t.Helper()
	m := wrapperspb.Bytes(make([]byte, size))
	r := newResponse(peer.NewContext(t.Context(), &peer.Peer{Addr: c.RemoteAddr()}), m, proto.Size(m), memory.Open("caller"), 0)
	data := encode(t, r)
	for frame := range slices.Chunk(data.Materialize(), 16<<10) {
		if _, err := c.Write(frame); err != nil {
			return // gRPC drops the responses of a closed connection
		}
	}
	data.Free()
}

// TestSlowReaders: a connection is closed if its client reads less than MinProgress in WritePatience, but not if it reads
// more, whatever the size of the response.
func TestSlowReaders(t *testing.T) {
	for _, c := range []struct {
		name        string
		read, every int // bytes, and seconds
		closed      int
	}{
		{"nothing", 0, 1, 1},
		{"too little", 50 << 10, 70, 1},
		{"slowly", 2 << 10, 1, 0},
		{"at intervals", 100 << 10, 50, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				closed := 0
				memory := call.NewMemory(100 << 20)
				all := NewConnections(ConnectionOptions{Memory: memory, Log: quiet(), Closed: func(string) { closed++ }})
				server, client := connected(t, all)
				var reading sync.WaitGroup
				reading.Go(func() {
					for err := error(nil); err == nil && c.read > 0; time.Sleep(time.Duration(c.every) * time.Second) {
						_, err = io.CopyN(io.Discard, client, int64(c.read))
					}
				})
				respond(t, server, memory, 1<<20)
				if closed != c.closed {
					t.Errorf("%d connections were closed", closed)
				}
				if n := memory.Stats().Bytes[call.Response]; n != 0 {
					t.Errorf("%d bytes are held after the end", n)
				}
				_ = server.Close()
				reading.Wait()
			})
		})
	}
}
