package sample

import (
	"slices"
	"unicode/utf8"

	"github.com/crdeval/crdeval/engine/value"
)

// Shrink makes values small: it removes parts of them, and simplifies scalars, as long as fails holds for them. It
// calls fails at most budget times, and changes the values in place.
func Shrink(fails func() bool, budget int, values ...*Tree) {
	s := shrinker{fails: fails, budget: budget}
	for again := true; again && s.budget > 0; {
		again = false
		for _, v := range values {
			again = s.container(v) || again
		}
	}
	for _, v := range values {
		s.scalars(v)
	}
}

type shrinker struct {
	fails  func() bool
	budget int
}

// still reports whether the changed values still fail.
func (s *shrinker) still() bool {
	if s.budget <= 0 {
		return false
	}
	s.budget--
	return s.fails()
}

// container removes members or elements, many at a time first, and then parts of the remaining ones.
func (s *shrinker) container(t *Tree) (changed bool) {
	for block := len(t.Items); block > 0; block /= 2 {
		for at := len(t.Items) - block; at >= 0; at -= block {
			before := t.Items
			t.Items = append(slices.Clone(before[:at]), before[at+block:]...)
			if s.still() {
				changed = true
			} else {
				t.Items = before
			}
		}
	}
	for _, m := range t.Items {
		changed = s.container(m) || changed
	}
	return changed
}

// scalars replaces scalars by simpler ones.
func (s *shrinker) scalars(t *Tree) {
	for _, m := range t.Items {
		s.scalars(m)
	}
	switch before := t.Text; t.Kind {
	case value.String:
		if s.try(t, `"a"`, 3) || len(before) <= 10 {
			return
		}
		for n := 8; n < len(before)-1; n *= 2 { // a prefix
			cut := before[1:n]
			for !utf8.ValidString(cut) || len(cut) > 0 && cut[len(cut)-1] == '\\' {
				cut = cut[:len(cut)-1]
			}
			if s.try(t, `"`+cut+`"`, 2) {
				return
			}
		}
	case value.Int, value.Float:
		if !s.try(t, "0", 1) {
			s.try(t, "1", 1)
		}
	}
}

// try sets the text of a scalar that is longer than least, and reports whether the values still fail.
func (s *shrinker) try(t *Tree, text string, least int) bool {
	before, kind := t.Text, t.Kind
	if len(before) <= least || before == text {
		return false
	}
	if t.Text = text; t.Kind != value.String {
		t.Kind = value.Int
	}
	if s.still() {
		return true
	}
	t.Text, t.Kind = before, kind
	return false
}
