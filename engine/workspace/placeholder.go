package workspace

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine"
)

// placeholder matches texts that tools replace before they apply a manifest: ${NAME} and ${NAME:=default} of Flux and
// envsubst, {{ name }} and {% name %} of templates.
var placeholder = regexp.MustCompile(variable + `|\{\{.*\}\}|\{%.*%\}`)

const variable = `\$\{[A-Za-z_][A-Za-z0-9_]*([:=?+-][^}]*)?\}`

var variables = regexp.MustCompile(variable)

// Placeholders returns why a rejected object is skipped: each of its violations is about a value with placeholders,
// which another tool replaces before it applies the object. The Kind is "" for other objects.
func Placeholders(m *Manifest, v *engine.Verdict) Skip {
	if v.Allowed || len(v.Violations) == 0 || !placeholder.Match(m.text()) {
		return Skip{}
	}
	var root any
	if json.Unmarshal(m.JSON(), &root) != nil {
		return Skip{}
	}
	if slices.ContainsFunc(v.Violations, func(of engine.Violation) bool { return !hasPlaceholder(valueAt(root, of.Pointer)) }) {
		return Skip{}
	}
	if variables.Match(m.text()) {
		return Skip{SkipSubstitution, "its violations are about values with variables such as ${NAME}: substitute them first"}
	}
	return Skip{SkipTemplate, "its violations are about values such as {{ name }}: render it first"}
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
