package diffs

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/crdeval/crdeval/engine/conformance/generate"
)

// rewrite changes the form of a schema and of all schemas below it. The same values remain valid.
func (m *maker) rewrite(s object) {
	properties, _ := s["properties"].(object)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		m.rewrite(properties[name].(object))
	}
	for _, keyword := range []string{"items", "additionalProperties"} {
		if below, ok := s[keyword].(object); ok {
			m.rewrite(below)
		}
	}
	for _, change := range m.Perm(len(forms)) {
		if m.Chance(35) {
			forms[change](m, s)
		}
	}
}

// forms are changes of the form of a schema.
var forms = []func(*maker, object){
	(*maker).implied, (*maker).reorder, (*maker).respell, (*maker).repeat, (*maker).pushDown, (*maker).intoClauses, (*maker).intoClauses,
	(*maker).noEffect, (*maker).otherPattern, (*maker).exclusive,
}

// implied adds bounds that other keywords imply.
func (m *maker) implied(s object) {
	least, most := -1, -1
	if enum, ok := s["enum"].([]any); ok && s["type"] == "string" {
		least = 1 << 10
		for _, v := range enum {
			n := utf8.RuneCountInString(v.(string))
			least, most = min(least, n), max(most, n)
		}
	}
	for _, p := range patterns {
		if slices.Contains(p.forms, stringOf(s["pattern"])) {
			least, most = p.least, p.most
		}
	}
	for _, f := range formats {
		if s["format"] == f.name {
			least, most = f.least, f.most
		}
	}
	if enum, ok := s["enum"].([]any); ok && s["type"] == "integer" {
		m.addBound(s, "minimum", m.least(enum)-m.IntN(2))
		m.addBound(s, "maximum", m.most(enum)+m.IntN(2))
	}
	if s["format"] == "int32" && s["type"] == "integer" {
		m.addBound(s, "maximum", 1<<31-1)
	}
	if least > 0 {
		m.addBound(s, "minLength", least-m.IntN(2))
	}
	if most > 0 {
		m.addBound(s, "maxLength", most+m.IntN(3))
	}
	if required, ok := s["required"].([]any); ok && s["type"] == "object" {
		m.addBound(s, "minProperties", len(required))
	}
	if n := len(properties(s)); n > 0 {
		m.addBound(s, "maxProperties", n+m.IntN(2))
	}
}

func (m *maker) addBound(s object, keyword string, bound int) {
	if s[keyword] == nil && m.Chance(70) {
		s[keyword] = bound
	}
}

func (m *maker) least(enum []any) int {
	least := 1 << 30
	for _, v := range enum {
		least = min(least, m.number(object{"v": v}, "v", 0))
	}
	return least
}

func (m *maker) most(enum []any) int {
	most := -1 << 30
	for _, v := range enum {
		most = max(most, m.number(object{"v": v}, "v", 0))
	}
	return most
}

func properties(s object) object {
	p, _ := s["properties"].(object)
	return p
}

func stringOf(v any) string {
	s, _ := v.(string)
	return s
}

// reorder changes the order of lists.
func (m *maker) reorder(s object) {
	for _, keyword := range []string{"enum", "required", "allOf", "anyOf", "oneOf", "x-kubernetes-validations"} {
		if list, ok := s[keyword].([]any); ok {
			list = slices.Clone(list)
			m.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			s[keyword] = list
		}
	}
	if not, ok := s["not"].(object); ok {
		m.reorder(not)
	}
}

