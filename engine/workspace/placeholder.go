package workspace

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/rules"
)

// placeholder matches texts that tools replace before they apply a manifest: ${NAME} and ${NAME:=default} of Flux and
// envsubst, {{ name }} and {% name %} of templates.
var placeholder = regexp.MustCompile(variable + `|\{\{.*\}\}|\{%.*%\}`)

const variable = `\$\{[A-Za-z_][A-Za-z0-9_]*([:=?+-][^}]*)?\}`

var variables = regexp.MustCompile(variable)

// HasPlaceholders reports whether the text of a manifest has placeholders.
func (m *Manifest) HasPlaceholders() bool { return placeholder.Match(m.text()) }

// SkipRejected returns why a rejected object is skipped: each of its violations is about a value with placeholders,
// which another tool replaces before it applies the object. The Kind is "" for other objects. If the verdict has traces
// of the failed rules, a rule is about the values that it reads. Otherwise it is about all values below its own.
func (m *Manifest) SkipRejected(v *engine.Verdict) Skip {
	if v.Allowed || len(v.Violations) == 0 || !m.HasPlaceholders() {
		return Skip{}
	}
	var root any
	if json.Unmarshal(m.JSON(), &root) != nil {
		return Skip{}
	}
	for i := range v.Violations {
		of := &v.Violations[i]
		about := hasPlaceholder(valueAt(root, of.Pointer))
		if trace := traceOf(v, of); trace != nil {
			about = readsPlaceholder(trace)
		}
		if !about {
			return Skip{}
		}
	}
	if variables.Match(m.text()) {
		return Skip{SkipSubstitution, "its violations are about values with variables such as ${NAME}: substitute them first"}
	}
	return Skip{SkipTemplate, "its violations are about values such as {{ name }}: render it first"}
}

// traceOf returns the complete trace of the rule of a violation, or nil.
func traceOf(v *engine.Verdict, of *engine.Violation) *rules.Trace {
	if of.Rule == nil {
		return nil
	}
	for i := range v.Traces {
		t := &v.Traces[i]
		within := strings.HasPrefix(of.Pointer+"/", t.Pointer+"/") // the rule can name a field
		if t.SchemaPointer == of.SchemaPointer && within && len(t.Steps) > 0 && t.OmittedSteps == 0 {
			return t
		}
	}
	return nil
}

// readsPlaceholder reports whether a rule has read a text with a placeholder, or a list with one. Objects do not count:
// the rule reads their fields in other steps.
func readsPlaceholder(t *rules.Trace) bool {
	return slices.ContainsFunc(t.Steps, func(s rules.Step) bool {
		return !bytes.HasPrefix(s.Value, []byte("{")) && !bytes.HasPrefix(s.Value, []byte("[{")) && placeholder.Match(s.Value)
	})
}

// hasPlaceholder reports whether a JSON value has a text with a placeholder.
func hasPlaceholder(v any) bool {
	switch v := v.(type) {
	case string:
		return placeholder.MatchString(v)
	case []any:
		return slices.ContainsFunc(v, hasPlaceholder)
	case map[string]any:
		for key, value := range v {
			if placeholder.MatchString(key) || hasPlaceholder(value) {
				return true
			}
		}
	}
	return false
}

// valueAt returns the value at a JSON pointer, or nil.
func valueAt(v any, pointer string) any {
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for _, token := range strings.Split(pointer, "/")[1:] {
		switch of := v.(type) {
		case map[string]any:
			v = of[unescape.Replace(token)]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(of) {
				return nil
			}
			v = of[i]
		default:
			return nil
		}
	}
	return v
}
