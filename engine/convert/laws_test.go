package convert_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/convert"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/testenv"
)

// endpointRules are those of the example in docs/conversion.md: one field here is two fields there.
const endpointRules = `
crd: endpoints.example.com
between: [v1beta1, v1]
rules:
- cel: {to: spec.hostPort, expr: "self.spec.host + ':' + string(self.spec.port)"}
  back: {spec.host: "self.spec.hostPort.split(':')[0]", spec.port: "int(self.spec.hostPort.split(':')[1])"}
- values: {path: spec.mode, map: {fast: Fast, slow: Slow}}
- stash: {path: spec.note, maxBytes: 200}
`

// portsRules turn a list into a map, with lists in it.
const portsRules = `
crd: ports.example.com
between: [v1beta1, v1]
rules:
- list: {path: spec.ports, key: name, map: spec.portsByName}
- move: {from: "spec.ports[*].proto", to: "spec.portsByName[*].protocol"}
- move: {from: "spec.ports[*].paths[*].weight", to: "spec.portsByName[*].paths[*].share"}
- move: {from: spec.host, to: spec.endpoint.host}
- stash: {path: "spec.ports[*].comment", maxBytes: 100}
- stash: {path: spec.endpoint.note, maxBytes: 100}
- drop: {path: spec.legacy}
- values: {path: status.ready, to: status.phase, map: {"true": Up, "false": Down}}
`

// hubRules convert through v1. v1beta1 and v1alpha1 lose and keep different fields.
const hubRules = `
crd: hubs.example.com
hub: v1
conversions:
- between: [v1alpha1, v1]
  rules:
  - move: {from: spec.a, to: spec.c}
  - list: {path: spec.list, key: name, map: spec.map}
  - drop: {path: "spec.map[*].size"}
  - stash: {path: spec.alpha, maxBytes: 100}
  - stash: {path: spec.two, maxBytes: 100}
- between: [v1beta1, v1]
  rules:
  - move: {from: spec.b, to: spec.c}
  - drop: {path: spec.one}
  - stash: {path: spec.beta, maxBytes: 100}
  - values: {path: spec.mode, map: {x: X}}
`

// swapRules swaps two strings. They write numbers with and without a fraction.
const swapRules = `
crd: literals.example.com
between: [v1beta1, v1]
rules:
- cel: {to: spec.text, expr: "{'a': 'long', 'long': 'a'}[?self.spec.text].orValue(self.spec.text)"}
  back: {spec.text: "{'a': 'long', 'long': 'a'}[?self.spec.text].orValue(self.spec.text)"}
- cel: {to: spec.ratio, expr: self.spec.ratio}
  back: {spec.ratio: self.spec.ratio}
`

func TestConversionLaws(t *testing.T) {
	testenv.SingleGoroutine(t)
	for _, c := range []struct{ file, rules string }{
		{"preconditions.yaml", "{crd: preconditions.example.com, between: [v1beta1, v1], rules: []}"},
		{"endpoints.yaml", endpointRules}, {"ports.yaml", portsRules}, {"hubs.yaml", hubRules}, {"tasks.yaml", tasksRules},
		{"literals.yaml", swapRules},
	} {
		d := definitionWithRules(t, c.file, c.rules)
		if !convert.ReportOf(d).Accepted {
			t.Fatalf("%s: %+v", c.file, convert.ReportOf(d).Violations)
		}
		laws, err := convert.Test(t.Context(), d, testenv.Volume(200), 1)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(d.Versions()); len(laws) != 8*n*(n-1) {
			t.Errorf("%s: %d laws", c.file, len(laws))
		}
		for _, l := range laws {
			t.Log(c.file, l.Law, l.Between, l.Objects)
			if x := l.Counterexample; x != nil {
				t.Errorf("%s: %s %v: %s\n%s\n%s\n%s", c.file, l.Law, l.Between, x.Text, x.Object, x.Converted, x.Back)
			}
		}
	}
}

