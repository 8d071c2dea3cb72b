// Package reload reads files that change while the server runs, such as certificates, tokens and access rules.
package reload

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Interval is how often files are read again. Polling is reliable: mounted secrets change by a symbolic link two
// directories up, and file events can be missed.
const Interval = 10 * time.Second

// Value is a value parsed from files. If their content changes and is invalid, the previous value stays in use.
type Value[T any] struct {
	paths []string
	parse func(contents [][]byte) (T, error)
	value atomic.Pointer[T]

	mu     sync.Mutex
	last   [][]byte
	logged string // the last error
}

// New reads the files for the first time. It returns an error if a file cannot be read or parse fails.
func New[T any](paths []string, parse func([][]byte) (T, error)) (*Value[T], error) {
	v := &Value[T]{paths: paths, parse: parse}
	if _, err := v.Reload(); err != nil {
		return nil, err
	}
	return v, nil
}

// Get returns the current value.
func (v *Value[T]) Get() T { return *v.value.Load() }

// Reload parses the files if one has changed. After an error, it keeps the value.
func (v *Value[T]) Reload() (changed bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	contents := make([][]byte, len(v.paths))
	same := v.last != nil
	for i, path := range v.paths {
		if contents[i], err = os.ReadFile(path); err != nil {
			return false, err
		}
		same = same && bytes.Equal(contents[i], v.last[i])
	}
	if same {
		return false, nil
	}
	parsed, err := v.parse(contents)
	if err != nil {
		return false, err
	}
	v.last = contents
	v.value.Store(&parsed)
	return true, nil
}

// Poll calls Reload and logs its result. what names the files in the log. It logs each error once.
func (v *Value[T]) Poll(ctx context.Context, what string, log *slog.Logger) {
	changed, err := v.Reload()
	text := ""
	if err != nil {
		text = err.Error()
	}
	v.mu.Lock()
	repeated := text == v.logged
	v.logged = text
	v.mu.Unlock()
	switch {
	case err != nil && !repeated:
		log.ErrorContext(ctx, "cannot reload "+what+"; the previously loaded version stays in use", "error", err)
	case changed:
		log.InfoContext(ctx, "reloaded "+what)
	}
}

// Run calls f every interval until ctx ends.
func Run(ctx context.Context, interval time.Duration, f func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f()
		}
	}
}
