// Package logfile appends to files that programs such as logrotate rename: Notify opens them again after SIGHUP.
package logfile

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// mode makes files readable only for their owner: logs contain names and addresses of callers.
const mode = 0o600

// File is a file to which text is appended. It is safe for concurrent use.
type File struct {
	path string

	mu   sync.Mutex
	file *os.File
}

// Open opens a file for appending, and creates it if it does not exist.
func Open(path string) (*File, error) {
	file, err := open(path)
	if err != nil {
		return nil, err
	}
	return &File{path: path, file: file}, nil
}

func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, mode)
}

// Write appends text.
func (f *File) Write(text []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file.Write(text)
}

// Reopen opens the path again, so that later text goes to a new file if the old one was renamed or removed. After an
// error, text still goes to the old file.
func (f *File) Reopen() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	file, err := open(f.path)
	if err != nil {
		return err
	}
	old := f.file
	f.file = file
	return old.Close()
}

// Close closes the file.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file.Close()
}

// Notify calls reopen after each SIGHUP, until stop is called. Without Notify, SIGHUP ends the process.
func Notify(reopen func()) (stop func()) {
	signals, ended := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGHUP)
	go func() {
		defer close(ended)
		for range signals {
			reopen()
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
		<-ended
	}
}
