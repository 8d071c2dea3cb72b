package gateway

import (
	"io"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/server/call"
)

// sink takes items and answers nothing.
type sink struct{ items int }

func (s *sink) CloseSend() error                  { return nil }
func (s *sink) receive() ([]proto.Message, error) { return nil, io.EOF }

func (s *sink) send(items []proto.Message) error {
	s.items += len(items)
	return nil
}

// TestMemoryOfStreams: a stream holds no memory for what it has sent or skipped, however long it is.
func TestMemoryOfStreams(t *testing.T) {
	const times = 1000
	for _, c := range []struct {
		name, body string
		yaml       bool
		items      int
	}{
		{"items", `{"create":{"object":{}}}` + "\n", false, times},
		{"lines of white space", " \r\n\n", false, 0},
		{"lines that are not items", `{"nope":1}` + "\n", false, times},
		{"one of each", `{"create":{"object":{}}}` + "\n\n" + `{"nope":1}` + "\n", false, 2 * times},
		{"documents", "a: 1\n---\n", true, times},
		{"documents of comments", "# nothing\n---\n", true, 0},
		{"comments between documents", "a: 1\n---\n# nothing\n---\n", true, times},
	} {
		memory := call.NewMemory(16 << 10)
		reserved, to := bodyMemory{NewBodies(nil), call.With(t.Context(), &call.Call{Lease: memory.Open("a")})}, &sink{}
		body := strings.NewReader(strings.Repeat(c.body, times))
		from := newStreamReader(body, creation, 1<<10, reserved, c.yaml, false)
		from.to = to
		if err := from.read(t.Context()); err != nil || to.items != c.items || len(from.records) != c.items {
			t.Errorf("%s: %d items, %d records, %v", c.name, to.items, len(from.records), err)
		}
		if most := int64(len(c.body)); held(memory) > most {
			t.Errorf("%s: %d bytes are held at the end, %d at most were expected", c.name, held(memory), most)
		}
	}
}
