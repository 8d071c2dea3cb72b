package transport

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"strings"
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

// Tokens are the bearer tokens that the server accepts. The file has one token on each line. Empty lines and lines
// that begin with # are ignored. The file may be replaced while the server runs.
type Tokens struct {
	current *rotating[map[[sha256.Size]byte]bool]
}

// NewTokens reads the file. A file without tokens is valid and rejects all callers: emptying it revokes every token.
func NewTokens(path string, log *slog.Logger) (*Tokens, error) {
	current, err := newRotating([]string{path}, func(contents [][]byte) (map[[sha256.Size]byte]bool, error) {
		digests := map[[sha256.Size]byte]bool{}
		for line := range strings.Lines(string(contents[0])) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				digests[sha256.Sum256([]byte(line))] = true
			}
		}
		if len(digests) == 0 {
			log.Warn("the token file has no tokens: all callers are rejected", "file", path)
		}
		return digests, nil
	})
	if err != nil {
		return nil, fmt.Errorf("bearer tokens: %w", err)
	}
	return &Tokens{current: current}, nil
}

// Run reads the file again every PollInterval until ctx ends.
func (t *Tokens) Run(ctx context.Context, log *slog.Logger) {
	t.current.poll(ctx, PollInterval, "the bearer tokens", log)
}

// known compares digests, so that the time does not depend on how much of a token matches.
func (t *Tokens) known(token string) bool { return t.current.get()[sha256.Sum256([]byte(token))] }
