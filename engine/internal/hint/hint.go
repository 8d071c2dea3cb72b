package hint

import (
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// Hint is what was probably meant.
type Hint struct {
	// Text is a sentence.
	Text string
	// Pointer is the JSON pointer of the field that is meant, "" if the hint names no other field.
	Pointer string
	// Replacement is the value that is meant as JSON, nil if the hint suggests none.
	Replacement []byte
}

// Removed is a field that was pruned.
type Removed struct {
	Path value.Path
	// Position is the position of its value in the document, the zero Position if that is not known.
	Position value.Position
}

// The bounds of one document.
const (
	// MaxHints is the most hints that are returned.
	MaxHints = 100
	// MaxAsked is the most errors for which a hint is looked for.
	MaxAsked = 1000
	// maxWork bounds all comparisons together; a unit is about ten nanoseconds.
	maxWork = 1 << 15
	// longestPath is the length, in bytes, of the longest path about which there are hints, since a hint repeats it.
	longestPath = 2 << 10
)

// Finder finds the hints of one document. It is not safe for concurrent use. Close returns its memory to pools.
type Finder struct {
	plan    *plan.Plan
	text    []byte
	yaml    bool
	limits  value.Limits
	removed []Removed
	done    <-chan struct{}

	asked, given, work int

	lastName  string // the name that near compared last
	lastPlain []byte // plain(lastName)

	doc    *value.Doc // the document as it was sent, parsed when it is first needed
	root   uint32
	finder *value.Finder
}

// New returns a Finder for a document that was validated with a plan, and from which fields were removed. A nil text
// means that the object was not sent as a document, for example because a patch made it; there are no hints about its
// values then. There are no more hints once done is closed.
func New(p *plan.Plan, text []byte, yaml bool, limits value.Limits, removed []Removed, done <-chan struct{}) *Finder {
	removed = removed[:min(len(removed), MaxAsked)]
	return &Finder{done: done, plan: p, text: text, yaml: yaml, limits: limits, removed: removed}
}

// Close releases the parsed document.
func (f *Finder) Close() {
	if f.doc != nil {
		f.doc.Release()
		f.doc = nil
	}
}

// Removed returns a hint about a pruned field, or nil.
func (f *Finder) Removed(r *Removed) *Hint {
	return f.ask(r.Path, func() *Hint { return f.unknown(r.Path) })
}

// Violation returns a hint about a violation, or nil. at is the position of the value in the document, the zero
// Position for a value that is not in it.
func (f *Finder) Violation(v *violation.Violation, at value.Position) *Hint {
	switch {
	case v.Rule != nil:
		return nil
	case isEnum(v):
		return f.ask(v.Path, func() *Hint { return f.enum(v, at) })
	case isWrongType(v):
		return f.ask(v.Path, func() *Hint { return f.wrongType(v, at) })
	case isRequired(v):
		return f.ask(v.Path, func() *Hint { return f.required(v) })
	}
	return nil
}

// ask calls look unless a bound of the document is reached or the path is too long.
func (f *Finder) ask(path value.Path, look func() *Hint) *Hint {
	if f.given >= MaxHints || f.asked >= MaxAsked || f.work >= maxWork {
		return nil
	}
	select {
	case <-f.done:
		return nil
	default:
	}
	f.asked++
	f.work += len(path)
	length := 0
	for _, s := range path {
		if length += len(s.Key()) + 1; length > longestPath {
			return nil
		}
	}
	h := look()
	if h != nil {
		f.given++
	}
	return h
}

// parsed reports whether f.doc holds the document as it was sent. It parses the document on the first call.
func (f *Finder) parsed() bool {
	if f.doc == nil && f.text != nil {
		f.doc = value.Acquire()
		f.doc.StopOn(f.done)
		var err error
		if f.yaml {
			f.root, err = f.doc.ParseYAML(f.text, value.Request, f.limits)
		} else {
			f.root, err = f.doc.ParseJSON(f.text, f.limits)
		}
		if err != nil {
			f.Close()
			f.text = nil
			return false
		}
		f.finder = f.doc.Finder()
	}
	return f.doc != nil
}

// at returns the node of the document at a path, or 0.
func (f *Finder) at(path value.Path) uint32 {
	if !f.parsed() {
		return 0
	}
	f.work += len(path)
	node := f.root
	for _, s := range path {
		if node = f.finder.Child(node, s); node == 0 {
			return 0
		}
	}
	return node
}
