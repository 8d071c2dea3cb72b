package interpret

import (
	"context"
	"fmt"
	"strings"
	"testing"

	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/crdeval/crdeval/engine/internal/closure"
)

// TestQuantityBounds: a rule about a quantity has cel-go's answer or names a bound. Without the bounds it takes hours.
func TestQuantityBounds(t *testing.T) {
	const digits, exponent = "max_quantity_digits", "max_quantity_exponent"
	r := newRig(t, guardSchema)
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
			evaluate := func(e *Evaluation) textResult {
				program, err := r.plan(expression, celconfig.PerCallLimit, e != nil)
				if err != nil {
					t.Fatal(err)
				}
				vars := activation{evaluation: e, self: common.UnstructuredToVal(map[string]any{"s": c.quantity}, r.schema)}
				return textOf(program.ContextEval(context.Background(), &vars))
			}
			e := evaluation(make(chan struct{}), celconfig.PerCallLimit, false)
			got := evaluate(e)
			switch {
			case e.bound != nil:
				if e.bound.Name != c.bound {
					t.Errorf("%s of %.20s… (%d bytes): %v", expression, c.quantity, len(c.quantity), e.bound)
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

// TestFormatBounds: the digits that a format asks for are counted before they are made.
func TestFormatBounds(t *testing.T) {
	r := newRig(t, guardSchema)
	for n, bound := range map[int]bool{1: false, 80: true} {
		program, err := r.plan("self.s.format(self.l.map(x, 1.0)).size() > 0", celconfig.PerCallLimit, true)
		if err != nil {
			t.Fatal(err)
		}
		e := evaluation(make(chan struct{}), celconfig.PerCallLimit, false)
		data := map[string]any{"s": strings.Repeat("%.1000000f", n), "l": make([]any, n)}
		for i := range n {
			data["l"].([]any)[i] = int64(i)
		}
		vars := activation{evaluation: e, self: common.UnstructuredToVal(data, r.schema)}
		got := textOf(program.ContextEval(context.Background(), &vars))
		if (e.bound != nil) != bound || e.bound != nil && e.bound.Name != textLimit.name {
			t.Errorf("%d clauses of a million digits: %v %v", n, fmt.Sprint(got), e.bound)
		}
	}
}

func TestFormatDigits(t *testing.T) {
	for format, want := range map[string]int64{
		"": 0, "%s": 0, "%.3f": 3, "a %.10f b %.5e %d": 15, "%%.9f": 0, "%%%.9f": 9, "%.1000000f": 1e6, "%.1000001f": 0, "%.99999999999999999999f": 0, "%.f": 0, "%": 0, "%.": 0, "%.7": 7,
		strings.Repeat("%.1000000f", 80): 80e6,
	} {
		if got := formatDigits(format); got != want {
			t.Errorf("%.40q: %v, want %v", format, got, want)
		}
	}
}
