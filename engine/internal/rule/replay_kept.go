package rule

import (
	"container/list"
	"sync"
	"weak"

	"github.com/google/cel-go/cel"

	"github.com/crdeval/crdeval/engine/internal/closure"
)

// maxKeptBytes bounds what the programs of all sets of the process take. Beyond it those of sets that were not used lately are dropped, and compiled
// again if they are needed again: rules of which more are replayed than that are slow, and cost no more memory.
const maxKeptBytes = 32 << 20

// About what a program takes, as measured, for itself and for each part of its expression.
const (
	programBytes = 16 << 10
	bytesPerPart = 256
)

// kept is the process's cache of programs: who has some, those next to go last. It holds on to none of them, so they go with their sets.
var kept struct {
	mu     sync.Mutex
	places list.List // of *keptPlace
	bytes  int64
}

type keptPlace struct {
	of    weak.Pointer[programs]
	at    *list.Element
	bytes int64
}

// keep adds a program that takes about so many bytes, and makes room for it.
func (p *programs) keep(key programKey, program cel.Program, bytes int64) {
	kept.mu.Lock()
	defer kept.mu.Unlock()
	if p.place == nil {
		p.place = &keptPlace{of: weak.Make(p)}
		p.place.at = kept.places.PushFront(p.place)
		bytes += p.tableBytes()
	}
	p.place.bytes += bytes
	kept.bytes += bytes
	p.mu.Lock()
	p.byText[key] = program
	p.mu.Unlock()
	for kept.bytes > maxKeptBytes {
		at := kept.places.Back().Value.(*keptPlace)
		of := at.of.Value()
		if of != nil && of.used.Swap(false) {
			kept.places.MoveToFront(at.at)
			continue
		}
		kept.places.Remove(at.at)
		kept.bytes -= at.bytes
		if of != nil {
			of.drop()
		}
	}
}

// drop lets go of all programs, and of the tables when who uses them now is done. kept is locked.
func (p *programs) drop() {
	p.place = nil
	p.set.replays.CompareAndSwap(p, nil)
	p.mu.Lock()
	clear(p.byText)
	p.mu.Unlock()
}

// tableBytes is about what the tables of the types take, once all of them are made.
func (p *programs) tableBytes() int64 {
	const ofTypes = 3 // times what the types take
	r := retention{types: map[*closure.Type]struct{}{}, texts: map[string]struct{}{}}
	r.typ(p.set.declared)
	r.typ(p.set.self)
	return ofTypes * r.size
}
