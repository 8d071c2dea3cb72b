package registry

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/crdeval/crdeval/server/call"
)

// A token identifies a write. It is the base64url of a format byte, the first 8 bytes of the SHA-256 of the store's ID,
// and the sequence as a uvarint. It is opaque to callers.
const (
	tokenFormat = 1
	storeTagLen = 8
)

type storeTag [storeTagLen]byte

func tagOf(id string) storeTag {
	sum := sha256.Sum256([]byte(id))
	return storeTag(sum[:storeTagLen])
}

func (t storeTag) token(sequence uint64) string {
	b := append([]byte{tokenFormat}, t[:]...)
	return base64.RawURLEncoding.EncodeToString(binary.AppendUvarint(b, sequence))
}

func (t storeTag) parse(token string) (sequence uint64, err error) {
	const header = 1 + storeTagLen
	b, err := base64.RawURLEncoding.DecodeString(token)
	n := 0
	if err == nil && len(b) > header && b[0] == tokenFormat {
		sequence, n = binary.Uvarint(b[header:])
	}
	switch {
	case n <= 0 || n != len(b)-header:
		return 0, errorf(TokenInvalid, nil, "this is not a token of crdeval: pass tokens on unchanged")
	case storeTag(b[1:header]) != t:
		return 0, errorf(TokenInvalid, nil, "the token is from another store, whose writes this server does not see: "+
			"use a server of that store, or omit the token")
	}
	return sequence, nil
}

// broadcast wakes all goroutines that wait for a change.
type broadcast struct {
	mu sync.Mutex
	ch chan struct{}
}

// next returns a channel that the next call of wake closes.
func (b *broadcast) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *broadcast) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}

// answerMargin is the part of a call's deadline that is left for the answer when waiting ends.
const answerMargin = 50 * time.Millisecond

// withMargin bounds ctx by wait, and so that a failure can be returned before the deadline of ctx.
func withMargin(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		wait = min(wait, max(left-answerMargin, left/2))
	}
	return context.WithTimeout(ctx, wait)
}

// at returns the current snapshot. If token is not empty, it waits for a snapshot that includes the token's write.
func (r *Registry) at(ctx context.Context, token string) (*snapshot, error) {
	if token == "" {
		return r.snapshot.Load(), ctx.Err()
	}
	want, err := r.tag.parse(token)
	if err != nil {
		return nil, err
	}
	if s := r.snapshot.Load(); s.sequence >= want {
		return s, ctx.Err()
	}
	defer call.Pause(ctx)() // a client can choose the token
	bounded, cancel := withMargin(ctx, r.MaxWait)
	defer cancel()
	found := r.await(bounded, want)
	s := r.snapshot.Load()
	switch {
	case found:
		return s, ctx.Err()
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, errorf(ReplicaBehind, metadata{"behind": fmt.Sprint(want - min(s.sequence, want))},
		"this replica is at %d and has not applied the write of at_least, %d: try again, here or at another replica",
		s.sequence, want)
}

// await waits for a snapshot of a sequence or a later one, and reports whether there is one.
func (r *Registry) await(ctx context.Context, sequence uint64) bool {
	for {
		changed := r.changed.next()
		if r.Sequence() >= sequence {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		case <-r.lifetime.Done():
			return false
		}
	}
}

// catalogAt returns a catalog in the snapshot of at.
func (r *Registry) catalogAt(ctx context.Context, name, token string) (*snapshot, *catalog, error) {
	s, err := r.at(ctx, token)
	if err != nil {
		return nil, nil, err
	}
	c, err := s.catalog(name)
	return s, c, err
}
