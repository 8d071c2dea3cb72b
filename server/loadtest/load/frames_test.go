package load

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"
)

// frames is an HTTP/2 connection to a gRPC server that sends single frames. It can break the rules that gRPC clients
// keep: it grants no window, or never ends a message. A goroutine reads all frames.
type frames struct {
	conn    net.Conn
	framer  *http2.Framer
	sending sync.Mutex // of framer, encoder, header and next
	encoder *hpack.Encoder
	header  bytes.Buffer
	next    uint32

	mu      sync.Mutex
	changed *sync.Cond
	window  int64            // bytes that may be sent on the connection
	initial int64            // of a new stream
	streams map[uint32]int64 // windows of streams
	answers map[uint32]answer
	err     error // ended the connection
}

// answer is what the server sent for a stream.
type answer struct {
	at     time.Time
	status string // of grpc-status; "reset" for RST_STREAM
	bytes  int    // of data
	ended  bool
}

// dialFrames opens a connection. window is the window that the server gets for each stream, at least 65,535 for the
// connection.
func dialFrames(ctx context.Context, address string, window uint32) (*frames, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	f := &frames{
		conn: conn, framer: http2.NewFramer(conn, conn), next: 1, window: 65535, initial: 65535,
		streams: map[uint32]int64{}, answers: map[uint32]answer{},
	}
	f.changed, f.encoder = sync.NewCond(&f.mu), hpack.NewEncoder(&f.header)
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	if _, err = conn.Write([]byte(http2.ClientPreface)); err == nil {
		err = f.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})
	}
	if err == nil && window > 65535 {
		err = f.framer.WriteWindowUpdate(0, window)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	go f.read()
	return f, nil
}

// read reads frames until the connection ends.
func (f *frames) read() {
	f.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		frame, err := f.framer.ReadFrame()
		if err == nil {
			err = f.reply(frame)
		}
		f.mu.Lock()
		if err == nil {
			f.apply(frame)
		} else {
			f.err = err
		}
		f.changed.Broadcast()
		f.mu.Unlock()
		if err != nil {
			_ = f.conn.Close()
			return
		}
	}
}

// reply acknowledges settings and pings. It returns an error if the server ends the connection.
func (f *frames) reply(frame http2.Frame) error {
	f.sending.Lock()
	defer f.sending.Unlock()
	switch frame := frame.(type) {
	case *http2.SettingsFrame:
		if !frame.IsAck() {
			return f.framer.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if !frame.IsAck() {
			return f.framer.WritePing(true, frame.Data)
		}
	case *http2.GoAwayFrame:
		if frame.ErrCode != http2.ErrCodeNo {
			return fmt.Errorf("GOAWAY: %v: %s", frame.ErrCode, frame.DebugData())
		}
	}
	return nil
}

func (f *frames) apply(frame http2.Frame) {
	a := f.answers[frame.Header().StreamID]
	switch frame := frame.(type) {
	case *http2.SettingsFrame:
		if v, ok := frame.Value(http2.SettingInitialWindowSize); ok {
			for id := range f.streams {
				f.streams[id] += int64(v) - f.initial
			}
			f.initial = int64(v)
		}
		return
	case *http2.WindowUpdateFrame:
		if frame.StreamID == 0 {
			f.window += int64(frame.Increment)
		} else if _, open := f.streams[frame.StreamID]; open {
			f.streams[frame.StreamID] += int64(frame.Increment)
		}
		return
	case *http2.DataFrame:
		a.bytes += len(frame.Data())
	case *http2.MetaHeadersFrame:
		for _, h := range frame.RegularFields() {
			if h.Name == "grpc-status" {
				a.status = h.Value
			}
		}
		a.ended = frame.StreamEnded()
	case *http2.RSTStreamFrame:
		a.status, a.ended = "reset", true
	default:
		return
	}
	if a.ended {
		a.at = time.Now()
		delete(f.streams, frame.Header().StreamID)
	}
	f.answers[frame.Header().StreamID] = a
}

// open sends the headers of a call. more has further headers, as pairs. It returns the id of the stream.
func (f *frames) open(method string, more ...string) (uint32, error) {
	f.sending.Lock()
	defer f.sending.Unlock()
	f.header.Reset()
	fields := append([]string{
		":method", "POST", ":scheme", "http", ":path", method, ":authority", "localhost",
		"content-type", "application/grpc", "te", "trailers",
	}, more...)
	for i := 0; i < len(fields); i += 2 {
		if err := f.encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}); err != nil {
			return 0, err
		}
	}
	id := f.next
	f.next += 2
	f.mu.Lock()
	f.streams[id] = f.initial
	f.mu.Unlock()
	const frameSize = 16 << 10
	block := f.header.Bytes()
	first := block[:min(len(block), frameSize)]
	rest := block[len(first):]
	err := f.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: first, EndHeaders: len(rest) == 0})
	for err == nil && len(rest) > 0 {
		part := rest[:min(len(rest), frameSize)]
		rest = rest[len(part):]
		err = f.framer.WriteContinuation(id, len(rest) == 0, part)
	}
	return id, err
}

