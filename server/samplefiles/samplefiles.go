// Package samplefiles writes generated objects of CRDs as YAML documents (objects.go) or as a suite for crdeval test
// (suite.go).
package samplefiles

import (
	"io"
	"os"
	"path/filepath"
)

// Writer writes generated objects to files of a directory, or to Out.
type Writer struct {
	Out       io.Writer
	Directory string // "" for Out
}

// write writes a file of the directory, or prints its content.
func (w *Writer) write(name string, content []byte) error {
	if w.Directory == "" {
		_, err := w.Out.Write(content)
		return err
	}
	path := filepath.Join(w.Directory, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o666)
}
