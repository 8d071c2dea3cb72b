package hint

import (
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/spelling"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/internal/value"
)

// Hint is what was probably meant.
type Hint struct {
	// Text is a sentence for people.
	Text string
	// Pointer is the place that is meant, "" if the hint is about no other place than the finding's.
	Pointer string
	// Replacement is the value that is meant as JSON, nil if the hint is about none.
	Replacement []byte
}

// Removed is a field that was taken off the object since the schema does not know it.
type Removed struct {
	Path value.Path
	// Position is where its value stands in the document, the zero Position if that is not known.
	Position value.Position
}

// The bounds of one document.
const (
	// MaxHints is how many hints there are.
	MaxHints = 100
	// MaxAsked is for how many things that are wrong a hint is looked for: the first ones.
	MaxAsked = 1000
	// maxWork is how much may be compared, in letters against letters, roughly: a tenth of a millisecond. A call may have a thousand documents.
	maxWork = 1 << 15
	// longestPath is how long the names of a path may be together, in bytes, that a hint is about: it repeats them.
	longestPath = 2 << 10
)

// Finder finds the hints of one document. It is used by one goroutine and holds memory of pools until it is closed.
type Finder struct {
	plan    *plan.Plan
	text    []byte
	yaml    bool
	limits  value.Limits
	removed []Removed
	done    <-chan struct{}

	asked, given, work int

	last spelled      // what was last compared with others
	room spelling.Set // scratch

	doc    *value.Doc // the document as it was given, parsed when it is first looked at
	root   uint32
	finder *value.Finder
}

// New returns a Finder for a document that was judged by a plan, and of which fields were removed. text is nil for an object that is in no document of its own,
// such as one that a patch makes: then nothing is known of its values.
// Once done is closed nobody waits, and there are no more hints; nil is never closed.
func New(compiled *plan.Plan, text []byte, yaml bool, limits value.Limits, removed []Removed, done <-chan struct{}) *Finder {
	return &Finder{done: done, plan: compiled, text: text, yaml: yaml, limits: limits, removed: removed[:min(len(removed), MaxAsked)]}
}

// Close gives its memory back.
func (f *Finder) Close() {
	if f.doc != nil {
		f.doc.Release()
		f.doc = nil
	}
}

// Removed says what was meant by a field that was removed, nil if nothing suggests itself.
func (f *Finder) Removed(r *Removed) *Hint {
	return f.ask(r.Path, func() *Hint { return f.unknown(r.Path) })
}

// Finding says what was meant where a finding is, nil if nothing suggests itself. at is where the value stands in the document, the zero Position for one
// that is not of it.
func (f *Finder) Finding(v *violation.Violation, at value.Position) *Hint {
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

// ask looks for a hint about a path if there is room for one.
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
	names := 0
	for _, s := range path {
		if names += len(s.Key()) + 1; names > longestPath {
			return nil
		}
	}
	h := look()
	if h != nil {
		f.given++
	}
	return h
}

// document parses the document as it was given; false if it cannot be looked at.
func (f *Finder) document() (d *value.Doc, root uint32, ok bool) {
	if f.doc == nil && f.text != nil {
		f.doc = value.Acquire()
		if f.done != nil {
			f.doc.StopOn(f.done)
		}
		var err error
		if f.yaml {
			f.root, err = f.doc.ParseYAML(f.text, value.Request, f.limits)
		} else {
			f.root, err = f.doc.ParseJSON(f.text, f.limits)
		}
		if err != nil { // it was parsed before, or it is of no use
			f.Close()
			f.text = nil
			return nil, 0, false
		}
		f.finder = f.doc.Finder()
	}
	return f.doc, f.root, f.doc != nil
}

// at is the node of the document at a path, 0 if it has none or is not known.
func (f *Finder) at(path value.Path) uint32 {
	_, node, ok := f.document()
	if !ok {
		return 0
	}
	f.work += len(path)
	for _, s := range path {
		if node = f.finder.Child(node, s); node == 0 {
			return 0
		}
	}
	return node
}
