package hint

import (
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/value"
)

// unknown suggests a field for one that the schema does not declare.
func (f *Finder) unknown(path value.Path) *Hint {
	if len(path) == 0 || path[len(path)-1].IsIndex() {
		return nil
	}
	parent, key := path[:len(path)-1], path[len(path)-1].Key()
	here := f.target(parent)
	isTaken := func(name string) bool { return f.at(parent.With(value.Name(name))) != 0 }
	name, how := f.nearestField(here, key, isTaken)
	if how > oneOff {
		if h := f.above(parent, key); h != nil {
			return h
		}
		if h := f.below(parent, here, key); h != nil {
			return h
		}
	}
	if how == far {
		return nil
	}
	return &Hint{Text: "did you mean " + strconv.Quote(name) + "?", Pointer: parent.With(value.Name(name)).Pointer()}
}

// above looks for a declared field of the name one level up that the object does not have.
func (f *Finder) above(parent value.Path, key string) *Hint {
	up := enclosing(parent)
	if up == nil || !f.target(up).declares(key) {
		return nil
	}
	to := up.With(value.Name(key))
	if f.at(to) != 0 {
		return nil
	}
	return &Hint{Text: strconv.Quote(key) + " is declared one level up, " + in(up), Pointer: to.Pointer()}
}

// enclosing returns the path of the object around the one at a path, nil for the root.
func enclosing(path value.Path) value.Path {
	for len(path) > 0 {
		last := path[len(path)-1]
		path = path[:len(path)-1]
		if !last.IsIndex() {
			return path[:len(path):len(path)]
		}
	}
	return nil
}

// in names the object at a path.
func in(path value.Path) string {
	if len(path) == 0 {
		return "at the root of the object"
	}
	return "in " + path.Dotted()
}

// mostNamed is how many fields one level down a hint names.
const mostNamed = 3

// below looks one level down for objects that declare a field of the name: among those in the document, or else among
// all.
func (f *Finder) below(parent value.Path, here target, key string) *Hint {
	var present, others []value.Path
	for child, name := range here.holders() {
		if f.work += 4 + 2*child.lookup(); f.work >= maxWork {
			return nil
		}
		declares := child.declares(key)
		if !declares && !child.item().declares(key) {
			continue
		}
		f.work += 8
		at := parent.With(value.Name(name))
		switch {
		case declares && f.at(at) != 0:
			if f.at(at.With(value.Name(key))) == 0 && len(present) <= mostNamed {
				present = append(present, at)
			}
		case len(others) <= mostNamed:
			others = append(others, at)
		}
	}
	if len(present) == 0 {
		present = others
	}
	if len(present) == 0 || len(present) > mostNamed {
		return nil
	}
	h := &Hint{}
	var texts []string
	for _, at := range present {
		text, to := in(at), at.With(value.Name(key))
		if !f.target(at).declares(key) {
			text, to = "in the items of "+at.Dotted(), at
		}
		texts = append(texts, text)
		h.Pointer = to.Pointer()
	}
	if len(present) > 1 {
		h.Pointer = ""
	}
	h.Text = strconv.Quote(key) + " is declared one level down, " + strings.Join(texts, " or ")
	return h
}
