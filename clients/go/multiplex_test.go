package crdeval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// fakeConn records unary calls, which it answers at once, and streams, which the test answers.
type fakeConn struct {
	mu      sync.Mutex
	unary   []string // namespaces of the items
	err     error    // of unary calls
	streams []*fakeStream
}

// Invoke implements grpc.ClientConnInterface.
func (f *fakeConn) Invoke(_ context.Context, _ string, args, reply any, _ ...grpc.CallOption) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := []string{}
	for _, item := range args.(interface {
		GetItems() []*crdevalv1.WriteItem
	}).GetItems() {
		names = append(names, item.GetNamespace())
	}
	f.unary = append(f.unary, strings.Join(names, "+"))
	if r, ok := reply.(*crdevalv1.AdmitResponse); ok && f.err == nil {
		r.Results = []*crdevalv1.VerdictResult{verdictOf("unary")}
	}
	return f.err
}

// NewStream implements grpc.ClientConnInterface.
func (f *fakeConn) NewStream(ctx context.Context, _ *grpc.StreamDesc, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &fakeStream{ctx: ctx, answers: make(chan *crdevalv1.AdmitStreamResponse, 100), ended: make(chan error, 1)}
	f.streams = append(f.streams, s)
	return s, nil
}

// stream returns the stream that was opened last, after checking the number of streams.
func (f *fakeConn) stream(t *testing.T, n int) *fakeStream {
	t.Helper()
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.streams) != n {
		t.Fatalf("%d streams were opened, want %d", len(f.streams), n)
	}
	return f.streams[n-1]
}

// expectUnary compares the unary calls, in any order, since the last call of expectUnary.
func (f *fakeConn) expectUnary(t *testing.T, n int) {
	t.Helper()
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.unary) != n {
		t.Fatalf("unary calls %v, want %d", f.unary, n)
	}
	f.unary = nil
}

// fakeStream is a stream of a fakeConn.
type fakeStream struct {
	grpc.ClientStream
	ctx     context.Context
	answers chan *crdevalv1.AdmitStreamResponse
	ended   chan error

	mu       sync.Mutex
	first    *crdevalv1.AdmitStreamRequest
	messages []string // namespaces of the items
	answered int64
	closed   bool
}

// SendMsg implements grpc.ClientStream. It encodes and decodes the message.
func (s *fakeStream) SendMsg(m any) error {
	text, err := proto.Marshal(m.(proto.Message))
	if err != nil {
		return err
	}
	r := &crdevalv1.AdmitStreamRequest{}
	if err := proto.Unmarshal(text, r); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil {
		s.first = r
		return nil
	}
	s.messages = append(s.messages, strings.Join(mapped(r.GetItems(), (*crdevalv1.WriteItem).GetNamespace), "+"))
	return nil
}

// RecvMsg implements grpc.ClientStream.
func (s *fakeStream) RecvMsg(m any) error {
	select {
	case a := <-s.answers:
		proto.Merge(m.(proto.Message), a)
		return nil
	case err := <-s.ended:
		return err
	case <-s.ctx.Done():
		return status.FromContextError(s.ctx.Err()).Err()
	}
}

// CloseSend implements grpc.ClientStream.
func (s *fakeStream) CloseSend() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.ended <- io.EOF
	return nil
}

// expect compares the messages since the last call of expect.
func (s *fakeStream) expect(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.Join(s.messages, ", ") != strings.Join(want, ", ") {
		t.Fatalf("messages %q, want %q", s.messages, want)
	}
	s.messages = nil
}

// answer sends one message with results.
func (s *fakeStream) answer(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers <- &crdevalv1.AdmitStreamResponse{FirstIndex: s.answered, Results: mapped(names, verdictOf)}
	s.answered += int64(len(names))
}

// verdictOf returns a result that names itself.
func verdictOf(name string) *crdevalv1.VerdictResult {
	return &crdevalv1.VerdictResult{Result: &crdevalv1.VerdictResult_Verdict{Verdict: &crdevalv1.Verdict{Allowed: true, Revision: name}}}
}

// pending is a call in progress.
type pending struct {
	cancel context.CancelFunc
	result chan string // the name of its result, or its error
}

func (p pending) expect(t *testing.T, want string) {
	t.Helper()
	synctest.Wait()
	select {
	case got := <-p.result:
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	default:
		t.Fatalf("the call has not returned, want %q", want)
	}
}