// TestConversionLawsOfRules checks that violations are found in rules that registration accepts.
func TestConversionLawsOfRules(t *testing.T) {
	testenv.SingleGoroutine(t)
	for _, c := range []struct{ law, from, old, new, text, object string }{
		{"round-trip", "v1beta1", "split(':')[0]", "split('.')[0].split(':')[0]", "After the conversion to v1 and back, spec.host is ", `"spec":{"host":`},
		{"round-trip", "v1", "string(self.spec.port)", "string(self.spec.port > 100 ? 100 : self.spec.port)", "After the conversion to v1beta1 and back, spec.hostPort is ", `"spec":{"hostPort":`},
		{"validity", "v1beta1", "+ ':' +", "+ ' ' +", `The object is valid in v1beta1. Its conversion to v1 is not: spec.hostPort: Invalid value: "`, `"host":"`},
	} {
		d := definitionWithRules(t, "endpoints.yaml", strings.ReplaceAll(endpointRules, c.old, c.new))
		laws, err := convert.Test(t.Context(), d, 200, 1)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, l := range laws {
			x := l.Counterexample
			if x == nil || l.Law != c.law || l.Between[0] != c.from {
				continue
			}
			found = true
			t.Logf("%s\n%s", x.Text, x.Object)
			if !strings.Contains(x.Text, c.text) || !strings.Contains(string(x.Object), c.object) || len(x.Object) > 300 {
				t.Errorf("%s\n%s\nwant the text %s, and the object with %s", x.Text, x.Object, c.text, c.object)
			}
		}
		if !found {
			t.Errorf("no counterexample of %s from %s: %+v", c.law, c.from, laws)
		}
	}
}

// TestLawsOfHub checks that a field of the hub that one version drops is tested with a version that keeps it: v1alpha1
// has one of v1, and here loses large numbers.
func TestLawsOfHub(t *testing.T) {
	testenv.SingleGoroutine(t)
	const at = "  - move: {from: spec.a, to: spec.c}\n"
	rules := strings.Replace(hubRules, at, at+
		"  - cel: {to: spec.one, expr: self.spec.one}\n    back: {spec.one: \"self.spec.one > 3 ? 3 : self.spec.one\"}\n", 1)
	laws, err := convert.Test(t.Context(), definitionWithRules(t, "hubs.yaml", rules), 200, 1)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, l := range laws {
		if x := l.Counterexample; l.Law == "round-trip" && l.Between == [2]string{"v1", "v1alpha1"} && x != nil {
			found = strings.Contains(x.Text, "After the conversion to v1alpha1 and back, spec.one is 3. Before it was ")
		}
	}
	if !found {
		t.Errorf("no counterexample: %+v", laws)
	}
}

// TestConversionLawsOfLiterals checks that violations are found that only objects with values of the rules show.
func TestConversionLawsOfLiterals(t *testing.T) {
	testenv.SingleGoroutine(t)
	cel := func(field, expr, back string) string {
		return fmt.Sprintf("- cel: {to: 'spec.%s', expr: %q}\n  back: {'spec.%[1]s': %[3]q}\n", field, expr, back)
	}
	text, count, ratio := "self.spec.text", "self.spec.count", "self.spec.ratio"
	for _, c := range []struct{ law, rule, object string }{
		{"round-trip", cel("text", text+" == 'production' ? 'prod' : "+text, text), `"text":"production"`},
		{"round-trip", cel("text", text, text+" == 'prod' ? 'production' : "+text), `"text":"prod"`},
		{"round-trip", cel("text", text+" in ['s', 'production'] ? 's' : "+text, text), `"text":"production"`},
		{"round-trip", cel("text", text+".replace('::', ':')", text), `::`},
		{"round-trip", cel("count", count+" == 123456 ? 0 : "+count, count), `"count":123456`},
		{"round-trip", cel("count", count+" * -1 + 123457 == 0 ? 0 : "+count, count), `"count":123457`},
		{"round-trip", cel("ratio", ratio+" == 0.0625 ? 1.0 : "+ratio, ratio), `"ratio":0.0625`},
		{"round-trip", cel("items[*].mode", `self.mode == "fa\u0073t" ? 'slow' : self.mode`, "self.mode"), `"mode":"fast"`},
		{"validity", "- values: {path: 'spec.items[*].mode', map: {quick: fas}}", `"mode":"quick"`},
	} {
		d := definitionWithRules(t, "literals.yaml", "crd: literals.example.com\nbetween: [v1beta1, v1]\nrules:\n"+c.rule)
		laws, err := convert.Test(t.Context(), d, 200, 1)
		if err != nil {
			t.Fatal(err)
		}
		found := slices.ContainsFunc(laws, func(l convert.Law) bool {
			return l.Law == c.law && l.Counterexample != nil && strings.Contains(string(l.Counterexample.Object), c.object)
		})
		if !found {
			t.Errorf("%s: no counterexample of %s with %s", c.rule, c.law, c.object)
		}
	}
}

