package transport

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

// PollInterval is how often rotated files are read again. Polling is reliable: mounted secrets change by a symbolic link
// two directories up, and file events can be missed.
const PollInterval = 10 * time.Second

// rotating is a value parsed from files. It is parsed again after their content changes.
type rotating[T any] struct {
	paths []string
	parse func(contents [][]byte) (T, error)
	last  [][]byte
	value atomic.Pointer[T]
}

// newRotating reads the files for the first time.
func newRotating[T any](paths []string, parse func([][]byte) (T, error)) (*rotating[T], error) {
	r := &rotating[T]{paths: paths, parse: parse}
	if _, err := r.reload(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *rotating[T]) get() T { return *r.value.Load() }

// reload parses the files if one has changed. After an error, it keeps the value.
func (r *rotating[T]) reload() (changed bool, err error) {
	contents := make([][]byte, len(r.paths))
	same := r.last != nil
	for i, path := range r.paths {
		if contents[i], err = os.ReadFile(path); err != nil {
			return false, err
		}
		same = same && bytes.Equal(contents[i], r.last[i])
	}
	if same {
		return false, nil
	}
	v, err := r.parse(contents)
	if err != nil {
		return false, err
	}
	r.last = contents
	r.value.Store(&v)
	return true, nil
}

// poll reloads regularly until ctx ends. It logs each error once.
func (r *rotating[T]) poll(ctx context.Context, interval time.Duration, what string, log *slog.Logger) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	logged := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		switch changed, err := r.reload(); {
		case err != nil && err.Error() != logged:
			logged = err.Error()
			log.ErrorContext(ctx, "cannot reload "+what+"; the previously loaded version stays in use", "error", err)
		case err == nil:
			logged = ""
			if changed {
				log.InfoContext(ctx, "reloaded "+what)
			}
		}
	}
}