// admitting starts a call with one item, at a stage.
func admitting(t *testing.T, m *multiplexer, name string, stage crdevalv1.AdmissionStage) pending {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	p := pending{cancel, make(chan string, 1)}
	go func() {
		r, err := crdevalv1.NewEvaluationServiceClient(m).Admit(ctx, &crdevalv1.AdmitRequest{
			Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Stage: stage, Items: []*crdevalv1.WriteItem{{Namespace: name}},
		})
		if err != nil {
			p.result <- status.Code(err).String()
			return
		}
		p.result <- r.GetResults()[0].GetVerdict().GetRevision()
	}()
	synctest.Wait()
	return p
}

const (
	finish = crdevalv1.AdmissionStage_ADMISSION_STAGE_FINISH
	decode = crdevalv1.AdmissionStage_ADMISSION_STAGE_DECODE
)

// multiplexing runs a test with virtual time.
func multiplexing(t *testing.T, o MultiplexOptions, test func(*testing.T, *multiplexer, *fakeConn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		conn := &fakeConn{}
		m := newMultiplexer(conn, o)
		defer m.close()
		test(t, m, conn)
	})
}

// TestCallsShareAStream checks that calls that wait go in one message, and that each caller gets its own result.
func TestCallsShareAStream(t *testing.T) {
	multiplexing(t, MultiplexOptions{}, func(t *testing.T, m *multiplexer, conn *fakeConn) {
		a := admitting(t, m, "a", finish)
		s := conn.stream(t, 1)
		s.expect(t, "a")
		if s.first.GetContext().GetCatalog() != "default" || s.first.GetStage() != finish || len(s.first.GetItems()) > 0 {
			t.Errorf("first message %v", s.first)
		}
		var others []pending
		for i := range 3 {
			others = append(others, admitting(t, m, fmt.Sprint("b", i), finish))
		}
		s.expect(t)
		s.answer("A")
		a.expect(t, "A")
		s.expect(t, "b0+b1+b2")
		s.answer("B0")
		s.answer("B1", "B2")
		for i, b := range others {
			b.expect(t, fmt.Sprint("B", i))
		}
		conn.stream(t, 1)
		conn.expectUnary(t, 0)
	})
}

// TestSharedCallsAreCancelled checks that a cancelled call returns at once, before and after it was sent, and that the
// results of the others stay theirs.
func TestSharedCallsAreCancelled(t *testing.T) {
	multiplexing(t, MultiplexOptions{}, func(t *testing.T, m *multiplexer, conn *fakeConn) {
		a, b, c := admitting(t, m, "a", finish), admitting(t, m, "b", finish), admitting(t, m, "c", finish)
		s := conn.stream(t, 1)
		s.expect(t, "a")
		a.cancel()
		b.cancel()
		a.expect(t, "Canceled")
		b.expect(t, "Canceled")
		s.answer("A")
		s.expect(t, "c")
		s.answer("C")
		c.expect(t, "C")

		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		begin := time.Now()
		_, err := crdevalv1.NewEvaluationServiceClient(m).Admit(ctx, &crdevalv1.AdmitRequest{
			Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Stage: finish, Items: []*crdevalv1.WriteItem{{Namespace: "d"}},
		})
		if status.Code(err) != codes.DeadlineExceeded || time.Since(begin) != 50*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		conn.expectUnary(t, 0)
	})
}

// TestFailedStreams checks that the calls of a failed stream are repeated as unary calls, and when the next stream is
// opened.
func TestFailedStreams(t *testing.T) {
	overloaded := failure(t, codes.Unavailable, "OVERLOADED", 3*time.Second)
	for name, c := range map[string]struct {
		answers bool // the stream has answered a call before it failed
		fail    func(*fakeStream)
		wait    time.Duration // until the stream has failed
		pause   time.Duration // until the next stream, at most
	}{
		"lost":                   {fail: func(s *fakeStream) { s.ended <- status.Error(codes.Unavailable, "lost") }, pause: firstPause},
		"lost later":             {answers: true, fail: func(s *fakeStream) { s.ended <- status.Error(codes.Unavailable, "lost") }},
		"ended":                  {answers: true, fail: func(s *fakeStream) { s.ended <- io.EOF }},
		"overloaded":             {fail: func(s *fakeStream) { s.ended <- overloaded }, pause: 3 * time.Second},
		"displaced":              {answers: true, fail: func(s *fakeStream) { s.ended <- overloaded }, pause: 3 * time.Second},
		"stalled":                {answers: true, fail: func(*fakeStream) {}, wait: 2 * stallAfter},
		"too many results":       {answers: true, fail: func(s *fakeStream) { s.answer("A", "B", "C", "D") }},
		"results of other items": {answers: true, fail: func(s *fakeStream) { s.answered++; s.answer("A") }},
	} {
		t.Run(name, func(t *testing.T) {
			multiplexing(t, MultiplexOptions{}, func(t *testing.T, m *multiplexer, conn *fakeConn) {
				before := admitting(t, m, "before", finish)
				s := conn.stream(t, 1)
				if c.answers {
					s.answer("Before")
					before.expect(t, "Before")
				} else {
					before.cancel()
				}
				a, b := admitting(t, m, "a", finish), admitting(t, m, "b", finish)
				c.fail(s)
				time.Sleep(c.wait)
				a.expect(t, "unary")
				b.expect(t, "unary")
				conn.expectUnary(t, 2)
				if c.pause > 0 {
					admitting(t, m, "c", finish).expect(t, "unary")
					conn.expectUnary(t, 1)
					time.Sleep(c.pause)
				}
				d := admitting(t, m, "d", finish)
				conn.stream(t, 2).expect(t, "d")
				conn.streams[1].answer("D")
				d.expect(t, "D")
				conn.expectUnary(t, 0)
			})
		})
	}
}

