package diff_test

import (
	"errors"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/diff"
	"github.com/crdeval/crdeval/engine/host"
)

// TestPanicsAreErrors checks that a panic of a callback or a defect is an error with the stack.
func TestPanicsAreErrors(t *testing.T) {
	manifest := thing("{type: object}", "")
	d := compileYAML(t, manifest)
	object := engine.JSON([]byte(`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"x"}}`))
	for name, call := range map[string]func() error{
		"Compare": func() error {
			_, err := diff.Compare(t.Context(), engine.YAML(manifest), engine.YAML(manifest), engine.Options{
				Existing: func(string) *engine.Existing { panic("injected") },
			})
			return err
		},
		"Counterexamples": func() error {
			_, err := diff.Counterexamples(t.Context(), d, d, nil, diff.SearchOptions{})
			return err
		},
		"Replay": func() error { // each method of the definition dereferences nil
			all, _ := diff.Replay(t.Context(), d, &engine.Definition{}, []engine.ObjectWrite{engine.Create{Object: object}}, engine.FieldValidationWarn)
			return all[0].Err
		},
	} {
		err := call()
		cause, panicked := errors.AsType[*host.PanicError](err)
		if engine.ReasonOf(err) != engine.ReasonInternal || !panicked || len(cause.Stack) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
