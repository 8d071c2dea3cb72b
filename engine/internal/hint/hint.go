// Package hint guesses what was probably meant where an object is wrong: unknown fields (unknown.go), values that no
// enum lists and values of a wrong type (value.go). Hints are returned beside upstream's texts and never change them.
//
// A Finder looks at the compiled schema (package plan) and at the document as it was sent. The hints of a document are
// deterministic, and their number and the work to find them are bounded.
package hint

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// The bounds of one document.
const (
	// MaxHints is the most hints that are returned.
	MaxHints = 100
	// maxAsked is the most errors for which a hint is looked for.
	maxAsked = 1000
	// maxText is the length, in bytes, of the longest text of a hint. Longer hints are not returned.
	maxText = 256
	// maxWork bounds all comparisons together; a unit is about ten nanoseconds.
	maxWork = 1 << 15
	// longestPath is the length, in bytes, of the longest path about which there are hints, since its pointer is
	// a part of the hint.
	longestPath = 2 << 10
)

// Finder finds the hints of one document. It is not safe for concurrent use. Close returns its memory to pools.
type Finder struct {
	top    target // of the whole document
	text   []byte
	yaml   bool
	origin *tree.Origin
	limits tree.Limits
	stop   *interrupt.Signal

	asked, given, work int

	doc    *tree.Doc // the document as it was sent, parsed when it is first needed
	root   uint32
	finder *tree.Finder
}

// New returns a Finder for a document that was validated with a plan. A nil text means that the object was not sent as
// a document, for example because a patch made it; there are no hints about its values then. The origin is that of the
// document, or nil. There are no more hints once the signal fires.
func New(
	p *plan.Plan, text []byte, yaml bool, origin *tree.Origin, limits tree.Limits, stop *interrupt.Signal,
) *Finder {
	f := &Finder{stop: stop, text: text, yaml: yaml, origin: origin, limits: limits}
	if p != nil { // else the version is not known
		f.top.node = p.Root
	}
	return f
}

// Close releases the parsed document.
func (f *Finder) Close() {
	if f.doc != nil {
		f.doc.Release()
		f.doc = nil
	}
}

// Removed returns a hint about a pruned field, or nil.
func (f *Finder) Removed(path tree.Path) *violation.Hint {
	return f.ask(path, func() *violation.Hint { return f.unknown(path) })
}

// Repeated returns a hint about a key that is set again, or nil.
func (f *Finder) Repeated(path tree.Path, at *tree.DuplicatePlace) *violation.Hint {
	return f.ask(path, func() *violation.Hint { return Repeated(at) })
}

// Violation returns a hint about a violation, or nil.
func (f *Finder) Violation(v *violation.Violation) *violation.Hint {
	placed := v.Position != (tree.Position{})
	switch {
	case v.Repeat != nil:
		return f.Repeated(v.Path, v.Repeat)
	case v.Type == violation.TypeUnknownField && len(v.Path) > 0:
		return f.ask(v.Path, func() *violation.Hint { return f.unknown(v.Path) })
	case placed && f.top.api.Known():
		return f.ask(v.Path, func() *violation.Hint { return f.manifest(v, f.index(v.Position)) })
	case v.Type == violation.TypeDecode && v.Want != "" && placed:
		return f.ask(v.Path, func() *violation.Hint {
			if node := f.at(v.Path); node != 0 {
				return f.converted(node, f.index(v.Position), []string{v.Want})
			}
			return nil
		})
	case v.Step != violation.Schema || !placed:
	case v.Type == field.ErrorTypeNotSupported, v.Type == field.ErrorTypeTypeInvalid:
		return f.ask(v.Path, func() *violation.Hint { return f.value(v.Path, f.index(v.Position)) })
	}
	return nil
}

// ask calls look unless a bound of the document is reached or the path is too long.
func (f *Finder) ask(path tree.Path, look func() *violation.Hint) *violation.Hint {
	if f.given >= MaxHints || f.asked >= maxAsked || f.work >= maxWork || f.stop.Stopped() {
		return nil
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
	if h == nil || len(h.Text) > maxText || f.stop.Stopped() { // a hint of a document that was read in part can be wrong
		return nil
	}
	f.given++
	return h
}

// at returns the node at a path of the document as it was sent, or 0. It parses the document on the first call.
func (f *Finder) at(path tree.Path) uint32 {
	if f.doc == nil {
		if f.text == nil {
			return 0
		}
		f.doc = tree.Acquire()
		f.doc.StopOn(f.stop)
		var err error
		if f.yaml {
			_, _, f.root, err = f.doc.ConvertYAML(f.text, tree.Request, f.origin, f.limits)
		} else {
			f.root, err = f.doc.ParseAt(f.text, tree.Request, f.origin, f.limits)
		}
		if err != nil {
			f.Close()
			f.text = nil
			return 0
		}
		f.finder = f.doc.Finder()
	}
	f.work += len(path)
	return f.finder.Lookup(f.root, path)
}
