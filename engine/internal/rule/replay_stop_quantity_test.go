package rule

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
)

// TestQuantitiesOfAnyExtent: a rule about a quantity ends within moments, with cel-go's answer or with the name of a bound.
func TestQuantitiesOfAnyExtent(t *testing.T) {
	const digits, exponent = "max_quantity_digits", "max_quantity_exponent"
	env := Stored()
	scope := newScope(props(t, stopSchema), false, NewMemory())
	schema := schemaOf(scope.Type())
	zeros := strings.Repeat("0", closure.MaxQuantityDigits-1)
	for _, c := range []struct{ quantity, bound string }{
		{"1e99999999", exponent}, {"-1e-99999999", exponent}, {"1E99999999", exponent}, {"0e99999999", exponent}, {"1.5e2147483647", exponent}, {"1e-2147483648", exponent},
		{"1e1001", exponent}, {"1e-1001", exponent}, {"1e+01001", exponent}, {strings.Repeat("1", 19) + "e99999999", exponent},
		{"1e1000", ""}, {"-1e1000", ""}, {"1e-1000", ""}, {"-1E-1000", ""}, {"0e1000", ""}, {"1e4294967297", ""}, {"1e-4294967299", ""}, {"1e99999999999999999999", ""},
		{"1" + zeros, ""}, {"0." + zeros, digits}, {"1" + zeros + "0", digits}, {"." + zeros + "1", digits}, {"1" + zeros + "e1000", ""}, {"1" + zeros + "Ei", ""}, {"1" + zeros + "0k", digits},
		{"1" + zeros + "0-", digits}, {"1" + zeros + "0x", ""}, {"1" + zeros + "0e5x", ""}, {"-+1" + zeros + "0", ""}, {"1." + zeros + ".", ""},
		{"", ""}, {"-", ""}, {".", ""}, {"e5", ""}, {"1e", ""}, {"1E", ""}, {"1Ei", ""}, {"1e5.5", ""}, {"1e+-5", ""}, {"1eE99999999", ""}, {"12Mi", ""}, {"1m", ""}, {"a text", ""},
	} {
		for _, expression := range []string{
			"isQuantity(self.s)", "quantity(self.s).isInteger()", "quantity(self.s).asInteger() == 1", "sign(quantity(self.s)) == 1",
			"quantity(self.s).compareTo(quantity('64Gi')) <= 0", "quantity('1n').isGreaterThan(quantity(self.s))", "quantity(self.s) == quantity('1')",
			"quantity(self.s).add(quantity('1n')).compareTo(quantity('1')) == 0", "quantity('1n').sub(quantity(self.s)).sub(1).isLessThan(quantity('1'))",
			"quantity(self.s).add(1).asApproximateFloat() > 0.0", "quantity(self.s).asApproximateFloat() > 0.0",
		} {
			checked, _ := env.check(expression, scope, false)
			if checked == nil {
				t.Fatalf("%s does not compile", expression)
			}
			evaluate := func(s *stopper, more ...cel.ProgramOption) stopOutcome {
				program, err := env.plan(checked, append(more, cel.CostLimit(PerCallLimit))...)
				if err != nil {
					t.Fatal(err)
				}
				vars := activation{stop: s, self: common.UnstructuredToVal(map[string]any{"s": c.quantity}, schema)}
				return outcomeOf(program.ContextEval(context.Background(), &vars))
			}
			s := &stopper{signal: interrupt.On(make(chan struct{})), limit: PerCallLimit}
			start := time.Now()
			got := evaluate(s, env.stopOptions()...)
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("%s of %.20s…: %v", expression, c.quantity, took)
			}
			switch {
			case s.failure != nil:
				if s.failure.Name != c.bound {
					t.Errorf("%s of %.20s… (%d bytes): %v", expression, c.quantity, len(c.quantity), s.failure)
				}
			case c.bound != "":
				t.Errorf("%s of %.20s… (%d bytes): %v, not the bound of %s", expression, c.quantity, len(c.quantity), got, c.bound)
			default:
				if want := evaluate(nil); got != want {
					t.Errorf("%s of %.20s… (%d bytes):\ngot  %v\nwant %v", expression, c.quantity, len(c.quantity), got, want)
				}
			}
		}
	}
}

// TestPrecisionOfFormats: digits that nobody sent are counted before they are made.
func TestPrecisionOfFormats(t *testing.T) {
	env := Stored()
	scope := newScope(props(t, stopSchema), false, NewMemory())
	for n, bound := range map[int]bool{1: false, 80: true} {
		checked, _ := env.check("self.s.format(self.l.map(x, 1.0)).size() > 0", scope, false)
		program, err := env.plan(checked, append(env.stopOptions(), cel.CostLimit(PerCallLimit))...)
		if err != nil {
			t.Fatal(err)
		}
		s := &stopper{signal: interrupt.On(make(chan struct{})), limit: PerCallLimit}
		data := map[string]any{"s": strings.Repeat("%.1000000f", n), "l": make([]any, n)}
		for i := range n {
			data["l"].([]any)[i] = int64(i)
		}
		start := time.Now()
		got := outcomeOf(program.ContextEval(context.Background(), &activation{stop: s, self: common.UnstructuredToVal(data, schemaOf(scope.Type()))}))
		t.Log(n, "clauses:", time.Since(start), fmt.Sprint(got))
		if (s.failure != nil) != bound || s.failure != nil && s.failure.Name != madeText.name {
			t.Errorf("%d clauses of a million digits: %v %v", n, got, s.failure)
		}
	}
}
