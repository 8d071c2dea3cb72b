package input

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"

	"github.com/crdeval/crdeval/engine/value"
	"github.com/crdeval/crdeval/engine/workspace"
)

// maxLine bounds a line of JSON.
const maxLine = 64 << 20

// Documents is like Each, but reads a file whose first line is a JSON object line by line.
func (r Reader) Documents(names ...string) iter.Seq2[*Source, error] {
	return func(yield func(*Source, error) bool) {
		for _, name := range names {
			files, err := r.Files(name)
			if err != nil && !yield(unreadable(name), err) {
				return
			}
			for _, file := range files {
				if !r.lines(file, yield) {
					return
				}
			}
		}
	}
}

// lines yields the documents of a file. It returns false if yield does.
func (r Reader) lines(name string, yield func(*Source, error) bool) bool {
	failed := func(err error) bool {
		if e := (*fs.PathError)(nil); errors.As(err, &e) {
			err = e.Err
		}
		return yield(unreadable(name), err)
	}
	from := r.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return failed(err)
		}
		defer func() { _ = f.Close() }()
		from = f
	}
	in := bufio.NewReaderSize(interruptible{from, r.Interrupted}, 64<<10)
	line, err := readLine(in)
	if err != nil && !errors.Is(err, io.EOF) {
		return failed(err)
	}
	if head := bytes.TrimSpace(line); len(head) == 0 || head[0] != '{' || !json.Valid(head) {
		rest, err := io.ReadAll(io.LimitReader(in, maxFileBytes+1))
		if err == nil && len(rest) > maxFileBytes {
			err = fmt.Errorf("the file is larger than %d MiB and not one JSON object per line: split it", maxFileBytes>>20)
		}
		if err != nil {
			return failed(err)
		}
		return yieldAll(SourcesOf(name, workspace.Read(append(line, rest...))), yield)
	}
	for n := 0; ; n++ {
		for _, s := range SourcesOf(name, workspace.ReadText(value.NewTextAfter(line, n))) {
			s.Location.Number, s.several = n+1, true
			if !yield(s, nil) {
				return false
			}
		}
		if errors.Is(err, io.EOF) {
			return true
		}
		if line, err = readLine(in); err != nil && !errors.Is(err, io.EOF) {
			return failed(fmt.Errorf("line %d: %w", n+2, err))
		}
	}
}

func yieldAll(list []*Source, yield func(*Source, error) bool) bool {
	for _, s := range list {
		if !yield(s, nil) {
			return false
		}
	}
	return true
}

// readLine returns a line with its end. At the end of the file, the error is io.EOF, and the line can be empty.
func readLine(in *bufio.Reader) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, fmt.Errorf("the line is longer than %d MiB", maxLine>>20)
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// interruptible is a reader that can be interrupted while it waits for bytes.
type interruptible struct {
	from        io.Reader
	interrupted <-chan struct{}
}

// Read implements io.Reader.
func (r interruptible) Read(p []byte) (int, error) {
	if r.interrupted == nil {
		return r.from.Read(p)
	}
	type result struct {
		content []byte
		err     error
	}
	done := make(chan result, 1)
	go func() {
		own := make([]byte, len(p)) // p must not change after an interruption
		n, err := r.from.Read(own)
		done <- result{own[:n], err}
	}()
	select {
	case r := <-done:
		return copy(p, r.content), r.err
	case <-r.interrupted:
		return 0, errors.New("interrupted")
	}
}
