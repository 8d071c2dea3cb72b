package repository

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// errIrregular is the error of reading a directory, a pipe, a device or a socket.
var errIrregular = errors.New("it is not a regular file")

// isIrregular reports whether a name is that of a directory, a pipe, a device or a socket. Reading a pipe or a device
// can block, or never end. A name that does not exist is not irregular.
func isIrregular(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.Mode().IsRegular()
}

// ReadRegular reads a regular file of at most limit bytes. Errors have the name of the file.
func ReadRegular(name string, limit int64) ([]byte, error) {
	if isIrregular(name) {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errIrregular}
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s has more than %d MiB", name, limit>>20)
	}
	return text, err
}
