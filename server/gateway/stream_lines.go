package gateway

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc/codes"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// piece is what a streamed body consists of: a line of JSON, or a document of YAML.
type piece struct {
	text   []byte
	line   int   // of the body, from 1, on which text begins
	offset int64 // in bytes
}

// splitter cuts a body into pieces as it comes.
type splitter interface {
	// next returns the next piece that has anything in it. The error at the end of the body is io.EOF, one of ours a status.
	next() (piece, error)
	// ready says whether next returns a piece of what has arrived already, without waiting for more. It may say no too often.
	ready() bool
}

// bodyLines cuts a body into its lines. Lines of white space alone are left out.
type bodyLines struct {
	from   *bufio.Reader
	most   int   // bytes in a piece
	held   *room // grows with what is read; what is in no piece is given back here, pieces by the caller
	line   int   // of what comes next
	offset int64
}

func newLines(body io.Reader, most int64, held *room) *bodyLines {
	const readAhead = 64 << 10
	return &bodyLines{from: bufio.NewReaderSize(body, readAhead), most: int(most), held: held, line: 1}
}

func (l *bodyLines) ready() bool {
	waiting, _ := l.from.Peek(l.from.Buffered()) // what is buffered is there
	return bytes.IndexByte(waiting, '\n') >= 0
}

func (l *bodyLines) next() (piece, error) {
	for {
		p := piece{line: l.line, offset: l.offset}
		var err error
		p.text, err = l.read(nil)
		if err != nil && (!errors.Is(err, io.EOF) || len(p.text) == 0) {
			return piece{}, err
		}
		if len(bytes.TrimLeft(p.text, " \t\r\n")) > 0 {
			return p, nil
		}
		l.held.give(int64(len(p.text)))
	}
}

// read appends a line to a piece, line feed included. At the end of the body it returns what there is and io.EOF.
func (l *bodyLines) read(text []byte) ([]byte, error) {
	begun := l.line
	for {
		part, err := l.from.ReadSlice('\n')
		if len(text)+len(part) > l.most {
			return nil, l.tooLong(begun)
		}
		if full := l.held.take(int64(len(part))); full != nil {
			return nil, full
		}
		text = append(text, part...)
		l.offset += int64(len(part))
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == nil:
			l.line++
		}
		return text, err
	}
}

// tooLong is the error of a piece that begins on this line.
func (l *bodyLines) tooLong(line int) error {
	return failure(codes.ResourceExhausted, crdevalv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED,
		fmt.Sprintf("line %d: what begins here has more bytes than the limit max_message_bytes, which is %d", line, l.most),
		map[string]string{"limit": "max_message_bytes", "maximum": fmt.Sprint(l.most), "line": fmt.Sprint(line)})
}
