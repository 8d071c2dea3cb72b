package gateway

import (
	"errors"
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/engine/host"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/call"
)

// panickingBody, panickingSink and panickingEvents panic when they are used.
type (
	panickingBody   struct{}
	panickingSink   struct{ sink }
	panickingEvents struct {
		grpc.ServerStreamingClient[crdevalv1.WatchCrdsResponse]
	}
)

func (panickingBody) Read([]byte) (int, error)                      { panic("a secret of the server") }
func (*panickingSink) receive() ([]proto.Message, error)            { panic("a secret of the server") }
func (panickingEvents) Recv() (*crdevalv1.WatchCrdsResponse, error) { panic("a secret of the server") }

// TestPanicsOfStreams checks that a panic in a goroutine of a stream ends it with an INTERNAL line, and is raised again in
// the goroutine of the request, which logs its stack.
func TestPanicsOfStreams(t *testing.T) {
	reader := func(body io.Reader) *streamReader {
		reserved := bodyMemory{NewBodies(nil), call.With(t.Context(), &call.Call{Lease: call.NewMemory(16 << 10).Open("a")})}
		from := newStreamReader(body, creation, 1<<10, reserved, false, false)
		from.to = &sink{}
		return from
	}
	for name, run := range map[string]func(lines chan<- []byte) error{
		"reading the body": func(lines chan<- []byte) error {
			from := reader(panickingBody{})
			err := from.read(t.Context())
			_ = from.writeResults(t.Context(), lines)
			return err
		},
		"receiving results": func(lines chan<- []byte) error {
			from := reader(strings.NewReader(""))
			from.to = &panickingSink{}
			return from.writeResults(t.Context(), lines)
		},
		"receiving events": func(lines chan<- []byte) error {
			return writeEvents(t.Context(), panickingEvents{}, &crdevalv1.WatchCrdsResponse{}, lines)
		},
	} {
		t.Run(name, func(t *testing.T) {
			lines := make(chan []byte, 10)
			err := run(lines)
			var text strings.Builder
			for line := range lines {
				text.Write(line)
			}
			if got := text.String(); !strings.Contains(got, `"reason":"INTERNAL"`) || strings.Contains(got, "secret") {
				t.Errorf("got %s", got)
			}
			defer func() {
				p, is := recover().(*host.PanicError)
				if !is || p.Value != "a secret of the server" || !strings.Contains(string(p.Stack), "stream_panic_test.go") {
					t.Errorf("raised: %v", p)
				}
			}()
			raise(nil, errors.New("another error"), err)
		})
	}
}
