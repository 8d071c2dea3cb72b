package hint

import (
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/internal/value"
)

// unknown says what was meant by a field that the schema does not know.
func (f *Finder) unknown(path value.Path) *Hint {
	if len(path) == 0 || path[len(path)-1].IsIndex() {
		return nil
	}
	parent, key := path[:len(path)-1], path[len(path)-1].Key()
	here := f.to(parent)
	name, how := f.nearestField(here, key, func(name string) bool { return f.at(parent.With(value.Name(name))) != 0 })
	if how <= oneOff {
		return didYouMean(parent, name)
	}
	if h := f.above(parent, key); h != nil {
		return h
	}
	if h := f.below(parent, here, key); h != nil {
		return h
	}
	if how < far {
		return didYouMean(parent, name)
	}
	return nil
}

func didYouMean(parent value.Path, name string) *Hint {
	return &Hint{Text: "did you mean " + strconv.Quote(name) + "?", Pointer: parent.With(value.Name(name)).Pointer()}
}

// above looks for a field of the name one level up, which is free there.
func (f *Finder) above(parent value.Path, key string) *Hint {
	up := enclosing(parent)
	if up == nil || !f.to(up).declares(key) {
		return nil
	}
	to := up.With(value.Name(key))
	if f.at(to) != 0 {
		return nil
	}
	return &Hint{Text: strconv.Quote(key) + " is declared one level up, " + in(up), Pointer: to.Pointer()}
}

// enclosing is the path to the object around the one at a path, nil if there is none.
func enclosing(path value.Path) value.Path {
	for len(path) > 0 {
		last := path[len(path)-1]
		path = path[:len(path)-1]
		if !last.IsIndex() {
			if path == nil {
				return value.Path{}
			}
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

// mostNamed is how many places one level down a hint names.
const mostNamed = 3

// below looks for objects one level down that declare a field of the name: of the ones that the document has, or else of all.
func (f *Finder) below(parent value.Path, here place, key string) *Hint {
	var there, elsewhere []value.Path
	list := func(into *[]value.Path, p value.Path) {
		if len(*into) <= mostNamed {
			*into = append(*into, p)
		}
	}
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
			if f.at(at.With(value.Name(key))) == 0 {
				list(&there, at)
			}
		default:
			list(&elsewhere, at)
		}
	}
	if len(there) == 0 {
		there = elsewhere
	}
	if len(there) == 0 || len(there) > mostNamed {
		return nil
	}
	h := &Hint{}
	var places []string
	for _, at := range there {
		place, to := in(at), at.With(value.Name(key))
		if !f.to(at).declares(key) {
			place, to = "in the items of "+at.Dotted(), at
		}
		places = append(places, place)
		h.Pointer = to.Pointer()
	}
	if len(there) > 1 {
		h.Pointer = ""
	}
	h.Text = strconv.Quote(key) + " is declared one level down, " + strings.Join(places, " or ")
	return h
}
