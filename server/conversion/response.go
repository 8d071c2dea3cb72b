package conversion

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"unicode"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/engine/host"
)

// guard rejects redirects, and responses that are too long or need too much memory.
type guard struct {
	next   http.RoundTripper
	host   string
	client *Client
}

// A response may have sizeFactor times the weight of its request, and sizeMargin bytes, without a reservation of memory.
const (
	sizeFactor = 2
	sizeMargin = 64 << 10
)

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := g.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if to := response.Header.Get("Location"); response.StatusCode >= 300 && response.StatusCode < 400 {
		_ = response.Body.Close()
		return nil, &failure{HTTPError, fmt.Errorf("the webhook redirects to %q: redirects are not followed", to)}
	}
	ctx := r.Context()
	of, _ := ctx.Value(batchKey{}).(batchContext)
	response.Body = &body{
		ReadCloser: response.Body, ctx: ctx, guard: g, memory: of.reservation, free: of.requestWeight*sizeFactor + sizeMargin,
	}
	return response, nil
}

// body is a response body of limited length and weight.
type body struct {
	io.ReadCloser
	ctx    context.Context
	guard  *guard
	memory *reservation
	read   int64
	free   int64 // weight that needs no reservation
	taken  int64
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	c := b.guard.client
	if b.read += int64(n); b.read > c.o.MaxResponseBytes {
		return 0, &failure{TooLarge, fmt.Errorf("the response is larger than %d bytes, the limit", c.o.MaxResponseBytes)}
	}
	if b.free -= host.EvaluationMemory(p[:n]); b.free < 0 {
		if err := b.memory.take(&c.load, b.guard.host, -b.free); err != nil {
			b.memory.give(b.guard.host, b.taken) // at once, so that one of several responses fits
			b.taken = 0
			return 0, err
		}
		b.taken -= b.free
		b.free = 0
	}
	ended := b.ctx.Err()
	if errors.Is(err, io.EOF) && ended != nil { // the transport closed the connection, and then the webhook did
		return n, ended
	}
	if err != nil && !errors.Is(err, io.EOF) && ended == nil && !isTimeout(err) {
		err = &failure{Unreachable, err}
	}
	return n, err
}

// maxNotJSON bounds responses of other formats, for which a decoder needs much memory, in bytes.
const maxNotJSON = 64 << 10

// reviewCodec is a codec that decodes only what takes little more memory than weigh says.
type reviewCodec struct{ runtime.Codec }

// Decode implements runtime.Decoder.
func (c reviewCodec) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (
	runtime.Object, *schema.GroupVersionKind, error,
) {
	isJSON := bytes.HasPrefix(bytes.TrimLeftFunc(data, unicode.IsSpace), []byte("{"))
	if !isJSON && len(data) > maxNotJSON {
		return nil, nil, &failure{TooLarge, fmt.Errorf("the response is not JSON and larger than %d bytes, the limit", maxNotJSON)}
	}
	return c.Codec.Decode(data, defaults, into)
}
