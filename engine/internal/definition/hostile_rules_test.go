package definition

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/testenv"
)

// ruledCRD returns a CRD whose spec has the given properties and rules.
func ruledCRD(t *testing.T, properties string, rules ...string) *Manifest {
	t.Helper()
	list := make([]map[string]string, len(rules))
	for i, r := range rules {
		list[i] = map[string]string{"rule": r, "message": "m"}
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Decode([]byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"as.example.com"},
"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"as","kind":"A"},"versions":[{"name":"v1","served":true,"storage":true,
"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{` + properties + `},"x-kubernetes-validations":` + string(text) + `}}}}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// chain applies a macro n times, each time to the previous result.
func chain(on, macro string, n int) string {
	for i := range n {
		on = fmt.Sprintf("%s.%s(x%d, x%d)", on, macro, i, i)
	}
	return on
}

// TestHostileRules checks that registration of costly rules ends soon after its deadline or with a limit error.
func TestHostileRules(t *testing.T) {
	const properties = `"a":{"type":"string","maxLength":5},"l":{"type":"array","maxItems":3,"items":{"type":"string","maxLength":5}}`
	inside := "true"
	for i := range 100 {
		inside = fmt.Sprintf("self.l.all(x%d, %s)", i, inside)
	}
	many := make([]string, 30_000)
	for i := range many {
		many[i] = fmt.Sprintf("self.a != '%d'", i)
	}
	var wide strings.Builder
	wide.WriteString(`"a":{"type":"string"}`)
	for i := range 30_000 {
		fmt.Fprintf(&wide, `,"p%d":{"type":"object","properties":{"b":{"type":"string"}},"x-kubernetes-validations":[{"rule":"self.b != ''"}]}`, i)
	}
	long := strings.Repeat("self.a == 'x' || ", 3000)
	nested := `{"type":"object","default":{},"properties":{"a":{"type":"string"}},"x-kubernetes-validations":[{"rule":"` + long + `true"}]}`
	for range 20 {
		nested = `{"type":"object","default":{},"properties":{"n":` + nested + `}}`
	}
	failing := make([]string, 20)
	for i := range failing {
		failing[i] = fmt.Sprintf("%sself.nope%d", long, i)
	}
	deep := `{"type":"string"}`
	for range 300 {
		deep = `{"type":"object","properties":{"a":` + deep + `,"l":{"type":"array","items":{"type":"string"}}},"x-kubernetes-validations":[{"rule":"self.l.all(x, x != '')"}]}`
	}
	tests := map[string]*Manifest{
		"100,000 code points":        ruledCRD(t, properties, strings.Repeat("self.a == 'x' || ", 5800)+"true"),
		"too many code points":       ruledCRD(t, properties, strings.Repeat("self.a == 'x' || ", 5900)+"true"),
		"thousands of errors":        ruledCRD(t, properties, strings.Repeat("nope.a == 'x' || ", 5800)+"true"),
		"a long list":                ruledCRD(t, properties, "self.a in ["+strings.Repeat("'x',", 24_000)+"'x']"),
		"brackets":                   ruledCRD(t, properties, strings.Repeat("(", 50_000)+"true"+strings.Repeat(")", 49_000)),
		"recursion":                  ruledCRD(t, properties, strings.Repeat("(", 240)+"true"+strings.Repeat(")", 240)),
		"macros in macros":           ruledCRD(t, properties, inside),
		"macros on macros":           ruledCRD(t, properties, chain("self.l", "map", 60)+" == self.l"),
		"doubling macros":            ruledCRD(t, properties, chain("self.?a", "optMap", 30)+".hasValue()"),
		"a few doubling macros":      ruledCRD(t, properties, chain("self.?a", "optMap", 8)+".hasValue()"),
		"thousands of rules":         ruledCRD(t, properties, many...),
		"a long rule below defaults": ruledCRD(t, properties+`,"n":`+nested, "true"),
		"long rules with errors":     ruledCRD(t, properties, failing...),
		"a wide schema":              ruledCRD(t, wide.String(), "self.a == ''"),
		"a deep schema":              ruledCRD(t, `"a":`+deep, "true"),
	}
	for name, m := range tests {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			if name != "doubling macros" { // these exceed a limit at once
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 150*time.Millisecond)
				defer cancel()
			}
			start := testenv.CPUTime()
			r := Validate(ctx, m, Options{})
			took := testenv.CPUTime() - start
			t.Logf("%v, %d errors, %v", took, len(r.Errors), r.Err)
			if took > 30*time.Second { // at most a few seconds, minutes if nothing stopped it
				t.Errorf("took %v of CPU time", took)
			}
			var limit *tree.LimitError
			if name == "doubling macros" && !errors.As(r.Err, &limit) {
				t.Errorf("no limit: %v", r.Err)
			}
		})
	}
}
