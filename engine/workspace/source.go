package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
)

// Source is a named text: a file, standard input, a URL, the CRDs of a cluster, the buffer of an editor, or the body of
// a request.
type Source struct {
	// Name identifies the text in messages.
	Name string
	// Path is the slash-separated path of a file in the file system of the workspace, "" for a text that is not a file.
	// CRDs apply to objects by their paths.
	Path string
	// Given says that the user named the text as a source of CRDs. Its CRDs take precedence over all others.
	Given bool
	// Read returns the text. It bounds the size of the text, and fails when the context ends.
	Read func(ctx context.Context) ([]byte, error)
}

// key identifies a source in a workspace.
func (s *Source) key() string { return cmp.Or(s.Path, s.Name) }

// maxSourceBytes is the default bound on the size of a source.
const maxSourceBytes = 512 << 20

// irregularError is the error of reading a directory, a pipe, a device or a socket as a file of a workspace.
type irregularError struct{}

// Error returns the message.
func (irregularError) Error() string { return "it is not a regular file" }

// Unwrap returns the error of package fs for it.
func (irregularError) Unwrap() error { return fs.ErrInvalid }

// FileSource returns the source of a file of at most limit bytes, 0 for 512 MiB. Reading anything but a regular file
// fails with fs.ErrInvalid. Errors do not name the file.
func FileSource(fsys fs.FS, name, file string, limit int64) Source {
	limit = cmp.Or(limit, maxSourceBytes)
	return Source{Name: name, Path: path.Clean(file), Read: func(ctx context.Context) ([]byte, error) {
		info, err := fs.Stat(fsys, file)
		if err == nil && !info.Mode().IsRegular() {
			err = irregularError{}
		}
		if err != nil {
			return nil, unnamed(err)
		}
		f, err := fsys.Open(file)
		if err != nil {
			return nil, unnamed(err)
		}
		defer func() { _ = f.Close() }()
		return readBounded(ctx, f, info.Size(), limit)
	}}
}

// ReaderSource returns the source of what a reader has left, at most 512 MiB. It can be read once.
func ReaderSource(name string, r io.Reader) Source {
	return Source{Name: name, Read: func(ctx context.Context) ([]byte, error) {
		return readBounded(ctx, r, 0, maxSourceBytes)
	}}
}

// unnamed returns the cause of an error that names a file: the caller names it.
func unnamed(err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// readPart is how many bytes are read between two checks of the context.
const readPart = 1 << 20

// readBounded reads a text of at most limit bytes. size is its expected size, 0 if it is unknown. It returns an error
// if the text is longer, or when the context ends.
func readBounded(ctx context.Context, r io.Reader, size, limit int64) ([]byte, error) {
	tooLarge := fmt.Errorf("it is larger than %d MiB: split it", limit>>20)
	if size > limit {
		return nil, tooLarge
	}
	text := make([]byte, 0, max(size, 511)+1) // the buffer need not grow to detect the end
	for {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if len(text) == cap(text) {
			text = append(text, 0)[:len(text)]
		}
		n, err := r.Read(text[len(text):min(cap(text), len(text)+readPart)])
		text = text[:len(text)+n]
		switch {
		case int64(len(text)) > limit:
			return nil, tooLarge
		case errors.Is(err, io.EOF):
			return text, nil
		case err != nil:
			return nil, unnamed(err)
		}
	}
}
