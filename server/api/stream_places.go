package api

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// defaultStillTime is for how long nothing has to have moved on a stream before another may take its place: no message came, no item was done, and no result went.
const defaultStillTime = time.Minute

// streams bounds the streams under way, and what they hold in memory together; it ends them when the server drains.
//
// Nothing tells a client that waits for objects to come from one that is forgotten. So a stream may last as long as it likes where there is a place for everybody;
// where there is none, the one that has been still for longest makes room.
type streams struct {
	most     int
	still    time.Duration
	memory   streamsMemory
	draining <-chan struct{} // nil: never
	began    time.Time

	mu    sync.Mutex
	taken map[*streamPlace]struct{}
}

func newStreams(o Options) *streams {
	if o.StillTime <= 0 {
		o.StillTime = defaultStillTime
	}
	return &streams{
		most: o.Limits.MaxStreams, still: o.StillTime, memory: newStreamsMemory(o.Limits.MaxMessageBytes, o.UnderPressure), draining: o.Draining,
		began: time.Now(), taken: map[*streamPlace]struct{}{},
	}
}

// streamPlace is the place of one stream.
type streamPlace struct {
	of    *streams
	moved atomic.Int64  // when something did, in nanoseconds since of.began
	lost  chan struct{} // closed when another stream has taken it
}

// errStreamDraining is why a stream ends that neither its caller nor a message of it has ended.
var errStreamDraining = &problem{
	reason:  crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED,
	message: "the server is shutting down: send the items whose results have not come to another replica, or again",
	leaving: true,
}

// enter takes a place for a stream: a free one or, if there is none, that of the stillest.
func (s *streams) enter() (*streamPlace, error) {
	select {
	case <-s.draining:
		return nil, errStreamDraining
	default:
	}
	p := &streamPlace{of: s, lost: make(chan struct{})}
	p.move()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.taken) >= s.most {
		stillest := s.stillest()
		if stillest == nil {
			return nil, &problem{
				reason:   crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED,
				message:  fmt.Sprintf("there are as many streams as the limit max_streams lets, %d, and something has moved on each within %v: end others, or call another replica", s.most, s.still),
				metadata: map[string]string{"limit": "max_streams", "maximum": fmt.Sprint(s.most)},
			}
		}
		delete(s.taken, stillest)
		close(stillest.lost)
	}
	s.taken[p] = struct{}{}
	return p, nil
}

// stillest is the stream on which nothing has moved for longest, nil if something has on all of them.
func (s *streams) stillest() (found *streamPlace) {
	before := int64(time.Since(s.began) - s.still)
	for p := range s.taken {
		if moved := p.moved.Load(); moved <= before {
			found, before = p, moved
		}
	}
	return found
}

// move notes that something moves on the stream.
func (p *streamPlace) move() { p.moved.Store(int64(time.Since(p.of.began))) }

// leave gives the place back.
func (p *streamPlace) leave() {
	p.of.mu.Lock()
	delete(p.of.taken, p)
	p.of.mu.Unlock()
}

// errLost is why a stream ends that has lost its place.
func (p *streamPlace) errLost() error {
	return &problem{
		reason: crdevalv1.ErrorReason_ERROR_REASON_OVERLOADED,
		message: fmt.Sprintf("nothing has moved on the stream for %v, and another one has taken its place, as there are no more than the limit max_streams lets, %d: "+
			"send the items whose results have not come again", p.of.still, p.of.most),
		metadata: map[string]string{"limit": "max_streams", "maximum": fmt.Sprint(p.of.most)},
	}
}
