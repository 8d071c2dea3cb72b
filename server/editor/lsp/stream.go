package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/sourcegraph/jsonrpc2"
)

// maxMessage bounds a message in bytes.
const maxMessage = 64 << 20

// maxHeader bounds a header line in bytes.
const maxHeader = 4 << 10

// stream reads and writes messages with a Content-Length header. If a message is not JSON-RPC, it sends an error
// response and continues with the next message.
type stream struct {
	in  *bufio.Reader
	mu  sync.Mutex
	out io.Writer
}

func newStream(in io.Reader, out io.Writer) *stream {
	return &stream{in: bufio.NewReaderSize(in, maxHeader), out: out}
}

// ReadObject implements jsonrpc2.ObjectStream. An error ends the connection.
func (s *stream) ReadObject(v any) error {
	for {
		length, err := s.header()
		if err != nil {
			return err
		}
		body := make([]byte, length)
		if _, err := io.ReadFull(s.in, body); err != nil {
			return fmt.Errorf("a message of %d bytes is incomplete: %w", length, err)
		}
		if !json.Valid(body) {
			err = s.fail(jsonrpc2.CodeParseError, "the message is not JSON")
		} else if failed := json.Unmarshal(body, v); failed != nil {
			err = s.fail(jsonrpc2.CodeInvalidRequest, "the message is not a JSON-RPC request or response")
		} else {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// header reads the header of a message and returns its length.
func (s *stream) header() (length int, err error) {
	length = -1
	for first := true; ; first = false {
		line, err := s.in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return 0, fmt.Errorf("a header line has more than %d bytes", maxHeader)
		case errors.Is(err, io.EOF) && first && len(line) == 0:
			return 0, io.EOF
		case err != nil:
			return 0, fmt.Errorf("a header is incomplete: %w", err)
		}
		text := strings.TrimRight(string(line), "\r\n")
		name, value, ok := strings.Cut(text, ":")
		switch {
		case text == "" && length >= 0:
			return length, nil
		case text == "":
			return 0, errors.New("a message has no Content-Length header")
		case !ok:
			return 0, fmt.Errorf("the header line %q has no colon", text)
		case strings.EqualFold(name, "Content-Length"):
			length, err = strconv.Atoi(strings.TrimSpace(value))
			if err != nil || length < 0 || length > maxMessage {
				return 0, fmt.Errorf("Content-Length is %q: it must be from 0 to %d", strings.TrimSpace(value), maxMessage)
			}
		}
	}
}

// fail writes an error response without an id.
func (s *stream) fail(code int64, message string) error {
	return s.WriteObject(map[string]any{
		"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": message},
	})
}

// WriteObject implements jsonrpc2.ObjectStream.
func (s *stream) WriteObject(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = fmt.Fprintf(s.out, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return err
}

// Close implements jsonrpc2.ObjectStream. The caller owns input and output.
func (s *stream) Close() error { return nil }
