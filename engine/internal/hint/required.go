package hint

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/internal/value"
)

func isRequired(v *violation.Violation) bool {
	return v.Type == field.ErrorTypeRequired && v.Step != violation.Metadata
}

// required looks among the fields that were removed for the one that is missing: under a name that is near, or at another level.
func (f *Finder) required(v *violation.Violation) *Hint {
	if len(v.Path) == 0 || v.Path[len(v.Path)-1].IsIndex() {
		return nil
	}
	parent, name := v.Path[:len(v.Path)-1], v.Path[len(v.Path)-1].Key()
	var best *Removed
	how, moved := far, (*Removed)(nil)
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
			if n := f.near(key, name); n < how && f.closest(parent, key, name) {
				best, how = r, n
			}
		case moved == nil && key == name && (sameObject(holder, enclosing(parent)) || sameObject(enclosing(holder), parent)):
			moved = r
		}
	}
	switch {
	case best != nil:
		return &Hint{
			Text:    fmt.Sprintf("%s%s is unknown: did you mean %s by it?", strconv.Quote(best.Path[len(best.Path)-1].Key()), placed(best.Position), strconv.Quote(name)),
			Pointer: best.Path.Pointer(),
		}
	case moved != nil:
		return &Hint{
			Text:    fmt.Sprintf("%s%s is unknown there: did you mean it to be %s?", moved.Path.Dotted(), placed(moved.Position), in(parent)),
			Pointer: moved.Path.Pointer(),
		}
	}
	return nil
}

// closest reports whether no other field is nearer to a key that is unknown.
func (f *Finder) closest(parent value.Path, key, name string) bool {
	best, _ := f.nearestField(f.to(parent), key, func(other string) bool { return other != name && f.at(parent.With(value.Name(other))) != 0 })
	return best == name
}

func sameObject(a, b value.Path) bool { return a != nil && b != nil && a.Equal(b) }

// placed says where something is in the document, for a sentence.
func placed(at value.Position) string {
	if at == (value.Position{}) {
		return ""
	}
	return fmt.Sprintf(", at line %d, column %d,", at.Line, at.Column)
}
