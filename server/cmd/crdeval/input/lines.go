package input

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/crdeval/crdeval/engine/workspace"
)

// maxLine bounds a line of JSON.
const maxLine = 64 << 20

// Documents yields the manifests of files. It reads a file whose first line is a JSON object line by line. The error of
// a file comes with the file's name.
func (r Reader) Documents(ctx context.Context, names ...string) iter.Seq2[*workspace.Manifest, error] {
	return func(yield func(*workspace.Manifest, error) bool) {
		for _, name := range names {
			for _, s := range r.Sources(name) {
				if !r.lines(ctx, s, yield) {
					return
				}
			}
		}
	}
}

// lines yields the documents of a file. It returns false if yield does.
func (r Reader) lines(ctx context.Context, s workspace.Source, yield func(*workspace.Manifest, error) bool) bool {
	name := s.Name
	failed := func(err error) bool { return yield(nil, fmt.Errorf("%s: %w", name, err)) }
	from, end, err := r.openStream(ctx, name)
	if err != nil {
		if _, why := s.Read(ctx); why != nil { // such as a URL
			err = why
		}
		return failed(err)
	}
	defer end()
	in := bufio.NewReaderSize(interruptible{ctx, from}, 64<<10)
	line, err := readLine(in)
	if err != nil && !errors.Is(err, io.EOF) {
		return failed(cause(err))
	}
	if head := bytes.TrimSpace(line); len(head) == 0 || head[0] != '{' || !json.Valid(head) {
		rest, err := workspace.ReaderSource(name, in).Read(ctx)
		if err != nil {
			return failed(interrupted(ctx, err))
		}
		f := workspace.Parse(workspace.Source{Name: name}, append(line, rest...), 0)
		return yieldAll(f.Manifests, yield)
	}
	for n := 0; ; n++ {
		if !yieldAll(workspace.Parse(workspace.Source{Name: name}, line, n).Manifests, yield) {
			return false
		}
		if errors.Is(err, io.EOF) {
			return true
		}
		if line, err = readLine(in); err != nil && !errors.Is(err, io.EOF) {
			return failed(fmt.Errorf("line %d: %w", n+2, err))
		}
	}
}

func yieldAll(list []*workspace.Manifest, yield func(*workspace.Manifest, error) bool) bool {
	for _, m := range list {
		if !yield(m, nil) {
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
	ctx  context.Context //nolint:containedctx // an io.Reader takes none
	from io.Reader
}

// Read implements io.Reader.
func (r interruptible) Read(p []byte) (int, error) {
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
	case <-r.ctx.Done():
		return 0, ErrInterrupted
	}
}
