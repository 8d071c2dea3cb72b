package mutation

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// addMutants adds all mutants of a CRD, in the order of its versions and schemas.
func (c *crd) addMutants() {
	for _, v := range c.versions {
		a := adder{crd: c, version: v}
		a.schema(v.schema)
	}
}

// adder adds the mutants of a version.
type adder struct {
	*crd
	version *version
	node    *schemaNode
}

func (a *adder) schema(n *schemaNode) {
	a.node = n
	a.bounds()
	a.texts()
	a.enum()
	a.required()
	a.defaults()
	a.lists()
	a.operators()
	a.rules()
	for _, child := range n.children() {
		a.schema(child)
	}
}

// add adds a mutant that changes one keyword. A nil value removes it.
func (a *adder) add(kind, keyword string, value any, before, after string) *mutant {
	m := &mutant{kind: kind, before: before, after: after, version: a.version, node: a.node, keyword: keyword,
		edits: map[string]any{keyword: value}, pointer: a.node.pointer + "/" + keyword, field: a.node.field}
	a.mutants = append(a.mutants, m)
	return m
}

// remove adds the mutant without a keyword.
func (a *adder) remove(keyword string) {
	a.add(keyword+" removed", keyword, nil, keyword+": "+shown(a.node.keys[keyword]), "")
}

// shown returns a value as JSON.
func shown(v any) string {
	text, _ := json.Marshal(v) // decoded from JSON
	return string(text)
}

// bounds moves and removes bounds.
func (a *adder) bounds() {
	for _, keyword := range []string{"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems",
		"minProperties", "maxProperties"} {
		number, ok := a.node.keys[keyword].(json.Number)
		if !ok {
			continue
		}
		for _, by := range []int64{-1, 1} {
			moved, ok := add(number, by)
			if !ok || keyword[3:] != "imum" && strings.HasPrefix(string(moved), "-") {
				continue
			}
			a.add(fmt.Sprintf("%s moved by %+d", keyword, by), keyword, moved,
				fmt.Sprintf("%s: %s", keyword, number), fmt.Sprintf("%s: %s", keyword, moved))
		}
		a.remove(keyword)
	}
	// For integers, an exclusive bound is a moved bound.
	for _, bound := range []string{"Minimum", "Maximum"} {
		keyword, bound := "exclusive"+bound, strings.ToLower(bound)
		if exclusive, _ := a.node.keys[keyword].(bool); a.node.keys[bound] != nil &&
			(exclusive || a.node.keys["type"] != "integer") {
			a.add(keyword+" toggled", keyword, !exclusive, fmt.Sprintf("%s: %t", keyword, exclusive),
				fmt.Sprintf("%s: %t", keyword, !exclusive))
		}
	}
	if _, ok := a.node.keys["multipleOf"]; ok {
		a.remove("multipleOf")
	}
}

// add returns a number plus an integer. It is false for numbers whose sum is not exact.
func add(n json.Number, by int64) (json.Number, bool) {
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return "", false
	}
	r.Add(r, new(big.Rat).SetInt64(by))
	if r.IsInt() {
		return json.Number(r.Num().String()), true
	}
	f, _ := r.Float64()
	text, err := json.Marshal(f)
	return json.Number(text), err == nil
}

func (a *adder) texts() {
	for _, keyword := range []string{"pattern", "format"} {
		if _, ok := a.node.keys[keyword]; ok {
			a.remove(keyword)
		}
	}
	if nullable, _ := a.node.keys["nullable"].(bool); nullable {
		a.remove("nullable")
	}
	if preserve, _ := a.node.keys["x-kubernetes-preserve-unknown-fields"].(bool); preserve {
		a.remove("x-kubernetes-preserve-unknown-fields")
	}
}

