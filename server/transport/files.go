package transport

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

// PollInterval is how often files that may be rotated are read again. Polling contents, not events: mounted secrets change by a
// symbolic link two directories up, and a missed event would be a missed certificate.
const PollInterval = 10 * time.Second

// rotating is a value made from files, made anew when their contents change.
type rotating[T any] struct {
	paths []string
	parse func(contents [][]byte) (T, error)
	last  [][]byte
	value atomic.Pointer[T]
}

// newRotating reads the files for the first time; here every problem is an error.
func newRotating[T any](paths []string, parse func([][]byte) (T, error)) (*rotating[T], error) {
	r := &rotating[T]{paths: paths, parse: parse}
	if _, err := r.reload(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *rotating[T]) get() T { return *r.value.Load() }

// reload makes the value anew if any file changed. After an error the old value stays.
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

// poll reloads every interval until ctx ends. While the files make no sense the old value stays in use, and the log says so once a problem.
func (r *rotating[T]) poll(ctx context.Context, interval time.Duration, what string, log *slog.Logger) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	told := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		changed, err := r.reload()
		switch {
		case err != nil && err.Error() != told:
			told = err.Error()
			log.ErrorContext(ctx, "cannot reload "+what+"; what was loaded before stays in use", "error", err)
		case err == nil:
			told = ""
			if changed {
				log.InfoContext(ctx, "reloaded "+what)
			}
		}
	}
}
