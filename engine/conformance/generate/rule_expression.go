package generate

import (
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// speaker writes expressions for a node of a schema.
type speaker struct {
	Rand
	names int // of variables, so that nested macros hide each other only on purpose
}

// truth returns a condition on x, a value of the schema s, or "" if rules cannot see such values.
func (p *speaker) truth(x string, s *jsontree.Node, root bool, depth int) string {
	t := visible(s)
	if t == invisible {
		return ""
	}
	if t == celObject && depth > 0 && p.Chance(95) {
		if text := p.selection(x, s, root, depth); text != "" {
			return text
		}
	}
	switch {
	case depth > 0 && p.Chance(12):
		a, b := p.truth(x, s, root, depth-1), p.truth(x, s, root, depth-1)
		c := Pick(p.Rand, []string{"1 / 0 == 1", "true", "false", b})
		return Pick(p.Rand, []string{"(" + a + ") && (" + b + ")", "(" + a + ") || (" + c + ")", "(" + c + ") || (" + a + ")", "(" + a + ") ? (" + b + ") : (" + c + ")", "!(" + a + ")", "(" + c + ") && (" + a + ")",
			"[" + a + ", " + b + "].exists_one(b, b)", "(" + a + ") == (" + b + ")"})
	case p.Chance(3):
		return Pick(p.Rand, []string{"true", "false", "1 / 0 == 1", "1 == 1", "[].all(x, x)", "lists.range(3).sum() == 3"})
	}
	text := Pick(p.Rand, bank[t])
	for unbounded.MatchString(text) && p.Chance(95) {
		text = Pick(p.Rand, bank[t])
	}
	return p.fill(text, x, s, depth)
}

// fill replaces the placeholder of an expression in the bank.
func (p *speaker) fill(text, x string, s *jsontree.Node, depth int) string {
	text = strings.ReplaceAll(text, "§", x)
	if i := strings.IndexByte(text, '@'); i >= 0 && i+1 < len(text) {
		variable := text[i+1 : i+2]
		element, inner := variable, s.Get("items")
		if visible(s) == celMap {
			if inner = s.Get("additionalProperties"); variable == "k" {
				element = x + "[k]"
				if p.Chance(30) {
					element, inner = "k", jsontree.Obj("type", "string")
				}
			}
		}
		// The variable gets its own name, because macros nest.
		p.names++
		fresh := variable + string(rune('0'+p.names%10))
		body := p.truth(strings.ReplaceAll(element, variable, fresh), inner, false, depth-1)
		if body == "" {
			body = "true"
		}
		text = rename(text, variable, fresh)
		text = strings.Replace(text, "@"+fresh, "("+body+")", 1)
	}
	return text
}

// rename replaces a variable of one letter.
func rename(text, from, to string) string {
	var b strings.Builder
	for i := range len(text) {
		alone := text[i] == from[0] && (i == 0 || !wordByte(text[i-1])) && (i+1 == len(text) || !wordByte(text[i+1])) && (i == 0 || text[i-1] != '\'' && text[i-1] != '.')
		if alone {
			b.WriteString(to)
		} else {
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// selection returns an expression about fields of an object.
func (p *speaker) selection(x string, s *jsontree.Node, root bool, depth int) string {
	if hidden := undeclared(s); len(hidden) > 0 && p.Chance(10) { // present, but not declared for rules
		return strings.ReplaceAll(strings.ReplaceAll(Pick(p.Rand, []string{"dyn(§).% == 1", "type(dyn(§).%) == int", "string(dyn(§).%) == ''", "dyn(§).%.size() > 1", "dyn(§).% + 1 > 2", "dyn(§).% in [1]", "has(dyn(§).%)", "[dyn(§).%].exists(x, x == 'a')", "dyn(§).% == dyn(§).%", "'%' in dyn(§)", "§.% == 1",
			"dyn(§).%.a == 1", "[dyn(§).%].join(',') == 'a'"}), "%", Pick(p.Rand, hidden)), "§", x)
	}
	all := fields(s, root)
	if len(all) == 0 {
		return ""
	}
	f := Pick(p.Rand, all)
	sel := x + "." + f.name
	if f.schema == unboundedText { // kind and apiVersion
		return strings.ReplaceAll(Pick(p.Rand, []string{"§ == 'CronTab'", "§ != ''", "§.startsWith('stable.')", "has(§)", "§ in ['CronTab', 'Pod']", "size(§) > 3"}), "§", sel)
	}
	switch p.IntN(12) {
	case 0:
		return "has(" + sel + ")"
	case 1:
		return "!has(" + sel + ")"
	case 2:
		g := Pick(p.Rand, all)
		return Pick(p.Rand, []string{"has(" + sel + ") == has(" + x + "." + g.name + ")", "has(" + sel + ") || has(" + x + "." + g.name + ")", "!(has(" + sel + ") && has(" + x + "." + g.name + "))",
			"[has(" + sel + "), has(" + x + "." + g.name + ")].filter(b, b).size() <= 1", sel + " == " + x + "." + g.name})
	case 3:
		o := x + ".?" + f.name
		if text := p.truth("v0", f.schema, false, depth-1); text != "" && p.Chance(p.rarely(f.schema, 60)) {
			return o + ".optMap(v0, " + text + ").orValue(" + Pick(p.Rand, []string{"true", "false"}) + ")"
		}
		return Pick(p.Rand, []string{o + ".hasValue()", o + ".orValue(" + sel + ") == " + sel, o + " == optional.none()", o + ".or(" + o + ").hasValue()", "!(" + o + ".hasValue()) || " + o + ".value() == " + sel})
	}
	text := p.truth(sel, f.schema, false, depth-1)
	switch {
	case text == "":
		return "has(" + sel + ")"
	case p.Chance(45):
		return "!has(" + sel + ") || " + text
	case p.Chance(10):
		return "has(" + sel + ") ? " + text + " : " + Pick(p.Rand, []string{"true", "false", text})
	}
	return text
}

// change returns an expression of a transition rule about x and old.
func (p *speaker) change(x, old string, s *jsontree.Node, root bool, depth int) string {
	t := visible(s)
	if t == celObject && depth > 0 && p.Chance(88) {
		if all := fields(s, root); len(all) > 0 {
			f := Pick(p.Rand, all)
			a, b := x+"."+f.name, old+"."+f.name
			switch inner := p.change(a, b, f.schema, false, depth-1); {
			case inner == "" || p.Chance(20):
				return Pick(p.Rand, []string{"has(" + a + ") == has(" + b + ")", "has(" + b + ") || !has(" + a + ")"})
			case p.Chance(50):
				return "!has(" + b + ") || (has(" + a + ") && " + inner + ")"
			default:
				return inner
			}
		}
	}
	forms := transitions[t]
	if len(forms) == 0 {
		if t == invisible {
			return ""
		}
		forms = []string{"§ == %", "§ != %"}
	}
	text := Pick(p.Rand, forms)
	for unbounded.MatchString(text) && p.Chance(95) {
		text = Pick(p.Rand, append(forms, "§ == %"))
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "§", x), "%", old)
}

// rarely lowers a percentage for values with a size, because the estimator loses it behind an optional.
func (p *speaker) rarely(s *jsontree.Node, percent int) int {
	switch visible(s) {
	case celInt, celDouble, celBool, celTimestamp, celDuration:
		return percent
	}
	return percent / 10
}
