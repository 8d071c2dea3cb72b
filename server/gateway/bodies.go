package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// The time that a body has to arrive: bodyPatience, and a second more for every bodyPace bytes that have arrived.
const (
	bodyPatience = 30 * time.Second
	bodyPace     = 512 << 10
)

// bodyStep is the room that a body takes at first whose length nobody told; it doubles as more arrives.
const bodyStep = 64 << 10

// Of all room, one reservedPart is kept for bodies of at most smallBody bytes, so that a few large ones, which may take minutes to arrive, do not keep all others out. A
// large body that is the only one may have all the same what there is.
const (
	reservedPart = 8
	smallBody    = 1 << 20
)

// Bodies bounds the memory of the request bodies that a gateway holds at one time. A body is read whole before the gRPC server sees its
// call and stays until that is answered, so that the server's own bound on calls comes too late for it. It is safe for concurrent use.
type Bodies struct {
	max           int64
	patience      time.Duration
	drainPatience time.Duration
	refused       func()
	taken         atomic.Int64
	large         atomic.Int64 // of that, by bodies of more than small bytes
	small         int64
	arriving      arriving
}

// NewBodies returns room for max bytes. refused, if not nil, is told of every body that finds none.
func NewBodies(max int64, refused func()) *Bodies {
	if refused == nil {
		refused = func() {}
	}
	return &Bodies{max: max, patience: bodyPatience, drainPatience: drainPatience, refused: refused, small: min(smallBody, max/reservedPart)}
}

// Taken is how many bytes are held at this moment.
func (b *Bodies) Taken() int64 { return b.taken.Load() }

// room is what one body has taken of Bodies, to be given back when nothing refers to the body any longer.
type room struct {
	of    *Bodies
	taken int64
}

// take takes n bytes more. The error is a status.
func (r *room) take(n int64) error {
	b := r.of
	before, after := b.largeOf(r.taken), b.largeOf(r.taken+n)
	if large := b.large.Add(after - before); after > 0 && large > b.max-b.max/reservedPart && large != after {
		b.large.Add(before - after)
		return b.refuse(fmt.Sprintf("the bodies of more than %d bytes would have %d bytes in memory together, which is more than what smaller ones leave them: --rest-body-bytes is %d", b.small, large, b.max))
	}
	if now := b.taken.Add(n); now > b.max {
		b.taken.Add(-n)
		b.large.Add(before - after)
		return b.refuse(fmt.Sprintf("the bodies of all calls would have %d bytes in memory, and --rest-body-bytes is %d", now, b.max))
	}
	r.taken += n
	return nil
}

// largeOf is what of a body's room counts as that of a large one: all or nothing.
func (b *Bodies) largeOf(taken int64) int64 {
	if taken > b.small {
		return taken
	}
	return 0
}

func (b *Bodies) refuse(why string) error {
	b.refused()
	return failure(codes.Unavailable, crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED,
		fmt.Sprintf("there is no room for the body: %s: try again later, or send fewer items in a call", why),
		map[string]string{"limit": "rest_body_bytes", "maximum": fmt.Sprint(b.max)})
}

// give gives back n bytes of it.
func (r *room) give(n int64) {
	r.of.taken.Add(-n)
	r.of.large.Add(r.of.largeOf(r.taken-n) - r.of.largeOf(r.taken))
	r.taken -= n
}

func (r *room) giveBack() { r.give(r.taken) }

// readWhole reads a body of at most limit bytes, taking room for it before the memory. Errors are statuses.
func readWhole(w http.ResponseWriter, r *http.Request, limit int64, held *room) ([]byte, error) {
	length := r.ContentLength
	if length > limit {
		return nil, tooLarge(length, limit)
	}
	body := held.of.newPaced(r, http.NewResponseController(w))
	defer body.done()
	data, err := readInto(body, length, limit, held)
	if _, ours := status.FromError(err); err != nil && ours {
		return nil, err
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, body.late(fmt.Sprintf("the body came too slowly: it has %s, and a second more for each %d bytes, and %d have arrived", held.of.patience, bodyPace, body.read))
	}
	if err != nil {
		return nil, unreadable(err)
	}
	return data, nil
}

// pacedBody is a body that has to arrive in time: one that promises much and sends nothing has no more time than one that promises little.
type pacedBody struct {
	body      io.Reader
	deadlines *http.ResponseController
	of        *Bodies
	began     time.Time
	next      time.Time // the deadline of what has not been read
	set       bool
	off       bool // it may take its time
	read      int64
}

// Read moves the deadline by what has been read since the last whole bodyPace.
func (p *pacedBody) Read(to []byte) (n int, err error) {
	if p.off {
		return p.body.Read(to)
	}
	if !p.set {
		p.of.expect(p)
		p.set = true
	}
	n, err = p.body.Read(to)
	if paces := (p.read+int64(n))/bodyPace - p.read/bodyPace; paces > 0 {
		p.next, p.set = p.next.Add(time.Duration(paces)*time.Second), false
	}
	p.read += int64(n)
	return n, err
}

// late is the status of a body that has not come in time: a text that says so, unless the server had no more time for it.
func (p *pacedBody) late(text string) error {
	if time.Now().Before(p.next) && p.of.draining() {
		return failure(codes.Unavailable, crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED,
			"the server is shutting down, and the body was still under way: send it to another replica, or again", nil)
	}
	return failure(codes.DeadlineExceeded, crdevalv1.ErrorReason_ERROR_REASON_DEADLINE, text, nil)
}

// readInto reads length bytes or, if that is negative, up to limit. Errors are those of the body, or statuses.
func readInto(body io.Reader, length, limit int64, held *room) (data []byte, err error) {
	if length >= 0 {
		if err := held.take(length); err != nil {
			return nil, err
		}
		data = make([]byte, length)
		_, err = io.ReadFull(body, data)
		return data, err
	}
	for {
		if len(data) == cap(data) {
			more := min(max(bodyStep, int64(cap(data))), limit+1-int64(cap(data)))
			if more == 0 {
				return nil, tooLarge(0, limit)
			}
			if err := held.take(min(more, limit-held.taken)); err != nil {
				return nil, err
			}
			data = append(make([]byte, 0, int64(cap(data))+more), data...)
		}
		n, err := body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case err == io.EOF:
			if int64(len(data)) > limit {
				return nil, tooLarge(0, limit)
			}
			return data, nil
		case err != nil:
			return nil, err
		}
	}
}
