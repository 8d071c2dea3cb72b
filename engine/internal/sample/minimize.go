package sample

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/crdeval/crdeval/engine/value"
)

// Minimize makes values as small as it can while holds is true for them: first few fields, then short scalars. It calls
// holds at most budget times, and changes the values in place.
func Minimize(holds func() bool, budget int, values ...*Tree) {
	s := shrinker{fails: holds, budget: budget}
	for again := true; again && s.budget > 0; {
		again = false
		for _, v := range values {
			again = s.container(v) || again
		}
		for _, v := range values {
			again = s.simplify(v) || again
		}
		again = s.equal(values) || again
	}
}

// Reduce removes parts of values while holds is true for them. It calls holds at most budget times.
func Reduce(holds func() bool, budget int, values ...*Tree) {
	s := shrinker{fails: holds, budget: budget}
	for again := true; again && s.budget > 0; {
		again = false
		for _, v := range values {
			again = s.container(v) || again
		}
	}
}

// Body returns the members of an object without apiVersion, kind and metadata. join puts changed members back.
func (t *Tree) Body() (body *Tree, join func()) {
	var head []*Tree
	body = object()
	for _, m := range t.Items {
		if isHead(m.Key) {
			head = append(head, m)
		} else {
			body.Items = append(body.Items, m)
		}
	}
	return body, func() { t.Items = slices.Concat(head, body.Items) }
}

// equal replaces equal scalars, which a rule may compare, by the same small one.
func (s *shrinker) equal(values []*Tree) (changed bool) {
	groups := map[string][]*Tree{}
	var texts []string
	var visit func(t *Tree)
	visit = func(t *Tree) {
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
		if group[0].Kind == value.String {
			small = []string{`""`, `"a"`}
		} else if group[0].Kind != value.Int {
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
func (s *shrinker) simplify(t *Tree) (changed bool) {
	for _, m := range t.Items {
		changed = s.simplify(m) || changed
	}
	switch t.Kind {
	case value.String:
		return s.shorten(t) || changed
	case value.Int, value.Float:
		return s.lower(t) || changed
	case value.True:
		return s.replace(t, value.False, "false") || changed
	}
	return changed
}

// replace sets a scalar, and reports whether the values still hold.
func (s *shrinker) replace(t *Tree, kind value.Kind, text string) bool {
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

// shorten makes a string shorter, and then its characters plain.
func (s *shrinker) shorten(t *Tree) (changed bool) {
	now, err := strconv.Unquote(t.Text)
	if parsedText, ok := unquotedJSON(t.Text); ok {
		now = parsedText
	} else if err != nil {
		return false
	}
	set := func(to string) bool {
		if to == now || !s.replace(t, value.String, string(value.AppendString(nil, to))) {
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

// unquotedJSON returns the content of a JSON string.
func unquotedJSON(text string) (string, bool) {
	h := Hint{}
	h.AddValue(text)
	if len(h.texts) == 0 || !utf8.ValidString(h.texts[0]) {
		return "", false
	}
	return h.texts[0], true
}

// lower moves a number towards 0.
func (s *shrinker) lower(t *Tree) (changed bool) {
	for _, simple := range []string{"0", "1"} {
		if t.Text == simple {
			return false
		}
		if s.replace(t, value.Int, simple) {
			return true
		}
	}
	f, err := strconv.ParseFloat(t.Text, 64)
	if err != nil {
		return false
	}
	if v := int64(f); t.Kind == value.Float && float64(v) == f || t.Kind == value.Float && f > -1e15 && f < 1e15 {
		changed = s.replace(t, value.Int, strconv.FormatInt(v, 10))
	}
	hi, err := strconv.ParseInt(t.Text, 10, 64)
	if err != nil {
		return changed
	}
	for lo := int64(0); hi-lo > 1 || lo-hi > 1; { // lo does not hold
		if mid := lo + (hi-lo)/2; s.replace(t, value.Int, strconv.FormatInt(mid, 10)) {
			hi, changed = mid, true
		} else {
			lo = mid
		}
	}
	return changed
}