// TestPausesOfStreamsGrow checks that the pause doubles while streams fail without a result.
func TestPausesOfStreamsGrow(t *testing.T) {
	multiplexing(t, MultiplexOptions{}, func(t *testing.T, m *multiplexer, conn *fakeConn) {
		for i, pause := range []time.Duration{firstPause, 2 * firstPause, 4 * firstPause} {
			a := admitting(t, m, "a", finish)
			conn.stream(t, i+1).ended <- status.Error(codes.Unavailable, "lost")
			a.expect(t, "unary")
			time.Sleep(pause/2 - time.Millisecond)
			admitting(t, m, "b", finish).expect(t, "unary")
			conn.stream(t, i+1)
			time.Sleep(pause/2 + time.Millisecond)
		}
	})
}

// TestIdleStreams checks that an idle stream is closed, and that a busy one is not.
func TestIdleStreams(t *testing.T) {
	multiplexing(t, MultiplexOptions{IdleTimeout: time.Second}, func(t *testing.T, m *multiplexer, conn *fakeConn) {
		for range 5 {
			a := admitting(t, m, "a", finish)
			conn.stream(t, 1).answer("A")
			a.expect(t, "A")
			time.Sleep(900 * time.Millisecond)
		}
		time.Sleep(time.Second)
		if s := conn.stream(t, 1); !s.closed || len(m.streams) != 0 {
			t.Errorf("closed: %v, %d streams", s.closed, len(m.streams))
		}
		a := admitting(t, m, "a", finish)
		conn.stream(t, 2).answer("A")
		a.expect(t, "A")
	})
}

// TestStreamsAreBounded checks that calls with other options get another stream, that the stream that was idle for
// longest is closed for it, and that calls are unary while all streams are in use.
func TestStreamsAreBounded(t *testing.T) {
	multiplexing(t, MultiplexOptions{MaxStreams: 2}, func(t *testing.T, m *multiplexer, conn *fakeConn) {
		stages := []crdevalv1.AdmissionStage{finish, decode, crdevalv1.AdmissionStage_ADMISSION_STAGE_ALL}
		for i, stage := range stages {
			a := admitting(t, m, "a", stage)
			conn.stream(t, i+1).answer("A")
			a.expect(t, "A")
			time.Sleep(time.Millisecond)
		}
		if s := conn.streams; !s[0].closed || s[1].closed || s[2].closed {
			t.Errorf("closed: %v, %v, %v", s[0].closed, s[1].closed, s[2].closed)
		}
		b, c := admitting(t, m, "b", stages[1]), admitting(t, m, "c", stages[2])
		admitting(t, m, "d", stages[0]).expect(t, "unary")
		conn.expectUnary(t, 1)
		conn.streams[1].answer("B")
		conn.streams[2].answer("C")
		b.expect(t, "B")
		c.expect(t, "C")
		conn.stream(t, 3)
	})
}

// TestWaitingCallsAreBounded checks the limits of a message and of the calls that wait.
func TestWaitingCallsAreBounded(t *testing.T) {
	multiplexing(t, MultiplexOptions{}, func(t *testing.T, m *multiplexer, conn *fakeConn) {
		first := admitting(t, m, "a", finish)
		s := conn.stream(t, 1)
		s.expect(t, "a")
		for range maxWaiting {
			admitting(t, m, "b", finish)
		}
		admitting(t, m, "c", finish).expect(t, "unary")
		conn.expectUnary(t, 1)
		s.answer("A")
		first.expect(t, "A")
		s.expect(t, "b"+strings.Repeat("+b", itemsAtOnce-1))
	})
}

