package engine

import (
	"strings"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// sentWarnings returns the warnings that reach a client as headers, each text once, and the notes of crdeval. Long
// texts can be cut.
func sentWarnings(problems []definition.Problem) []Warning {
	var texts []string
	known := map[string]bool{}
	for i := range problems {
		if p := &problems[i]; p.Type != violation.TypeNotice && !known[p.Text] {
			known[p.Text] = true
			texts = append(texts, p.Text)
		}
	}
	texts = admission.Sent(texts)
	var sent []violation.Warning
	var hints []*Hint
	for i := range problems {
		w := problems[i].Warning
		if w.Type != violation.TypeNotice {
			if len(texts) == 0 || !strings.HasPrefix(w.Text, texts[0]) {
				continue
			}
			w.Text, texts = texts[0], texts[1:]
		}
		sent, hints = append(sent, w), append(hints, problems[i].Hint)
	}
	all := warnings(sent)
	for i := range all {
		all[i].Hint = hints[i]
	}
	return all
}

// kubernetesTexts returns the texts of the warnings that an API server sends.
func kubernetesTexts(list []Warning) (texts []string) {
	for i := range list {
		if list[i].Type != TypeNotice {
			texts = append(texts, list[i].Text)
		}
	}
	return texts
}
