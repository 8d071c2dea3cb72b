package engine

import (
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// sentWarnings returns the warnings that reach a client as headers, each text once, and the notes of crdeval. Long
// texts can be cut.
func sentWarnings(problems []definition.Problem) []Warning {
	var list []violation.Warning
	var hints []*Hint
	known := map[string]bool{}
	for i := range problems {
		p := &problems[i]
		if p.Type != violation.TypeNotice && known[p.Text] {
			continue
		}
		known[p.Text] = true
		list, hints = append(list, p.Warning), append(hints, p.Hint)
	}
	sent := admission.Sent(list)
	all := warnings(sent)
	for i := range sent {
		same := func(w violation.Warning) bool {
			return w.Type == sent[i].Type && w.Position == sent[i].Position && strings.HasPrefix(w.Text, sent[i].Text)
		}
		if j := slices.IndexFunc(list, same); j >= 0 { // Sent can cut texts
			all[i].Hint = hints[j]
		}
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