// send sends data on a stream as the windows of the server permit. end ends the stream.
func (f *frames) send(id uint32, data []byte, end bool) error {
	for {
		f.mu.Lock()
		for f.err == nil && len(data) > 0 && !f.answers[id].ended && min(f.window, f.streams[id]) <= 0 {
			f.changed.Wait()
		}
		part := data[:min(int64(len(data)), max(min(f.window, f.streams[id]), 0), 16<<10)]
		if f.err != nil || f.answers[id].ended {
			err := f.err
			f.mu.Unlock()
			return err
		}
		f.window -= int64(len(part))
		f.streams[id] -= int64(len(part))
		f.mu.Unlock()
		data = data[len(part):]
		f.sending.Lock()
		err := f.framer.WriteData(id, end && len(data) == 0, part)
		f.sending.Unlock()
		if err != nil || len(data) == 0 {
			return err
		}
	}
}

// call opens a stream and sends a message.
func (f *frames) call(method string, m proto.Message, more ...string) (uint32, error) {
	id, err := f.open(method, more...)
	if err != nil {
		return 0, err
	}
	return id, f.send(id, message(m), true)
}

// wait waits until the server has ended a stream, or the connection ends.
func (f *frames) wait(id uint32) (answer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.err == nil && !f.answers[id].ended {
		f.changed.Wait()
	}
	if a := f.answers[id]; a.ended {
		return a, nil
	}
	return answer{}, f.err
}

// untilEnded waits until the server has ended n streams or the connection, and closes the connection. The error says how
// the streams ended. It is nil if ctx ends first.
func (f *frames) untilEnded(ctx context.Context, n int) error {
	f.mu.Lock()
	ended := map[string]int{}
	for {
		count := 0
		clear(ended)
		for _, a := range f.answers {
			if a.ended {
				ended[a.status]++
				count++
			}
		}
		if count >= n || f.err != nil {
			break
		}
		f.changed.Wait()
	}
	cause := fmt.Sprint(f.err)
	f.mu.Unlock()
	_ = f.conn.Close()
	select {
	case <-ctx.Done():
		return nil
	default:
	}
	return fmt.Errorf("streams by status: %v; connection: %s", ended, cause)
}

// message returns a message with the prefix of gRPC.
func message(m proto.Message) []byte {
	text, err := proto.Marshal(m)
	if err != nil {
		panic(err) // cannot happen: all strings are UTF-8
	}
	return append(prefix(len(text)), text...)
}

// prefix announces a message of n bytes.
func prefix(n int) []byte { return binary.BigEndian.AppendUint32([]byte{0}, uint32(n)) }

// method returns the path of a method of crdeval.v1.
func method(service, name string) string {
	return "/" + strings.Join([]string{"crdeval.v1." + service, name}, "/")
}
