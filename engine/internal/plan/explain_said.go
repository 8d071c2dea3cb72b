package plan

import (
	"slices"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// violations gives what was found, or what of it was forgiven, each text once.
func (e *explainer) violations(forgiven bool) []violation.Violation {
	if len(e.found) == 0 {
		return nil
	}
	list := make([]violation.Violation, 0, len(e.found))
	var said saidTexts
	for k := range e.found {
		if e.tick(4) {
			break
		}
		if f := &e.found[k]; f.forgiven == forgiven && (said.add(f.text) || !quirk.On(quirk.ErrorsDeduplicatedByText)) {
			list = append(list, f.Violation)
		}
	}
	return list
}

// saidTexts are the texts of findings that were seen before: a few are compared, more are looked up.
type saidTexts struct {
	few   [fewTexts]string
	count int
	more  map[string]struct{}
}

const fewTexts = 16

// add adds a text, if it is none of those before.
func (t *saidTexts) add(text string) (added bool) {
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
