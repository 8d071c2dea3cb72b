package openapi

import (
	"container/list"
	"sync"
)

// Kept is what was made lately, by key, up to so many bytes; what was not used for longest goes first. It is safe for many goroutines, which may
// make the same thing twice.
type Kept[V any] struct {
	mu       sync.Mutex
	maxBytes int64
	bytes    int64
	order    list.List // of *keptValue[V], those used lately in front
	byKey    map[string]*list.Element
}

type keptValue[V any] struct {
	key   string
	value V
	bytes int64
}

// NewKept returns an empty store for up to maxBytes.
func NewKept[V any](maxBytes int64) *Kept[V] {
	return &Kept[V]{maxBytes: maxBytes, byKey: map[string]*list.Element{}}
}

// Get returns what is kept under a key.
func (k *Kept[V]) Get(key string) (value V, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	at, ok := k.byKey[key]
	if !ok {
		return value, false
	}
	k.order.MoveToFront(at)
	return at.Value.(*keptValue[V]).value, true
}

// largest is the part of the room that one value may take: one more than that would throw out all others.
const largest = 4

// Put keeps a value of about so many bytes, unless it is too large.
func (k *Kept[V]) Put(key string, value V, bytes int64) {
	const each = 128 // list element, map entry
	bytes += int64(len(key)) + each
	k.mu.Lock()
	defer k.mu.Unlock()
	if bytes > k.maxBytes/largest || k.byKey[key] != nil {
		return
	}
	k.byKey[key] = k.order.PushFront(&keptValue[V]{key: key, value: value, bytes: bytes})
	for k.bytes += bytes; k.bytes > k.maxBytes; {
		at := k.order.Back()
		old := k.order.Remove(at).(*keptValue[V])
		delete(k.byKey, old.key)
		k.bytes -= old.bytes
	}
}

// Bytes returns about how many bytes are kept.
func (k *Kept[V]) Bytes() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.bytes
}