// TestConversionLawsReplaceObjects checks that objects that cannot be converted are counted, although the laws are tested
// on objects with other values.
func TestConversionLawsReplaceObjects(t *testing.T) {
	d := definitionWithRules(t, "tasks.yaml", strings.Replace(tasksRules, "maxBytes: 100", "maxBytes: 2", 1))
	laws, err := convert.Test(t.Context(), d, 100, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range laws {
		t.Log(l.Law, l.Between, l.Objects, l.Generated, l.Unconverted, l.Failure)
		generated, least, failure := 0, 0, ""
		if l.Law == "validity" {
			generated = 100
			if l.Between[0] == "v1beta1" {
				least, failure = 20, "maxBytes of the rule is 2"
			}
		}
		if l.Counterexample != nil || l.Generated != generated || !strings.Contains(l.Failure, failure) ||
			l.Unconverted < least || (l.Unconverted > 0) != (least > 0) || (l.Failure != "") != (least > 0) {
			t.Errorf("%+v", l)
		}
	}
}

// TestConversionLawsOfFailingExpressions checks that validity is broken if and only if an expression fails for all values.
func TestConversionLawsOfFailingExpressions(t *testing.T) {
	testenv.SingleGoroutine(t)
	for _, c := range []struct {
		expr, back string
		broken     []string // the versions that are not converted
	}{
		{"int(self.spec.text + 'zzz')", "string(self.spec.count / 0)", []string{"v1", "v1beta1"}},
		{"size(self.spec.text)", "string(self.spec.count / 0)", []string{"v1"}},
		{"self.spec.text.startsWith('production') ? 1 : size(self.spec.text) / 0", "string(self.spec.count)", nil},
	} {
		rules := "crd: failing.example.com\nbetween: [v1beta1, v1]\nrules:\n" +
			fmt.Sprintf("- cel: {to: spec.count, expr: %q}\n  back: {spec.text: %q}\n", c.expr, c.back)
		d := definitionWithRules(t, "failing.yaml", rules)
		laws, err := convert.Test(t.Context(), d, 200, 1)
		if err != nil {
			t.Fatal(err)
		}
		var broken []string
		for _, l := range laws {
			x := l.Counterexample
			if l.Law != "validity" || x == nil {
				continue
			}
			broken = append(broken, l.Between[0])
			field := map[string]string{"v1": "spec.count", "v1beta1": "spec.text"}[l.Between[0]]
			if want := "No generated object of " + l.Between[0] + " with " + field + " is converted"; !strings.Contains(x.Text, want) ||
				len(x.Object) > 200 {
				t.Errorf("%s\n%s\nwant %s", x.Text, x.Object, want)
			}
		}
		if slices.Sort(broken); !slices.Equal(broken, c.broken) {
			t.Errorf("%s: %v are broken, want %v", c.expr, broken, c.broken)
		}
	}
}

func TestConversionLawsWithoutObjects(t *testing.T) {
	d := definitionWithRules(t, "tasks.yaml", tasksRules)
	for _, n := range []int{-1, 0} {
		if laws, err := convert.Test(t.Context(), d, n, 1); engine.ReasonOf(err) != engine.ReasonInvalidArgument || laws != nil {
			t.Errorf("%d: %v, error %v", n, laws, err)
		}
	}
}

func TestConversionLawsStop(t *testing.T) {
	d := definitionWithRules(t, "tasks.yaml", tasksRules)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if laws, err := convert.Test(ctx, d, 1e9, 1); engine.ReasonOf(err) != engine.ReasonItemDeadline || laws != nil {
		t.Errorf("%v, error %v", laws, err)
	}
}
