package tests

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
)

// typed is an object schema with a property of every type.
const typed = `
type: object
properties:
  b: {type: boolean}
  i: {type: integer}
  d: {type: number}
  s: {type: string}
  "y": {type: string, format: byte}
  t: {type: string, format: date-time}
  u: {type: string, format: duration}
  x: {x-kubernetes-int-or-string: true}
  l: {type: array, items: {type: string}}
  "n": {type: array, items: {type: integer}}
  e: {type: array, items: {type: array, items: {type: integer}}}
  m: {type: object, additionalProperties: {type: string}}
  namespace: {type: string}
  break: {type: string}
  o: {type: object, properties: {a: {type: string}}}
`

// expressions contains one expression for each function, macro, operator and type that some minors lack, by the first
// minor that has it.
var expressions = map[int][]string{
	25: {
		"self.s.matches('a')", "self.i < 2 && self.d < 2.0", "self.s.find('a') == ''", "self.s.findAll('a').size() == 1", "isURL(self.s)", "url(self.s).getHost() == ''",
		"url(self.s).getEscapedPath() == ''", "url(self.s).getHostname() == ''", "url(self.s).getPort() == ''", "url(self.s).getQuery().size() == 0",
		"url(self.s).getScheme() == ''", "self.n.sum() == 1", "self.l.isSorted()", "self.n.max() == 1", "self.n.min() == 1", "self.l.indexOf('a') == 1",
		"self.l.lastIndexOf('a') == 1", "self.s.charAt(1) == 'a'", "self.s.indexOf('a') == 1", "self.s.indexOf('a', 1) == 1", "self.s.lastIndexOf('a') == 1",
		"self.s.lowerAscii() == 'a'", "self.s.upperAscii() == 'a'", "self.s.replace('a', 'b') == ''", "self.s.split(',').size() == 1",
		"self.s.substring(1, 2) == ''", "self.s.trim() == ''", "self.l.join() == ''", "self.l.join(',') == ''", "self.u.getHours() == 1", "self.t.getHours('UTC') == 1",
		"type(self.x) == int", "type(self.x) == google.protobuf.Timestamp", "oldSelf == self", "has(self.o.a)",
		"self.l.exists_one(x, x == '')", "self.m.all(k, k == '')", "self.__namespace__ == ''", "self.x == 1 || self.x == 'a'", "int('1') == 1",
		"self.x < 2", "self.o == self.o", "dyn(1) == 1", "string(self.y) == ''", "self.n.filter(x, x > 1).map(x, x + 1).size() > 0",
	},
	28: {
		"self.i < 2.0", "self.d >= 1", "self.i > 2u", "self.?s.orValue('') == ''", "self.m[?'a'].hasValue()", "optional.of(self.s).value() == ''",
		"optional.none() == optional.none()", "optional.ofNonZeroValue(self.s).hasValue()", "self.?o.a.or(self.?s).hasValue()", "self.?s.optMap(x, x + 'a').hasValue()",
		"self.?o.optFlatMap(x, x.?a).hasValue()", "quantity(self.s).isGreaterThan(quantity('1'))", "isQuantity(self.s)", "quantity(self.s).add(1) == quantity('1')",
		"quantity(self.s).sub(quantity('1')).isLessThan(quantity('1'))", "quantity(self.s).asInteger() == 1", "quantity(self.s).isInteger()",
		"quantity(self.s).asApproximateFloat() == 1.0", "quantity(self.s).compareTo(quantity('1')) == 1", "sign(quantity(self.s)) == 1",
		"self.l.first().hasValue()", "self.l.last() == optional.of('a')", "optional.unwrap([self.?s]).size() == 1", "[self.?s].unwrapOpt().size() == 1",
		"[?self.?s].size() == 1", "{?'a': self.?s}.size() == 1", "type(self.?s) == optional_type",
		"self.?m['a'].hasValue()", "self.?l[0].hasValue()",
	},
	29: {
		"sets.contains(self.l, self.l)", "sets.equivalent(self.l, self.l)", "sets.intersects(self.l, self.l)", "strings.quote(self.s) == ''",
		"'%s'.format([self.s]) == ''",
	},
	30: {
		"ip(self.s).family() == 4", "isIP(self.s)", "ip.isCanonical(self.s)", "ip(self.s).isLoopback()", "ip(self.s).isUnspecified()", "ip(self.s).isGlobalUnicast()",
		"ip(self.s).isLinkLocalMulticast()", "ip(self.s).isLinkLocalUnicast()", "string(ip(self.s)) == ''", "cidr(self.s).containsIP(self.s)",
		"cidr(self.s).containsCIDR(cidr(self.s))", "cidr(self.s).ip() == ip(self.s)", "cidr(self.s).masked() == cidr(self.s)", "cidr(self.s).prefixLength() == 1",
		"isCIDR(self.s)", "string(cidr(self.s)) == ''", "type(ip(self.s)) == net.IP", "type(self.x) == net.CIDR",
	},
	31: {
		"format.dns1123Label().validate(self.s).hasValue()", "format.named('uri').hasValue()", "!format.uuid().validate(self.s).hasValue()", "self.namespace == ''",
		"self.break == ''", "has(self.namespace)",
	},
	32: {
		"self.l.all(i, x, x == '' || i > 1)", "self.m.exists(k, v, k == v)", "self.l.existsOne(i, x, x == '')", "self.l.transformList(i, x, x).size() == 1",
		"self.m.transformMap(k, v, v).size() == 1", "self.m.transformMapEntry(k, v, {v: k}).size() == 1", "self.l.transformList(i, x, i > 0, x).size() == 1",
	},
	33: {
		"semver(self.s).major() == 1", "isSemver(self.s)", "isSemver(self.s, true)", "semver(self.s, true).minor() == 1", "semver(self.s).patch() == 1",
		"semver(self.s).isGreaterThan(semver('1.0.0'))", "semver(self.s).isLessThan(semver('1.0.0'))", "semver(self.s).compareTo(semver('1.0.0')) == 1",
	},
	34: {
		"self.l.distinct().size() == 1", "self.e.flatten().size() == 1", "self.e.flatten(2).size() == 1", "lists.range(3).size() == 3", "self.l.reverse() == self.l",
		"self.l.slice(0, 1).size() == 1", "self.l.sort() == self.l", "self.l.sortBy(x, x.size()) == self.l",
	},
	37: {"self.l.includes('a')", "self.s.includes('a')"},
}

