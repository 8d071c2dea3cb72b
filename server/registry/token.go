package registry

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"sync"
	"time"
)

// A token names a write: the store that has it (the first 8 bytes of the SHA-256 of the store's ID) and the sequence, as base64url. The
// first byte is the format. Callers treat it as opaque.
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
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) < 1+storeTagLen+1 || b[0] != tokenFormat {
		return 0, &Error{Reason: TokenForeign, Message: "this is no token of crdeval: pass on what it answered, unchanged"}
	}
	sequence, n := binary.Uvarint(b[1+storeTagLen:])
	if n != len(b)-1-storeTagLen {
		return 0, &Error{Reason: TokenForeign, Message: "this is no token of crdeval: pass on what it answered, unchanged"}
	}
	if storeTag(b[1:1+storeTagLen]) != t {
		return 0, &Error{Reason: TokenForeign, Message: "the token is one of another store, whose writes this server never sees: ask a server of that store, or go on without the token"}
	}
	return sequence, nil
}

// broadcast wakes all who wait for something to change.
type broadcast struct {
	mu sync.Mutex
	ch chan struct{}
}

// next is closed by the next call of wake.
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

// answerMargin is what a wait leaves of a call's deadline, so that REPLICA_BEHIND still reaches the caller.
const answerMargin = 50 * time.Millisecond

// at returns the newest snapshot, having waited until it includes the write that the token names, if there is one.
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
	patience := r.maxWait
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline)-answerMargin)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		changed := r.changed.next()
		s := r.snapshot.Load()
		if s.sequence >= want {
			return s, ctx.Err()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-timer.C:
			return nil, &Error{
				Reason:   ReplicaBehind,
				Message:  fmt.Sprintf("this replica is at %d and has not seen the write that at_least names, %d: try again, here or at another replica", r.Sequence(), want),
				Metadata: map[string]string{"behind": fmt.Sprint(want - r.Sequence())},
			}
		}
	}
}
