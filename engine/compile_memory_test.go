package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/host"
)

// TestCompilationMemory checks that a compilation charges the memory for its rules and schemas before it needs it, also
// if their keys are escaped or repeated by aliases. The error of the hook ends the compilation, and all memory is released.
func TestCompilationMemory(t *testing.T) {
	rules := strings.Repeat(`{"rule":"self.a > 0"},`, 500)
	schema := func(rules string) string {
		return crdOf(`{"type":"object","properties":{"a":{"type":"integer"}},"x-kubernetes-validations":[` + strings.TrimSuffix(rules, ",") + `]}`)
	}
	alias := strings.Repeat("*r,", 499)
	for name, manifest := range map[string]Document{
		"JSON":    JSON([]byte(schema(rules))),
		"escapes": JSON([]byte(schema(strings.ReplaceAll(rules, "rule", `r\u0075le`)))),
		"aliases": YAML([]byte(schema(`&r {"rule":"self.a > 0"},` + alias))),
	} {
		for _, most := range []int64{1 << 20, 1 << 40} {
			var held, peak int64
			ctx := host.WithHooks(t.Context(), &host.Hooks{Grow: ledger(&held, &peak, most)})
			d, _, err := Compile(ctx, manifest, Options{})
			if errors.Is(err, errNoMemory) != (most == 1<<20) || held != 0 {
				t.Errorf("%s, at most %d bytes: %v, %d bytes are left", name, most, err, held)
			}
			if most == 1<<40 && (d == nil || peak < 500*10<<10) {
				t.Errorf("%s: %s, %d bytes", name, fmt.Sprint(d != nil), peak)
			}
		}
	}
}