// inMinor compiles an expression on the typed object as upstream does at a minor. It returns the error, or "".
func inMinor(t *testing.T, expression string, minor uint) string {
	t.Helper()
	return textOf(compiled(t, typedWith(t, expression), false, minor)[0].Error)
}

func typedWith(t *testing.T, expression string) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	s := &apiextensionsv1.JSONSchemaProps{}
	if err := yaml.Unmarshal([]byte(typed), s); err != nil {
		t.Fatal(err)
	}
	s.XValidations = []apiextensionsv1.ValidationRule{{Rule: expression}}
	return s
}

// TestMinors compiles each expression in each environment, upstream's and ours, and compares the result with our lowest
// minor.
func TestMinors(t *testing.T) {
	for since, list := range expressions {
		for _, expression := range list {
			s := typedWith(t, expression)
			scope := celcheck.NewShared().Field(s)
			for minor := format.OldestMinor; minor <= format.LatestMinor; minor++ {
				theirs := inMinor(t, expression, uint(minor))
				env, err := celenv.ForMinor(minor)
				if err != nil {
					t.Fatal(err)
				}
				facts := scope.Check(t.Context(), env, env, &s.XValidations[0])
				if ours := textOf(facts.Error); ours != theirs {
					t.Errorf("%s at 1.%d:\nours     %s\nupstream %s", expression, minor, ours, theirs)
				}
				if (theirs == "") != (minor >= since) {
					t.Errorf("%s at 1.%d, expected since 1.%d: %s", expression, minor, since, theirs)
				}
				if facts.Rule == nil {
					continue
				}
				if lowest, lacking := facts.Rule.Lowest(); lowest != since || (lacking == "") != (since == format.OldestMinor) {
					t.Errorf("%s compiled at 1.%d: lowest 1.%d %q, want 1.%d", expression, minor, lowest, lacking, since)
				}
			}
		}
	}
}

// TestEveryFunctionHasAMinor: the table above contains all functions of the newest environment, except those of the
// standard library, which every minor has, and those that no rule can call.
func TestEveryFunctionHasAMinor(t *testing.T) {
	var all strings.Builder
	for _, list := range expressions {
		all.WriteString(strings.Join(list, "\n"))
	}
	standard := map[string]bool{}
	for name := range environment.MustBaseEnvSet(version.MajorMinor(1, 25)).NewExpressionsEnv().Functions() {
		standard[name] = true
	}
	for name, f := range environment.MustBaseEnvSet(version.MajorMinor(1, 37)).StoredExpressionsEnv().Functions() {
		authorization := false
		for _, o := range f.OverloadDecls() {
			for _, arg := range o.ArgTypes() {
				authorization = authorization || strings.HasPrefix(arg.TypeName(), "kubernetes.authorization")
			}
		}
		if standard[name] || authorization || strings.ContainsAny(name, "@_") || strings.HasPrefix(name, "format.") {
			continue
		}
		if !strings.Contains(all.String(), name+"(") {
			t.Errorf("no expression calls %s", name)
		}
	}
}

// TestMinorsOfTheCorpus compiles the rules of the corpora at our lowest minor and at the one before.
func TestMinorsOfTheCorpus(t *testing.T) {
	c := sampledCorpus(t)
	found := map[int]int{}
	seen := map[string]bool{}
	for _, crd := range c.CRDs {
		if !strings.Contains(string(crd.Doc), "x-kubernetes-validations") {
			continue
		}
		m, err := definition.Decode(crd.Doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, rules := range definition.Validate(context.Background(), m, definition.Options{}).Rules {
			if rules == nil {
				continue
			}
			for i := range rules.List {
				r := &rules.List[i]
				text := r.Props.XValidations[r.Index].Rule
				if r.Facts.Rule == nil || seen[text] {
					continue
				}
				seen[text] = true
				lowest, lacking := r.Facts.Rule.Lowest()
				found[lowest]++
				for minor := max(lowest-1, format.OldestMinor); minor <= lowest; minor++ {
					theirs := compiled(t, r.Props, len(r.Path) == 0 || r.Props.XEmbeddedResource, uint(minor))[r.Index]
					if (theirs.Error == nil) != (minor == lowest) {
						t.Errorf("%q at 1.%d, lowest 1.%d (%s): %s", text, minor, lowest, lacking, textOf(theirs.Error))
					}
				}
			}
		}
	}
	t.Log(fmt.Sprint(found))
}
