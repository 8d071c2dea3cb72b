package hint

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

func isRequired(v *violation.Violation) bool {
	return v.Type == field.ErrorTypeRequired && v.Step != violation.Metadata
}

// required looks for the missing field among the pruned ones: with a similar name, or one level up or down.
func (f *Finder) required(v *violation.Violation) *Hint {
	if len(v.Path) == 0 || v.Path[len(v.Path)-1].IsIndex() {
		return nil
	}
	parent, name := v.Path[:len(v.Path)-1], v.Path[len(v.Path)-1].Key()
	how := far
	var similar, moved *Removed
	for i := range f.removed {
		r := &f.removed[i]
		if f.work += 1 + min(len(parent), len(r.Path)); f.work >= maxWork {
			return nil
		}
		if len(r.Path) == 0 {
			continue
		}
		holder, key := r.Path[:len(r.Path)-1], r.Path[len(r.Path)-1].Key()
		switch {
		case holder.Equal(parent):
			if n := f.near(key, name); n < how && f.isClosest(parent, key, name) {
				similar, how = r, n
			}
		case moved == nil && key == name && (isObject(holder, enclosing(parent)) || isObject(parent, enclosing(holder))):
			moved = r
		}
	}
	switch {
	case similar != nil:
		key := strconv.Quote(similar.Path[len(similar.Path)-1].Key())
		return &Hint{
			Text:    fmt.Sprintf("%s%s is unknown: did you mean %s by it?", key, lineOf(similar.Position), strconv.Quote(name)),
			Pointer: similar.Path.Pointer(),
		}
	case moved != nil:
		text := "%s%s is unknown there: did you mean it to be %s?"
		return &Hint{
			Text:    fmt.Sprintf(text, moved.Path.Dotted(), lineOf(moved.Position), in(parent)),
			Pointer: moved.Path.Pointer(),
		}
	}
	return nil
}

// isClosest reports whether no other field that the object lacks is nearer to an unknown key than name.
func (f *Finder) isClosest(parent value.Path, key, name string) bool {
	best, _ := f.nearestField(f.target(parent), key, func(other string) bool {
		return other != name && f.at(parent.With(value.Name(other))) != 0
	})
	return best == name
}

// isObject reports whether two paths are the same; nil is no path.
func isObject(a, b value.Path) bool { return a != nil && b != nil && a.Equal(b) }

// lineOf returns a position as part of a sentence.
func lineOf(at value.Position) string {
	if at == (value.Position{}) {
		return ""
	}
	return fmt.Sprintf(", at line %d, column %d,", at.Line, at.Column)
}
