package generate

import (
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// ruleSite is a list of rules in the corpus: the CRD and the number of the list's node.
type ruleSite struct{ definition, node int }

// RuleSites is the number of schemas in the corpus that have rules.
func (c *Real) RuleSites() int { return len(c.ruled) }

// RuleMutant returns the group of a real CRD, reduced to the surroundings of a schema with rules. One or two of its
// rules or bounds are changed.
func (c *Real) RuleMutant(r Rand, i int) Group {
	at := c.ruled[i%len(c.ruled)]
	cut := cutter{r: r, path: pathTo(c.small[at.definition], at.node)}
	crd := cut.copy(c.small[at.definition], cut.path, false, false, 5, nil, nil)
	schema := cut.parent
	for range r.IntN(3) {
		switch r.IntN(4) {
		case 0, 1:
			if rules := schema.Get("x-kubernetes-validations"); rules != nil && len(rules.Items) > 0 {
				mutateRule(r, Pick(r, rules.Items), schema)
			}
		case 2:
			rebound(r, crd)
		default:
			(&speaker{Rand: r}).addRules(site{schema: schema, correlated: r.Chance(50)}, 1, 20)
		}
	}
	g := Group{Name: "rule mutant of " + c.corpus.CRDs[at.definition].Name, CRD: crd.JSON()}
	g.Objects = objectsFor(r, crd, 3)
	return g
}

// mutateRule changes one thing of a rule.
func mutateRule(r Rand, rule, schema *jsontree.Node) {
	if rule.Kind != jsontree.Object {
		return
	}
	text, _ := rule.Get("rule").Text()
	p := &speaker{Rand: r}
	switch r.IntN(12) {
	case 0, 1, 2:
		rule.Set("rule", mutateExpression(r, text))
	case 3:
		rule.Set("rule", Pick(r, badRules))
	case 4:
		rule.Set("rule", mutateText(r, text))
	case 5:
		rule.Set("messageExpression", p.message(site{schema: schema}, Pick(r, []string{"", "oldSelf"}), r.Chance(30), 40))
	case 6:
		rule.Set("messageExpression", mutateExpression(r, "'a' + string("+text+")"))
	case 7:
		rule.Set("message", Pick(r, []any{"", " ", "a\nb", "a\rb", "ok", "\n", 1, nil}))
	case 8:
		rule.Set("reason", Pick(r, []any{"FieldValueRequired", "", "bogus", nil, 1}))
	case 9:
		rule.Set("fieldPath", Pick(r, []any{"", " ", ".nosuch", fieldPath(r, schema), fieldPath(r, schema), ".a.b", "['x']", "a\nb", 1}))
	case 10:
		rule.Set("optionalOldSelf", Pick(r, []any{true, false, nil, "x"}))
	default:
		rule.Set("rule", strings.ReplaceAll(text, "self", Pick(r, []string{"oldSelf", "self.x", "this", "self[0]"})))
	}
}

// swaps are pairs of words that can replace each other in an expression.
var swaps = [][2]string{{"==", "!="}, {"&&", "||"}, {"||", "&&"}, {"!=", "=="}, {"<", ">="}, {">", "<"}, {"has(", "!has("}, {"!has(", "has("}, {"self", "oldSelf"}, {"oldSelf", "self"}, {".all(", ".exists("}, {".exists(", ".all("}, {".all(", ".map("}, {"size(", "sum("}, {"'", "\""}, {"1", "1.0"}, {"0", "0u"},
	{"self.", "self.?"}, {".startsWith", ".matches"}, {"(", "(("}, {")", ""}, {" in ", " == "}, {"?", "? true :"}, {"true", "1"}, {"self", "dyn(self)"}, {"size()", "size"}, {"matches", "find"}, {"self", "[self]"}, {"x", "self"}}

// mutateExpression replaces a word, removes one, or nests the expression.
func mutateExpression(r Rand, text string) string {
	switch r.IntN(5) {
	case 0, 1, 2:
		for range 6 {
			s := Pick(r, swaps)
			if n := strings.Count(text, s[0]); n > 0 {
				parts := strings.SplitN(text, s[0], r.IntN(n)+2)
				last := len(parts) - 1
				return strings.Join(parts[:last], s[0]) + s[1] + parts[last]
			}
		}
	case 3:
		if words := word.FindAllStringIndex(text, -1); len(words) > 0 {
			w := Pick(r, words)
			return text[:w[0]] + Pick(r, []string{"", "nosuch", "self", "1", "'a'"}) + text[w[1]:]
		}
	}
	return Pick(r, []string{"!(" + text + ")", "(" + text + ") && " + text, "[" + text + "].all(x, x)", "[1, 2, 3].all(x, " + text + ")", text + " == 1", "string(" + text + ") == ''", "lists.range(1000).all(i, " + text + ")", "(" + text + ") ? true : 'a'"})
}

// rebound changes or removes some sizes of a CRD, which determine the cost of rules.
func rebound(r Rand, crd *jsontree.Node) {
	drop := r.Chance(50)
	crd.Walk(func(n, _ *jsontree.Node, _ int) {
		if n.Kind != jsontree.Object || n.Get("type") == nil {
			return
		}
		for _, key := range []string{"maxItems", "maxLength", "maxProperties"} {
			old := n.Get(key)
			switch {
			case old != nil && old.Kind == jsontree.Scalar && drop && r.Chance(60):
				n.Delete(key)
			case old != nil && old.Kind == jsontree.Scalar && r.Chance(30):
				if i, err := strconv.ParseInt(old.Raw, 10, 64); err == nil && i < 1<<40 {
					n.Set(key, jsontree.Int(i*Pick(r, []int64{2, 3, 10, 100, 1000})))
				}
			}
		}
	})
}

// Expressions returns a group of a random schema with rules of which many are rejected.
func Expressions(r Rand) Group {
	schema := Schema(r)
	all := sitesOf(schema, true, true, nil)
	switch r.IntN(3) {
	case 0:
		AddRules(r, schema)
	case 1:
		for _, at := range all {
			bounded(r, at.schema)
		}
	}
	p := &speaker{Rand: r}
	for range r.Between(1, 3) {
		at := Pick(r, all)
		if r.Chance(20) {
			at = all[0]
		}
		p.addRules(at, r.Between(1, 3), Pick(r, []int{1, 5, 30}))
	}
	crd := Manifest(schema)
	if r.Chance(20) {
		crd.At("spec", "versions").Items[0].Set("subresources", jsontree.Obj("status", jsontree.Obj()))
	}
	if r.Chance(10) {
		addVersion(r, crd.Get("spec"), crd.At("spec", "versions").Items[0])
	}
	return Group{Name: "expressions", CRD: crd.JSON(), Objects: objectsFor(r, crd, 2)}
}
