package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// TestCheckpoints checks that each kind of long work calls the checkpoint, also under a context that never ends.
func TestCheckpoints(t *testing.T) {
	calls := 0
	ctx := WithHooks(context.Background(), &Hooks{Checkpoint: func() { calls++ }})
	schema := `{"type":"object","properties":{"list":{"type":"array","maxItems":100000,"items":{"type":"integer"}%s},` +
		`"text":{"type":"string","maxLength":1000000%s}}}`
	long := `"` + strings.Repeat("ab", 500_000) + `"`
	numbers := "[" + strings.Repeat("1,", 99_999) + "1]"
	for _, c := range []struct{ name, list, text, object string }{
		{"parsing", "", "", `"list":` + numbers},
		{"a rule", `,"x-kubernetes-validations":[{"rule":"self.all(x, x > 0)"}]`, "", `"list":` + numbers},
		{"a pattern", "", `,"pattern":"^(ab)*$"`, `"text":` + long},
		{"cel-go", `,"x-kubernetes-validations":[{"rule":"self.map(x, {string(x): x}).size() > 0"}]`, "", `"list":[` + numbers[len(numbers)-2000:]},
	} {
		d := mustCompile(t, crdOf(fmt.Sprintf(schema, c.list, c.text)))
		before := calls
		v, err := d.Validate(ctx, Item{Object: JSON([]byte(objectOf("{" + c.object + "}")))}, EvaluationOptions{})
		if err != nil || !v.Allowed {
			t.Errorf("%s: %v %v", c.name, v, err)
		}
		t.Logf("%s: %d checkpoints", c.name, calls-before)
		if calls-before < 3 {
			t.Errorf("%s: %d checkpoints", c.name, calls-before)
		}
	}
}
