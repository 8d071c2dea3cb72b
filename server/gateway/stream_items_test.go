package gateway

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/metadata"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// sink takes items and answers nothing.
type sink struct{ items int }

func (s *sink) Header() (metadata.MD, error) { return nil, nil }
func (s *sink) CloseSend() error             { return nil }
func (s *sink) receive() ([]result, error)   { return nil, io.EOF }

func (s *sink) send(items []*crdevalv1.EvaluationItem) error {
	s.items += len(items)
	return nil
}

// TestRoomOfStreams: what a stream has sent on, passed over or answered itself takes no room any more, however long the stream is.
func TestRoomOfStreams(t *testing.T) {
	const times = 1000
	for _, c := range []struct {
		name, body  string
		yaml        bool
		items, read int
	}{
		{"items", `{"object":{}}` + "\n", false, times, times},
		{"lines of white space", " \r\n\n", false, 0, 0},
		{"lines that are no items", `{"nope":1}` + "\n", false, 0, times},
		{"one of each", `{"object":{}}` + "\n\n" + `{"nope":1}` + "\n", false, times, 2 * times},
		{"documents", "a: 1\n---\n", true, times, times},
		{"documents of comments", "# nothing\n---\n", true, 0, 0},
		{"marks", "...\n", true, 0, 0},
		{"comments between documents", "a: 1\n---\n# nothing\n---\n", true, times, times},
	} {
		bodies := NewBodies(4<<10, nil)
		held, to := &room{of: bodies}, &sink{}
		body := strings.NewReader(strings.Repeat(c.body, times))
		from := &streamReader{to: to, body: body, held: held, records: make(chan record, 3*times)}
		pieces := newLines(body, 1<<10, held)
		if from.from = pieces; c.yaml {
			from.from, from.yaml = newDocuments(pieces), true
		}
		from.read(t.Context())
		if from.failed != nil || to.items != c.items || len(from.records) != c.read {
			t.Errorf("%s: %d items, %d records, %v", c.name, to.items, len(from.records), from.failed)
		}
		if most := int64(len(c.body)); bodies.Taken() > most {
			t.Errorf("%s: %d bytes are held at the end, %d at most were expected", c.name, bodies.Taken(), most)
		}
		if held.giveBack(); bodies.Taken() != 0 {
			t.Errorf("%s: %d bytes stay taken", c.name, bodies.Taken())
		}
	}
}

// TestReadingWaitsForMemory: while memory is short nothing of a stream is read; then everything is, unless the stream has ended.
func TestReadingWaitsForMemory(t *testing.T) {
	for _, ends := range []bool{false, true} {
		var looks atomic.Int64
		short := make(chan struct{})
		ctx, end := context.WithCancel(t.Context())
		defer end()
		held, to := newRoom(), &sink{}
		body := strings.NewReader(strings.Repeat(`{"object":{}}`+"\n", 10))
		whole := body.Len()
		from := &streamReader{to: to, body: strings.NewReader(""), held: held, records: make(chan record, 10), from: newLines(body, 1<<10, held), short: func() bool {
			select {
			case <-short:
				return false
			default:
				if looks.Add(1) == 3 {
					if body.Len() != whole {
						t.Error("the body was read while memory was short")
					}
					if ends {
						end()
					} else {
						close(short)
					}
				}
				return true
			}
		}}
		from.read(ctx)
		want := 10
		if ends {
			want = 0
		}
		if from.failed != nil || to.items != want {
			t.Errorf("it ends: %v: %d items, %v", ends, to.items, from.failed)
		}
	}
}
