package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/rules"
)

// TestCheckpoints checks that each kind of long work calls the checkpoint, also under a context that never ends.
func TestCheckpoints(t *testing.T) {
	calls := 0
	ctx := host.WithHooks(context.Background(), &host.Hooks{Checkpoint: func() { calls++ }})
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
		v, err := d.Validate(ctx, Create{Object: JSON([]byte(objectOf("{" + c.object + "}")))}, ValidateOptions{})
		if err != nil || !v.Allowed {
			t.Errorf("%s: %v %v", c.name, v, err)
		}
		t.Logf("%s: %d checkpoints", c.name, calls-before)
		if calls-before < 3 {
			t.Errorf("%s: %d checkpoints", c.name, calls-before)
		}
	}
}

// TestStopAtCheckpoint checks that traces have checkpoints, and end with ITEM_DEADLINE if the context ends there.
func TestStopAtCheckpoint(t *testing.T) {
	traced := mustCompile(t, crdOf(`{"type":"object","properties":{"list":{"type":"array","maxItems":100,"items":{"type":"object","properties":{`+
		repeated(50, `"p%d":{"type":"integer"}`)+`}},"x-kubernetes-validations":[{"rule":"self.all(x, has(x.p1))"}]}}}`))
	long := JSON([]byte(objectOf(`{"list":[` + repeated(20, `{`+repeated(40, `"p%d":1`)+`}`) + `]}`)))
	for name, call := range map[string]func(context.Context) error{
		"trace": func(ctx context.Context) error {
			_, err := traced.Validate(ctx, Create{Object: long}, ValidateOptions{Trace: rules.TraceAll})
			return err
		},
	} {
		for last := 1; ; last = last*3/2 + 1 {
			ctx, cancel := context.WithCancel(t.Context())
			calls := 0
			err := call(host.WithHooks(ctx, &host.Hooks{Checkpoint: func() {
				if calls++; calls == last {
					cancel()
				}
			}}))
			cancel()
			if calls < last {
				if last == 1 {
					t.Errorf("%s: no checkpoint", name)
				}
				break
			}
			if ReasonOf(err) != ReasonItemDeadline {
				t.Errorf("%s, ended at checkpoint %d: %v", name, last, err)
			}
		}
	}
}

var errNoMemory = errors.New("no memory")

// ledger returns a hook that grants at most so many bytes. It records those that are held, and their maximum.
func ledger(held, peak *int64, most int64) func(int64) error {
	return func(n int64) error {
		if *held += n; n > 0 && *held > most {
			*held -= n
			return errNoMemory
		}
		*peak = max(*peak, *held)
		return nil
	}
}

// TestGrow checks that an object needs memory for its tree, its defaults and upstream's errors, and that the error of
// the hook ends the evaluation. All memory is released at the end.
func TestGrow(t *testing.T) {
	d := mustCompile(t, crdOf(`{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer","default":1}}}}}}`))
	many := strings.Repeat("{},", 100_000)
	for name, object := range map[string]string{
		"defaults": objectOf(`{"list":[` + many + `{}]}`), "a syntax error": `{"list":[` + many + `x]}`,
		"no kind": `{"list":[` + many + `{}]}`,
	} {
		for _, most := range []int64{1 << 20, 1 << 30} {
			var held, peak int64
			ctx := host.WithHooks(t.Context(), &host.Hooks{Grow: ledger(&held, &peak, most)})
			ctx = host.WithHooks(ctx, &host.Hooks{Checkpoint: func() {}})
			_, err := d.Default(ctx, JSON([]byte(object)), TransformOptions{})
			if errors.Is(err, errNoMemory) != (most == 1<<20) {
				t.Errorf("%s, at most %d bytes: %v", name, most, err)
			}
			if most == 1<<30 && peak < 8_000_000 {
				t.Errorf("%s: %d bytes", name, peak)
			}
			if held != 0 {
				t.Errorf("%s: %d bytes are left", name, held)
			}
		}
	}
}

// TestGrowReleasesOldObjects checks that the memory of an old object that takes upstream's decoder or is YAML is
// released.
func TestGrowReleasesOldObjects(t *testing.T) {
	d := mustCompile(t, crdOf(`{"type":"object","x-kubernetes-preserve-unknown-fields":true}`))
	object := objectOf(`{"list":[` + strings.Repeat("0,", 3000) + `0]}`)
	for name, old := range map[string]Document{
		"YAML": YAML([]byte(object)), "duplicate kind": JSON([]byte(strings.Replace(object, `{`, `{"kind":"CronTab",`, 1))),
	} {
		var held, peak int64
		ctx := host.WithHooks(t.Context(), &host.Hooks{Grow: ledger(&held, &peak, 1<<30)})
		v, err := d.Validate(ctx, Update{Object: JSON([]byte(object)), Old: old}, ValidateOptions{CompleteMetadata: true})
		if err != nil || !v.Allowed || peak == 0 || held != 0 {
			t.Errorf("%s: %v %v, %d bytes at most, %d are left", name, v, err, peak, held)
		}
	}
}
