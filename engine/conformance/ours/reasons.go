package ours

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	sigsyaml "sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// withoutViolation marks a rejection without a violation, which upstream's answer does not have.
const withoutViolation = " (no violation)"

// reasons checks that a rejection has a violation, and that violations and warnings have a position if the document has
// the value. Values of an update that are not those of the document are not checked.
func reasons(r oracle.Request, v *engine.Verdict) (diffs []string) {
	if v.Rejection != nil && len(v.Violations) == 0 {
		diffs = append(diffs, "rejected without a violation: "+v.Rejection.Message)
	}
	if v.Rejection == nil && len(v.Violations)+len(v.Next) > 0 {
		diffs = append(diffs, fmt.Sprintf("allowed with violations %v, next %v", v.Violations, v.Next))
	}
	if r.Patch != "" || r.Op == oracle.Scale {
		return diffs
	}
	document, readable := documentOf(r)
	missing := func(kind, pointer, text string, at *engine.Position) {
		switch {
		case at != nil:
			if at.Line < 1 || at.Column < 1 || at.Offset < 0 || at.Offset > len(r.Body) {
				diffs = append(diffs, fmt.Sprintf("%s %s: position %+v is not in the document", kind, text, *at))
			}
		case kind == engine.TypeRejected && pointer == "", kind == engine.TypeNotice, kind == engine.TypeWarning && pointer == "":
		case !readable || has(document, pointer):
			diffs = append(diffs, fmt.Sprintf("%s %s at %q has no position", kind, text, pointer))
		}
	}
	for _, list := range [][]engine.Violation{v.Violations, v.Next} {
		for i := range list {
			if f := &list[i]; r.Op == oracle.Create || f.Step == engine.StepDecode {
				missing(f.Type, f.Pointer, f.Error(), f.Position)
			}
		}
	}
	for i := range v.Warnings {
		if w := &v.Warnings[i]; r.Op == oracle.Create {
			missing(w.Type, w.Pointer, w.Text, w.Position)
		}
	}
	return diffs
}

// documentOf returns the value of the body of a request.
func documentOf(r oracle.Request) (document any, readable bool) {
	text := r.Body
	if r.YAML {
		var err error
		if text, err = sigsyaml.YAMLToJSON(r.Body); err != nil {
			return nil, false
		}
	}
	return document, json.Unmarshal(text, &document) == nil
}

// has reports whether a document has a value at a pointer.
func has(document any, pointer string) bool {
	if pointer == "" {
		return true
	}
	for _, token := range strings.Split(pointer, "/")[1:] {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch at := document.(type) {
		case map[string]any:
			next, found := at[token]
			if !found {
				return false
			}
			document = next
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(at) {
				return false
			}
			document = at[i]
		default:
			return false
		}
	}
	return true
}
