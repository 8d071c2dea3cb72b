package search

import (
	"slices"
	"strconv"

	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Shrinking says how a search makes an object smaller.
type Shrinking int

// The ways to shrink.
const (
	Everything Shrinking = iota // removes parts, and then makes scalars small
	Parts                       // removes parts only, so that people can read the values
	Nothing
)

// Shrink makes values as small as it can while holds is true for them: first few fields, then short scalars. It calls
// holds at most budget times, and changes the values in place.
func Shrink(holds func() bool, budget int, values ...*sample.Tree) {
	Everything.shrink(holds, budget, values...)
}

func (how Shrinking) shrink(holds func() bool, budget int, values ...*sample.Tree) {
	s := shrinker{holds: holds, budget: budget}
	for again := how != Nothing; again && s.budget > 0; {
		again = false
		for _, v := range values {
			again = s.container(v) || again
		}
		if how == Parts {
			continue
		}
		for _, v := range values {
			again = s.simplify(v) || again
		}
		again = s.equal(values) || again
	}
}

type shrinker struct {
	holds  func() bool
	budget int
}

// still reports whether the changed values still hold.
func (s *shrinker) still() bool {
	if s.budget <= 0 {
		return false
	}
	s.budget--
	return s.holds()
}

// container removes members or elements, many at a time first, and then parts of the remaining ones.
func (s *shrinker) container(t *sample.Tree) (changed bool) {
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

// equal replaces equal scalars, which a rule may compare, by the same small one.
func (s *shrinker) equal(values []*sample.Tree) (changed bool) {
	groups := map[string][]*sample.Tree{}
	var texts []string
	var visit func(t *sample.Tree)
	visit = func(t *sample.Tree) {
		for _, m := range t.Items {
			visit(m)
		}
		if t.Text != "" {
			if groups[t.Text] == nil {
				texts = append(texts, t.Text)
			}
			groups[t.Text] = append(groups[t.Text], t)
		}
	}
	for _, v := range values {
		visit(v)
	}
	for _, text := range texts {
		group := groups[text]
		small := []string{"0", "1"}
		if group[0].Kind == tree.String {
			small = []string{`""`, `"a"`}
		} else if group[0].Kind != tree.Int {
			continue
		}
		for _, to := range small {
			if len(group) < 2 || to == text {
				break
			}
			for _, t := range group {
				t.Text = to
			}
			if s.still() {
				changed = true
				break
			}
			for _, t := range group {
				t.Text = text
			}
		}
	}
	return changed
}

// simplify replaces scalars by the smallest ones.
func (s *shrinker) simplify(t *sample.Tree) (changed bool) {
	for _, m := range t.Items {
		changed = s.simplify(m) || changed
	}
	switch t.Kind {
	case tree.String:
		return s.shorten(t) || changed
	case tree.Int, tree.Float:
		return s.lower(t) || changed
	case tree.True:
		return s.replace(t, tree.False, "false") || changed
	}
	return changed
}

// replace sets a scalar, and reports whether the values still hold.
func (s *shrinker) replace(t *sample.Tree, kind tree.Kind, text string) bool {
	if t.Kind == kind && t.Text == text {
		return false
	}
	before := *t
	if t.Kind, t.Text = kind, text; s.still() {
		return true
	}
	*t = before
	return false
}

// mostCharacters bounds the characters that shorten removes or replaces one by one.
const mostCharacters = 1 << 10

// shorten makes a string shorter, and then its characters plain.
func (s *shrinker) shorten(t *sample.Tree) (changed bool) {
	now, ok := t.Content()
	if !ok {
		return false
	}
	set := func(to string) bool {
		if to == now || !s.replace(t, tree.String, sample.Text(to).Text) {
			return false
		}
		now, changed = to, true
		return true
	}
	for _, to := range []string{"", "a"} {
		if len(to) < len(now) && set(to) {
			return true
		}
	}
	runes := []rune(now)
	lo := 0
	for lo+1 < len(runes) && s.budget > 0 { // the prefix of lo characters does not hold
		if mid := lo + (len(runes)-lo)/2; set(string(runes[:mid])) {
			runes = runes[:mid]
		} else {
			lo = mid
		}
	}
	if len(runes) > mostCharacters {
		return changed
	}
	for block := len(runes) / 2; block > 0; block /= 2 {
		for at := len(runes) - block; at >= 0; at -= block {
			if without := slices.Delete(slices.Clone(runes), at, at+block); set(string(without)) {
				runes = without
			}
		}
	}
	for i, c := range runes {
		for _, plain := range "a0" {
			if c == plain || c == 'a' || i > 64 {
				break
			}
			with := slices.Clone(runes)
			with[i] = plain
			if set(string(with)) {
				runes = with
				break
			}
		}
	}
	return changed
}

// lower moves a number towards 0.
func (s *shrinker) lower(t *sample.Tree) (changed bool) {
	for _, simple := range []string{"0", "1"} {
		if t.Text == simple {
			return false
		}
		if s.replace(t, tree.Int, simple) {
			return true
		}
	}
	f, err := strconv.ParseFloat(t.Text, 64)
	if err != nil {
		return false
	}
	if v := int64(f); t.Kind == tree.Float && float64(v) == f || t.Kind == tree.Float && f > -1e15 && f < 1e15 {
		changed = s.replace(t, tree.Int, strconv.FormatInt(v, 10))
	}
	hi, err := strconv.ParseInt(t.Text, 10, 64)
	if err != nil {
		return changed
	}
	for lo := int64(0); hi-lo > 1 || lo-hi > 1; { // lo does not hold
		if mid := lo + (hi-lo)/2; s.replace(t, tree.Int, strconv.FormatInt(mid, 10)) {
			hi, changed = mid, true
		} else {
			lo = mid
		}
	}
	return changed
}