// enum removes each value, and adds another.
func (a *adder) enum() {
	values, _ := a.node.keys["enum"].([]any)
	if len(values) == 0 {
		return
	}
	if len(values) == 1 {
		a.remove("enum")
	}
	for i, value := range values {
		if len(values) > 1 {
			a.add("enum value removed", "enum", without(values, i), shown(value), "").pointer += fmt.Sprintf("/%d", i)
		}
	}
	if other := another(values[0]); other != nil && !slices.ContainsFunc(values,
		func(v any) bool { return shown(v) == shown(other) }) {
		a.add("enum value added", "enum", append(slices.Clone(values), other), "", shown(other))
	}
}

func without[E any](list []E, i int) []E { return append(slices.Clone(list[:i]), list[i+1:]...) }

// another returns a scalar that differs from a scalar, or nil.
func another(v any) any {
	switch v := v.(type) {
	case string:
		return v + "x"
	case bool:
		return !v
	case json.Number:
		if n, ok := add(v, 1); ok {
			return n
		}
	}
	return nil
}

func (a *adder) required() {
	names, _ := a.node.keys["required"].([]any)
	for i, name := range names {
		var rest any
		if len(names) > 1 {
			rest = without(names, i)
		}
		m := a.add("required removed", "required", rest, "required: "+shown(name), "")
		m.pointer += fmt.Sprintf("/%d", i)
		if text, ok := name.(string); ok {
			m.field = strings.TrimPrefix(m.field+"."+text, ".")
		}
	}
}

// defaults removes a default, and changes a scalar one.
func (a *adder) defaults() {
	value, ok := a.node.keys["default"]
	if !ok {
		return
	}
	a.remove("default")
	other := another(value)
	if values, _ := a.node.keys["enum"].([]any); len(values) > 0 {
		other = nil
		if i := slices.IndexFunc(values, func(v any) bool { return shown(v) != shown(value) }); i >= 0 {
			other = values[i]
		}
	}
	if other != nil {
		a.add("default changed", "default", other, "default: "+shown(value), "default: "+shown(other))
	}
}

// lists makes sets and maps atomic.
func (a *adder) lists() {
	switch kind := a.node.keys["x-kubernetes-list-type"]; kind {
	case "set", "map":
		m := a.add("list type removed", "x-kubernetes-list-type", nil, fmt.Sprintf("x-kubernetes-list-type: %v", kind), "")
		m.edits["x-kubernetes-list-map-keys"] = nil
	}
}

// operators removes branches of logical operators.
func (a *adder) operators() {
	if _, ok := a.node.keys["x-kubernetes-int-or-string"]; ok {
		return // the branches are required
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		branches, _ := a.node.keys[keyword].([]any)
		for i := range branches {
			var rest any
			if len(branches) > 1 {
				rest = without(branches, i)
			}
			a.add(keyword+" branch removed", keyword, rest, shown(branches[i]), "").pointer += fmt.Sprintf("/%d", i)
		}
	}
	if _, ok := a.node.keys["not"]; ok {
		a.remove("not")
	}
}

// rules removes each rule, and changes its expression.
func (a *adder) rules() {
	const keyword = "x-kubernetes-validations"
	rules, _ := a.node.keys[keyword].([]any)
	for i, of := range rules {
		fields, _ := of.(map[string]any)
		text, _ := fields["rule"].(string)
		var rest any
		if len(rules) > 1 {
			rest = without(rules, i)
		}
		added := func(m *mutant) {
			m.pointer += fmt.Sprintf("/%d", i)
			m.rule = text
		}
		added(a.add("rule removed", keyword, rest, strings.TrimSpace(text), ""))
		optional, _ := fields["optionalOldSelf"].(bool)
		for _, edit := range ruleEdits(text, !optional) {
			changed := map[string]any{}
			for key, value := range fields {
				changed[key] = value
			}
			changed["rule"] = edit.rule
			list := slices.Clone(rules)
			list[i] = changed
			added(a.add(edit.kind, keyword, list, edit.before, edit.after))
		}
	}
}
