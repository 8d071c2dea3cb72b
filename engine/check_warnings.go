package engine

import (
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// sentWarnings returns the warnings that reach a client as headers, each text once, and the notes of crdeval. Long
// texts can be cut.
func sentWarnings(all []violation.Warning) []Warning {
	var list []violation.Warning
	known := map[string]bool{}
	for i := range all {
		w := &all[i]
		if w.Type != violation.TypeNotice && known[w.Text] {
			continue
		}
		known[w.Text] = true
		list = append(list, *w)
	}
	return warnings(admission.Sent(list))
}

// KubernetesWarnings returns the texts of the Warning headers that an API server sends. It omits crdeval's own notes,
// which are of TypeNotice.
func KubernetesWarnings(list []Warning) (texts []string) {
	for i := range list {
		if list[i].Type != TypeNotice {
			texts = append(texts, list[i].Text)
		}
	}
	return texts
}
