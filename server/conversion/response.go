package conversion

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// guard rejects redirects and long responses.
type guard struct {
	next    http.RoundTripper
	webhook *client
	client  *Client
}

// A response may have sizeFactor times the size of its request, and sizeMargin bytes, without a reservation of memory.
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
	memory := reservationOf(r.Context())
	response.Body = &body{
		ReadCloser: response.Body, ctx: r.Context(), max: g.client.o.MaxResponseBytes, free: max(r.ContentLength, 0)*sizeFactor + sizeMargin,
		take: func(n int64) error { return memory.take(&g.client.load, g.webhook, n) },
	}
	return response, nil
}

// body is a response body of limited length.
type body struct {
	io.ReadCloser
	ctx       context.Context
	read, max int64
	free      int64 // bytes that need no reservation
	taken     int64
	take      func(int64) error
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.read += int64(n); b.read > b.max {
		return 0, &failure{TooLarge, fmt.Errorf("the response is larger than %d bytes, the limit", b.max)}
	}
	if more := b.read - b.free - b.taken; more > 0 {
		if err := b.take(more); err != nil {
			_ = b.take(-b.taken) // at once, so that another response can fit
			b.taken = 0
			return 0, err
		}
		b.taken += more
	}
	if err != nil && err != io.EOF && b.ctx.Err() == nil && !isTimeout(err) {
		err = &failure{Unreachable, err}
	}
	return n, err
}

// reviewCodec is a codec that rejects data that takes much more memory when it is decoded.
type reviewCodec struct{ runtime.Codec }

// Decode implements runtime.Decoder.
func (c reviewCodec) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (
	runtime.Object, *schema.GroupVersionKind, error,
) {
	if err := checkShape(data); err != nil {
		return nil, nil, err
	}
	return c.Codec.Decode(data, defaults, into)
}
