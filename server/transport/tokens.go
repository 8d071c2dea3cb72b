package transport

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"strings"
)

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
