package load

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"
)

// wire is an HTTP/2 connection that makes many equal unary calls of gRPC. It takes less CPU time than a client of gRPC:
// the load on one core must exceed the capacity of a server on another one.
type wire struct {
	conn    net.Conn
	request []byte // the message with its prefix
	ended   func(due time.Time, status string, hint bool)

	mu            sync.Mutex
	changed       *sync.Cond
	framer        *http2.Framer
	out           bytes.Buffer
	first, header []byte      // header blocks of the first call and of the others
	window        int64       // of the connection
	streamWindow  int64       // of new streams
	maxStreams    int         // that the server permits at a time
	open          int         // calls without an answer
	bodies        []*body     // not sent yet
	due           []time.Time // of the calls, in the order of their streams
	err           error
}

// dialWire opens a connection. ended is called for each answer: with the time at which its call was due, grpc-status, and
// whether the status has a RetryInfo.
func dialWire(address, method string, m proto.Message, ended func(time.Time, string, bool)) (*wire, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	w := &wire{conn: conn, ended: ended, request: message(m), window: 65535, streamWindow: 65535, maxStreams: 100}
	w.changed, w.framer = sync.NewCond(&w.mu), http2.NewFramer(&w.out, nil)
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, into := range []*[]byte{&w.first, &w.header} { // the second refers to the table of the first
		block.Reset()
		for _, f := range [][2]string{
			{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", "load"},
			{"content-type", "application/grpc"}, {"te", "trailers"},
		} {
			if err := encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
				return nil, err
			}
		}
		*into = bytes.Clone(block.Bytes())
	}
	w.out.WriteString(http2.ClientPreface)
	const window = 1 << 30 // answers are small
	_ = w.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})
	_ = w.framer.WriteWindowUpdate(0, window)
	w.flush()
	go w.read()
	return w, nil
}

// body is the rest of the message of a call.
type body struct {
	id     uint32
	rest   []byte
	window int64
}

// send makes calls that were due at some times. It waits while the window or the streams of the connection are used up.
func (w *wire) send(due ...time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, at := range due {
		for (w.window <= 0 || w.open >= w.maxStreams) && w.err == nil {
			w.flush()
			w.changed.Wait()
		}
		if w.err != nil {
			return
		}
		id, block := uint32(2*len(w.due)+1), w.header
		if id == 1 {
			block = w.first
		}
		w.due = append(w.due, at)
		w.open++
		_ = w.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndHeaders: true})
		w.bodies = append(w.bodies, &body{id, w.request, w.streamWindow})
		w.sendBodies()
	}
	w.flush()
}

// sendBodies sends what the windows permit. As clients of gRPC do, it sends no more of a call that is answered.
func (w *wire) sendBodies() {
	const maxFrame, maxUnsent = 16 << 10, 64 << 10
	w.bodies = slices.DeleteFunc(w.bodies, func(b *body) bool {
		for len(b.rest) > 0 && !w.due[b.id/2].IsZero() {
			n := min(int64(len(b.rest)), maxFrame, b.window, w.window)
			if n <= 0 {
				return false
			}
			_ = w.framer.WriteData(b.id, int(n) == len(b.rest), b.rest[:n])
			b.rest, b.window, w.window = b.rest[n:], b.window-n, w.window-n
			if w.out.Len() > maxUnsent {
				w.flush()
			}
		}
		return true
	})
}

func (w *wire) flush() {
	_, _ = w.conn.Write(w.out.Bytes()) // the reader gets the error
	w.out.Reset()
}

// read reads frames until the connection ends.
func (w *wire) read() {
	var status, details string
	decoder := hpack.NewDecoder(4096, func(f hpack.HeaderField) {
		switch f.Name {
		case "grpc-status":
			status = f.Value
		case "grpc-status-details-bin":
			details = f.Value
		}
	})
	r := bufio.NewReaderSize(w.conn, 64<<10)
	var err error
	for err == nil {
		var head [9]byte
		if _, err = io.ReadFull(r, head[:]); err != nil {
			break
		}
		kind, flags := http2.FrameType(head[3]), http2.Flags(head[4])
		id := binary.BigEndian.Uint32(head[5:])
		payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if kind == http2.FrameData {
			_, err = r.Discard(len(payload))
			continue
		}
		if _, err = io.ReadFull(r, payload); err != nil {
			break
		}
		switch kind {
		case http2.FrameHeaders:
			status, details = "", ""
			if _, err = decoder.Write(payload); err == nil && flags.Has(http2.FlagHeadersEndStream) {
				w.end(id, status, details)
			}
		case http2.FrameRSTStream:
			w.end(id, "reset", "")
		default:
			w.control(kind, flags, id, payload)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
	w.changed.Broadcast()
}

// control answers the other frames.
func (w *wire) control(kind http2.FrameType, flags http2.Flags, id uint32, payload []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case kind == http2.FrameSettings && !flags.Has(http2.FlagSettingsAck):
		for ; len(payload) >= 6; payload = payload[6:] {
			value := binary.BigEndian.Uint32(payload[2:])
			switch http2.SettingID(binary.BigEndian.Uint16(payload)) {
			case http2.SettingInitialWindowSize:
				w.streamWindow = int64(value)
			case http2.SettingMaxConcurrentStreams:
				w.maxStreams = int(value)
				w.changed.Broadcast()
			}
		}
		_ = w.framer.WriteSettingsAck()
	case kind == http2.FramePing && !flags.Has(http2.FlagPingAck):
		_ = w.framer.WritePing(true, [8]byte(payload))
	case kind == http2.FrameWindowUpdate:
		increment := int64(binary.BigEndian.Uint32(payload))
		if id == 0 {
			w.window += increment
			w.changed.Broadcast()
		}
		for _, b := range w.bodies {
			if b.id == id {
				b.window += increment
			}
		}
		w.sendBodies()
	}
	w.flush()
}

func (w *wire) end(id uint32, status, details string) {
	w.mu.Lock()
	at := w.due[id/2]
	w.due[id/2] = time.Time{}
	if !at.IsZero() {
		w.open--
		w.changed.Broadcast()
	}
	w.mu.Unlock()
	if at.IsZero() {
		return
	}
	raw, _ := base64.RawStdEncoding.DecodeString(details)
	w.ended(at, status, bytes.Contains(raw, []byte("google.rpc.RetryInfo")))
}
