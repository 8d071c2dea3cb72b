package generate

import (
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// site is a schema node that can have rules.
type site struct {
	schema *jsontree.Node
	// root is set for roots of resources, embedded ones too.
	root bool
	// correlated means that an old value can be found: the node is not in an atomic or set list.
	correlated bool
}

// sitesOf returns the nodes of a structural schema.
func sitesOf(s *jsontree.Node, root, correlated bool, out []site) []site {
	if s == nil || s.Kind != jsontree.Object {
		return out
	}
	out = append(out, site{s, root || s.Get("x-kubernetes-embedded-resource").IsTrue(), correlated})
	for _, p := range s.Get("properties").GetMembers() {
		if root && p.Key == "metadata" {
			continue
		}
		out = sitesOf(p.Value, false, correlated, out)
	}
	listType, _ := s.Get("x-kubernetes-list-type").Text()
	out = sitesOf(s.Get("items"), false, correlated && listType == "map", out)
	return sitesOf(s.Get("additionalProperties"), false, correlated, out)
}

// AddRules adds rules to some nodes of a root schema. It mostly adds size bounds first, because rules over unbounded
// data are rejected as too expensive.
func AddRules(r Rand, schema *jsontree.Node) {
	all := sitesOf(schema, true, true, nil)
	if r.Chance(92) {
		for _, at := range all {
			bounded(r, at.schema)
		}
	}
	p := &speaker{Rand: r}
	for i := range r.Between(1, 4) {
		at := Pick(r, all)
		if visible(at.schema) == invisible && r.Chance(85) { // registration rejects it
			continue
		}
		if i == 0 && r.Chance(40) {
			at = all[0]
		}
		p.addRules(at, r.weighted(5, 3, 1)+1, 1)
	}
}

func bounded(r Rand, s *jsontree.Node) {
	bound := func(key string, lo, hi int) {
		if s.Get(key) == nil && r.Chance(96) {
			s.Set(key, r.Between(lo, hi))
		}
	}
	switch visible(s) {
	case celString, celBytes, celDyn:
		if s.Get("enum") == nil {
			bound("maxLength", 40, 70)
		}
	case celMap:
		bound("maxProperties", 5, 10)
	case celList:
		bound("maxItems", 5, 10)
	}
}

// addRules adds n rules to a node. bad is the percentage of rules that registration rejects.
func (p *speaker) addRules(at site, n, bad int) {
	rules := at.schema.Get("x-kubernetes-validations")
	if rules == nil || rules.Kind != jsontree.Array {
		rules = jsontree.Arr()
		at.schema.Set("x-kubernetes-validations", rules)
	}
	for range n {
		rules.Items = append(rules.Items, p.rule(at, bad))
	}
}

// rule returns a rule for a node.
func (p *speaker) rule(at site, bad int) *jsontree.Node {
	r, old := p.Rand, ""
	rule := jsontree.Obj()
	var text string
	switch {
	case (at.correlated || r.Chance(3)) && r.Chance(35):
		old = "oldSelf"
		if r.Chance(35) {
			text = p.optionally(at)
			rule.Set("optionalOldSelf", true)
		} else if text = p.change("self", "oldSelf", at.schema, at.root, 2); r.Chance(5) {
			rule.Set("optionalOldSelf", false)
		}
	default:
		if text = p.truth("self", at.schema, at.root, 3); r.Chance(bad) {
			rule.Set("optionalOldSelf", r.Chance(50))
		}
	}
	if text == "" {
		text = "true"
	}
	if r.Chance(bad) {
		text = Pick(r, badRules)
	} else if r.Chance(bad) {
		text = "true\n&& " + text
	}
	if r.Chance(2) {
		text = Pick(r, []string{"[1].all(oldSelf, oldSelf == 1) && (" + text + ")", "true || (" + text + ")", " " + text + "\t", "\n" + text, text + " // why", "(" + text + ")" + strings.Repeat(" && true", 30)})
	}
	rule.Members = append([]jsontree.Member{{Key: "rule", Value: jsontree.Str(text)}}, rule.Members...)
	if r.Chance(40) {
		rule.Set("message", Pick(r, []string{"must hold", "  padded  ", "é\u2028<&>", "a", "%s {x} \"quoted\"", "tab\there"}))
		if r.Chance(bad) {
			rule.Set("message", Pick(r, []string{"", " ", "two\nlines", "return\r", "\nx\n", "\n"}))
		}
	} else if strings.ContainsAny(strings.TrimSpace(text), "\n\r") && !r.Chance(bad) {
		rule.Set("message", "lines")
	}
	if r.Chance(30) {
		rule.Set("messageExpression", p.message(at, old, rule.Get("optionalOldSelf").IsTrue(), bad))
	}
	if r.Chance(25) {
		rule.Set("reason", Pick(r, []string{"FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"}))
		if r.Chance(bad) {
			rule.Set("reason", Pick(r, []string{"", "FieldValueTooLong", "fieldvalueinvalid"}))
		}
	}
	if r.Chance(20) {
		rule.Set("fieldPath", fieldPath(r, at.schema))
		if r.Chance(bad * 2) {
			rule.Set("fieldPath", Pick(r, []string{"a", ".nosuch", "  ", "", ".a[0]", "..a", ".", "['a", "[a]", "['a'", ".a\n", "['\\q']", ".a.", "['a']b", "[", "[']", "['']"}))
		} else if _, text := rule.Get("fieldPath").Text(); !text {
			rule.Delete("fieldPath")
		}
	}
	return rule
}

// optionally returns a rule about an optional old value.
func (p *speaker) optionally(at site) string {
	if p.Chance(p.rarely(at.schema, 60)) {
		if inner := p.change("self", "o1", at.schema, at.root, 2); inner != "" {
			return "oldSelf.optMap(o1, " + inner + ").orValue(" + Pick(p.Rand, []string{"true", "false"}) + ")"
		}
	}
	if p.Chance(30) {
		if inner := p.change("self", "oldSelf.value()", at.schema, at.root, 2); inner != "" {
			return Pick(p.Rand, []string{"!oldSelf.hasValue() || ", "oldSelf.hasValue() && ", ""}) + "(" + inner + ")"
		}
	}
	if visible(at.schema) == celObject && p.Chance(70) { // the equality of objects with invalid data depends on the order of Go maps
		return Pick(p.Rand, []string{"oldSelf.hasValue()", "!oldSelf.hasValue()", "oldSelf.optMap(o, true).orValue(false)", "oldSelf != optional.none()", "oldSelf.or(optional.of(self)).hasValue()"})
	}
	return Pick(p.Rand, []string{"oldSelf.hasValue()", "!oldSelf.hasValue()", "oldSelf.orValue(self) == self", "oldSelf.hasValue() ? self == oldSelf.value() : true", "oldSelf == optional.of(self)", "oldSelf != optional.none()", "oldSelf.value() == self",
		"oldSelf.or(optional.of(self)).hasValue()", "oldSelf.optMap(o, o == self).orValue(false)"})
}

// message returns a messageExpression.
func (p *speaker) message(at site, old string, optional bool, bad int) string {
	r := p.Rand
	if r.Chance(bad) {
		return Pick(r, badMessages)
	}
	if old != "" && r.Chance(40) {
		if optional {
			return Pick(r, optionalMessages)
		}
		return Pick(r, oldMessages)
	}
	operand := "self"
	switch visible(at.schema) {
	case celString:
	case celInt, celDouble, celBool, celTimestamp, celDuration, celBytes, celDyn:
		if operand = "string(self)"; !r.Chance(5) {
			return Pick(r, append([]string{operand, "true ? " + operand + " : ''"}, messages...))
		}
	case celObject:
		operand = ""
		if all := fields(at.schema, at.root); len(all) > 0 {
			if f := Pick(r, all); visible(f.schema) == celString && f.schema != unboundedText {
				operand = "self." + f.name
			}
		}
	default:
		operand = ""
	}
	switch {
	case operand == "" || r.Chance(50):
		return Pick(r, messages)
	case r.Chance(5):
		return strings.ReplaceAll(Pick(r, costlyMessages), "§", operand)
	}
	return strings.ReplaceAll(Pick(r, saying), "§", operand)
}

// fieldPath returns a path to a node below the schema, or null if the schema has no properties.
func fieldPath(r Rand, s *jsontree.Node) *jsontree.Node {
	path := ""
	for range r.Between(1, 3) {
		props, extra := s.Get("properties").GetMembers(), s.Get("additionalProperties")
		var name string
		switch {
		case len(props) > 0:
			m := Pick(r, props)
			name, s = m.Key, m.Value
		case extra != nil && extra.Kind == jsontree.Object:
			name, s = Pick(r, []string{"k", "a.b", "x y", "it's", "0", "", "\a\b\f\n\r\t\v", "back\\slash"}), extra
		default:
			if path == "" {
				return jsontree.Null()
			}
			return jsontree.Str(path)
		}
		if identifier.MatchString(name) && r.Chance(70) {
			path += "." + name
		} else {
			path += "['" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\t", `\t`, "\r", `\r`, "\a", `\a`, "\b", `\b`, "\f", `\f`, "\v", `\v`).Replace(name) + "']"
		}
	}
	return jsontree.Str(path)
}
