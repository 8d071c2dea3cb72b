package publish_test

import (
	"context"
	"errors"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/publish"
)

// TestPanicsAreErrors checks that a panic of a callback or a defect is an error with the stack.
func TestPanicsAreErrors(t *testing.T) {
	ctx, broken := t.Context(), &engine.Definition{} // everything dereferences nil
	object := engine.JSON([]byte(stored))
	fails := publish.CRD{
		Name: "x", Group: "g", Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "x"}, Revision: t.Name(), Versions: []engine.VersionInfo{{Name: "v1", Served: true}},
		Manifest: func(context.Context) ([]byte, error) { panic("injected") },
	}
	for name, call := range map[string]func() error{
		"Table": func() error {
			_, err := publish.TableOf(ctx, broken, "v1", []engine.Document{object}, publish.TableOptions{})
			return err
		},
		"GetScale":           func() error { _, err := publish.GetScale(ctx, broken, "v1", object); return err },
		"SetScale":           func() error { _, err := publish.SetScale(ctx, broken, "v1", object, object); return err },
		"SelectableFields":   func() error { _, err := publish.SelectableFields(broken, "v1"); return err },
		"Select":             func() error { _, err := publish.Select(ctx, broken, "v1", object); return err },
		"ParseFieldSelector": func() error { _, err := publish.ParseFieldSelector(broken, "v1", "a=b"); return err },
		"OpenAPIV2":          func() error { _, err := publish.OpenAPI{}.V2(ctx, fails); return err },
		"OpenAPIV3":          func() error { _, err := publish.OpenAPI{}.V3(ctx, "g", "v1", fails); return err },
		"OpenAPIV3Index":     func() error { _, err := publish.OpenAPI{}.V3Index(ctx, "", fails); return err },
		"OpenAPIModels":      func() error { _, err := publish.OpenAPI{}.Models(ctx, fails); return err },
		"Explain":            func() error { _, err := publish.Explain(ctx, "x", publish.ExplainOptions{}, fails); return err },
	} {
		err := call()
		cause, panicked := errors.AsType[*host.PanicError](err)
		if engine.ReasonOf(err) != engine.ReasonInternal || !panicked || len(cause.Stack) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