// respell changes the white space and the parentheses of rules.
func (m *maker) respell(s object) {
	rules, _ := s["x-kubernetes-validations"].([]any)
	for _, r := range rules {
		rule := r.(object)
		words := strings.Split(rule["rule"].(string), " ")
		made := words[0]
		for i := 1; i < len(words); i++ {
			space := generate.Pick(m.Rand, []string{" ", "  ", ""})
			if space == "" && isWord(words[i-1][len(words[i-1])-1]) && isWord(words[i][0]) {
				space = " "
			}
			made += space + words[i]
		}
		if m.Chance(40) {
			made = "(" + made + ")"
		}
		rule["rule"] = made
	}
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// repeat adds looser bounds in allOf.
func (m *maker) repeat(s object) {
	for _, keyword := range []string{"maxLength", "maximum", "maxItems", "maxProperties"} {
		if s[keyword] != nil && s["exclusiveMaximum"] == nil && m.Chance(50) {
			m.addClause(s, object{keyword: m.number(s, keyword, 0) + 1 + m.IntN(3)})
		}
	}
}

func (m *maker) addClause(s object, clause object) {
	list, _ := s["allOf"].([]any)
	s["allOf"] = append(slices.Clone(list), clause)
}

// movable are the keywords that can be in clauses, with those that go with them.
var movable = [][]string{{"maxLength"}, {"minLength"}, {"pattern"}, {"enum"}, {"minimum", "exclusiveMinimum"}, {"maximum", "exclusiveMaximum"},
	{"maxItems"}, {"minItems"}, {"maxProperties"}, {"minProperties"}, {"required"}, {"multipleOf"}, {"not"}, {"anyOf"}, {"oneOf"}}

// take removes some of the movable keywords of a schema and returns them.
func (m *maker) take(s object, percent int) object {
	taken := object{}
	for _, group := range movable {
		if s[group[0]] == nil || !m.Chance(percent) {
			continue
		}
		for _, keyword := range group {
			if v, ok := s[keyword]; ok {
				taken[keyword] = v
				delete(s, keyword)
			}
		}
	}
	return taken
}

// intoClauses moves keywords into clauses.
func (m *maker) intoClauses(s object) {
	if slices.Contains([]any{"object", "array"}, s["type"]) && m.Chance(30) {
		return
	}
	for range m.Between(1, 2) {
		taken := m.take(s, 60)
		if len(taken) == 0 {
			return
		}
		switch {
		case m.Chance(20) && s["anyOf"] == nil && taken["anyOf"] == nil:
			s["anyOf"] = []any{taken}
		case m.Chance(15) && s["oneOf"] == nil && taken["oneOf"] == nil:
			s["oneOf"] = []any{taken}
		case m.Chance(15) && s["not"] == nil:
			s["not"] = object{"not": taken}
		case m.Chance(20):
			m.addClause(s, object{"allOf": []any{taken}})
		default:
			m.addClause(s, taken)
		}
	}
}

// pushDown moves keywords of fields and of items into a clause of their parent.
func (m *maker) pushDown(s object) {
	if items, ok := s["items"].(object); ok {
		if taken := m.take(items, 50); len(taken) > 0 {
			m.addClause(s, object{"items": taken})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(properties(s))) {
		if taken := m.take(properties(s)[name].(object), 30); len(taken) > 0 {
			m.addClause(s, object{"properties": object{name: taken}})
		}
	}
}

// noEffect adds what has no effect.
func (m *maker) noEffect(s object) {
	switch s["type"] {
	case "string":
		m.addBound(s, "minLength", 0)
	case "array":
		m.addBound(s, "minItems", 0)
		if s["x-kubernetes-list-type"] == nil {
			s["x-kubernetes-list-type"] = "atomic"
		}
	case "object":
		if s["x-kubernetes-map-type"] == nil {
			s["x-kubernetes-map-type"] = "granular"
		}
	case "integer":
		if s["format"] == nil && m.Chance(50) {
			s["format"] = "int64"
		}
	}
	s["description"] = generate.Pick(m.Rand, words)
}

// otherPattern replaces a pattern or an enum by a pattern for the same strings.
func (m *maker) otherPattern(s object) {
	for _, p := range patterns {
		if slices.Contains(p.forms, stringOf(s["pattern"])) {
			s["pattern"] = generate.Pick(m.Rand, p.forms)
			return
		}
	}
	enum, ok := s["enum"].([]any)
	if !ok || s["type"] != "string" || s["pattern"] != nil || m.Chance(50) {
		return
	}
	var quoted []string
	for _, v := range enum {
		quoted = append(quoted, regexp.QuoteMeta(v.(string)))
	}
	delete(s, "enum")
	s["pattern"] = "^(" + strings.Join(quoted, "|") + ")$"
}

// exclusive makes bounds of integers exclusive.
func (m *maker) exclusive(s object) {
	if s["type"] != "integer" {
		return
	}
	if s["minimum"] != nil && s["exclusiveMinimum"] == nil && m.Chance(60) {
		s["minimum"], s["exclusiveMinimum"] = m.number(s, "minimum", 0)-1, true
	}
	if s["maximum"] != nil && s["exclusiveMaximum"] == nil && m.Chance(60) {
		s["maximum"], s["exclusiveMaximum"] = m.number(s, "maximum", 0)+1, true
	}
}
