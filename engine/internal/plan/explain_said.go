package plan

import (
	"slices"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// violations returns the reported or the ratcheted errors, each text once.
func (e *explainer) violations(ratcheted bool) []violation.Violation {
	if len(e.found) == 0 {
		return nil
	}
	list := make([]violation.Violation, 0, len(e.found))
	var seen seenTexts
	for k := range e.found {
		if e.tick(4) {
			break
		}
		if f := &e.found[k]; f.ratcheted == ratcheted &&
			(seen.add(f.text) || !quirk.On(quirk.ErrorsDeduplicatedByText)) {
			list = append(list, f.Violation)
		}
	}
	return list
}

// seenTexts is a set of texts: a few are compared, more are hashed.
type seenTexts struct {
	few   [fewTexts]string
	count int
	more  map[string]struct{}
}

const fewTexts = 16

// add adds a text. It returns false if the set has it.
func (t *seenTexts) add(text string) (added bool) {
	if t.more == nil {
		if slices.Contains(t.few[:t.count], text) {
			return false
		}
		if t.count < fewTexts {
			t.few[t.count] = text
			t.count++
			return true
		}
		t.more = make(map[string]struct{}, 2*fewTexts)
		for _, one := range t.few {
			t.more[one] = struct{}{}
		}
	}
	if _, known := t.more[text]; known {
		return false
	}
	t.more[text] = struct{}{}
	return true
}
