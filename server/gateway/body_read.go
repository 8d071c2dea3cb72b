package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"google.golang.org/grpc/status"

	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/transport"
)

// receive admits a request and reads its body. isYAML says whether that is YAML instead of JSON, or returns a status.
// If there is an error, receive answers with it, and returns nil.
func (g *gateway) receive(w http.ResponseWriter, r *http.Request, isYAML func(*http.Request) (bool, error)) *body {
	b, err := g.readBody(w, r, isYAML)
	if err != nil {
		call.Of(r.Context()).Lease.Release() // before the rest of the body is discarded
		g.reject(w, r, err)
		return nil
	}
	return b
}

// readBody admits a request and reads its body. Errors are statuses.
func (g *gateway) readBody(w http.ResponseWriter, r *http.Request, isYAML func(*http.Request) (bool, error)) (*body, error) {
	if err := g.options.Entry.AdmitRequest(r); err != nil {
		return nil, err
	}
	yaml, err := isYAML(r)
	if err == nil {
		err = checkEncoding(r.Header)
	}
	if err != nil {
		return nil, err
	}
	b := &body{yaml: yaml, limits: g.options.Limits, lists: g.options.Lists, memory: bodyMemory{g.options.Bodies, r.Context()}}
	b.data, err = readAll(w, r, g.options.MaxBodyBytes, b.memory)
	return b, err
}

// slowBody is the age from which a call without its complete body no longer counts as active: it waits for its client,
// not for CPU.
const slowBody = 100 * time.Millisecond

// readAll reads a body of at most limit bytes, and reserves memory before it allocates. Errors are statuses.
func readAll(w http.ResponseWriter, r *http.Request, limit int64, memory bodyMemory) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, tooLarge(fmt.Sprintf("%d bytes", r.ContentLength), limit)
	}
	from := memory.of.newPaced(r, http.NewResponseController(w))
	defer from.done()
	defer call.Of(r.Context()).Slot.PauseAfter(slowBody)()
	data, err := readInto(from, r.ContentLength, limit, memory)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = from.late(fmt.Sprintf("the body arrived too slowly: the limit is %s plus one second per %d bytes, and %d bytes have arrived",
			memory.of.patience, transport.BytesPerSecond, from.read))
	}
	if err != nil {
		return nil, unreadable(err)
	}
	return data, nil
}

// firstStep is how many bytes are reserved for a body before it arrives. Then the memory doubles as it fills.
const firstStep = 128 << 10

// readInto reads length bytes or, if length is negative, up to limit. Errors are those of the body, or statuses.
func readInto(from io.Reader, length, limit int64, memory bodyMemory) (data []byte, err error) {
	end := length
	if length < 0 {
		end = limit + 1
	}
	for int64(len(data)) != length {
		if len(data) == cap(data) {
			more := min(max(firstStep, int64(cap(data))), end-int64(cap(data)))
			if more == 0 {
				return nil, tooLarge(fmt.Sprintf("more than %d bytes", limit), limit)
			}
			if err := memory.take(min(more, limit-int64(cap(data)))); err != nil {
				return nil, err
			}
			data = append(make([]byte, 0, int64(cap(data))+more), data...)
		}
		n, err := from.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case err == nil, int64(len(data)) == length:
		case err == io.EOF && length > 0:
			return nil, io.ErrUnexpectedEOF
		case err == io.EOF && int64(len(data)) <= limit:
			return data, nil
		case err == io.EOF:
			return nil, tooLarge(fmt.Sprintf("more than %d bytes", limit), limit)
		default:
			return nil, err
		}
	}
	return data, nil
}

func tooLarge(size string, limit int64) error {
	return api.LimitExceeded("max_message_bytes", int(limit), "the body has %s and the limit max_message_bytes is %d: send fewer items in a call", size, limit)
}

// unreadable returns the status of an error of reading a body.
func unreadable(err error) error {
	if _, isStatus := status.FromError(err); isStatus { // nil is one as well
		return err
	}
	return malformed(fmt.Sprintf("the body could not be read to its end: %v", err))
}