// TestUnaryCalls checks which calls do not use a stream.
func TestUnaryCalls(t *testing.T) {
	item := &crdevalv1.WriteItem{Namespace: "a"}
	one := []*crdevalv1.WriteItem{item}
	for name, c := range map[string]struct {
		request *crdevalv1.AdmitRequest
		md      bool
		options []grpc.CallOption
	}{
		"no items":     {request: &crdevalv1.AdmitRequest{}},
		"two items":    {request: &crdevalv1.AdmitRequest{Items: []*crdevalv1.WriteItem{item, item}}},
		"nil item":     {request: &crdevalv1.AdmitRequest{Items: []*crdevalv1.WriteItem{nil}}},
		"inline CRDs":  {request: &crdevalv1.AdmitRequest{Items: one, Context: &crdevalv1.EvaluationContext{Crds: []*crdevalv1.Document{{}}}}},
		"table row":    {request: &crdevalv1.AdmitRequest{Items: one, Include: &crdevalv1.PresentationOptions{TableRow: true}}},
		"large item":   {request: &crdevalv1.AdmitRequest{Items: []*crdevalv1.WriteItem{{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: Document(make([]byte, maxSharedItem))}}}}}},
		"no UTF-8":     {request: &crdevalv1.AdmitRequest{Items: []*crdevalv1.WriteItem{{Namespace: "\xff"}}}},
		"metadata":     {request: &crdevalv1.AdmitRequest{Items: one}, md: true},
		"call options": {request: &crdevalv1.AdmitRequest{Items: one}, options: []grpc.CallOption{grpc.WaitForReady(true)}},
	} {
		t.Run(name, func(t *testing.T) {
			multiplexing(t, MultiplexOptions{}, func(t *testing.T, m *multiplexer, conn *fakeConn) {
				ctx := t.Context()
				if c.md {
					ctx = metadata.AppendToOutgoingContext(ctx, "a", "b")
				}
				if _, err := crdevalv1.NewEvaluationServiceClient(m).Admit(ctx, c.request, c.options...); err != nil {
					t.Error(err)
				}
				conn.expectUnary(t, 1)
				if len(conn.streams) > 0 {
					t.Error("a stream was opened")
				}
			})
		})
	}
}

// TestSettingsOfStreams checks that a stream has every setting of a request.
func TestSettingsOfStreams(t *testing.T) {
	items := []*crdevalv1.WriteItem{{Namespace: "a"}}
	for _, c := range []struct{ request, reply proto.Message }{
		{&crdevalv1.AdmitRequest{Items: items}, &crdevalv1.AdmitResponse{}},
		{&crdevalv1.ReadRequest{Items: []*crdevalv1.ObjectItem{{Crd: "a"}}}, &crdevalv1.ReadResponse{}},
	} {
		m := c.request.ProtoReflect()
		fields := m.Descriptor().Fields()
		for i := range fields.Len() {
			f := fields.Get(i)
			switch {
			case f.Name() == "items":
				if f.Number() != itemsField {
					t.Errorf("%s has the number %d", f.FullName(), f.Number())
				}
			case f.Name() == "crds": // such calls are unary
			case f.Kind() == protoreflect.StringKind:
				m.Set(f, protoreflect.ValueOfString("text"))
			case f.Kind() == protoreflect.EnumKind:
				m.Set(f, protoreflect.ValueOfEnum(1))
			case f.Kind() == protoreflect.MessageKind:
				m.Set(f, m.NewField(f))
			default:
				t.Errorf("the test does not know how to set %s", f.FullName())
			}
		}
		call, first := newSharedCall(c.request, c.reply)
		if call == nil {
			t.Fatalf("%s is unary", m.Descriptor().Name())
		}
		s := first.ProtoReflect()
		if got := s.Descriptor().Fields().ByName("items").Number(); got != itemsField {
			t.Errorf("items of %s has the number %d", s.Descriptor().Name(), got)
		}
		m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			of := s.Descriptor().Fields().ByName(f.Name())
			if f.Name() != "items" && (of == nil || !s.Get(of).Equal(v)) {
				t.Errorf("%s is not a setting of the stream", f.FullName())
			}
			return true
		})
	}
}

// TestClosedMultiplexer checks that calls in progress and later calls have the error of the closed connection.
func TestClosedMultiplexer(t *testing.T) {
	multiplexing(t, MultiplexOptions{}, func(t *testing.T, m *multiplexer, conn *fakeConn) {
		a := admitting(t, m, "a", finish)
		conn.stream(t, 1).expect(t, "a")
		conn.err = errors.New("closed")
		m.close()
		a.expect(t, "Unknown")
		admitting(t, m, "b", finish).expect(t, "Unknown")
		conn.stream(t, 1)
		conn.expectUnary(t, 2)
	})
}
