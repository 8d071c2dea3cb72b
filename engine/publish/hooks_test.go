package publish_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/publish"
)

// TestStopAtCheckpoint checks that tables, their text and OpenAPI documents have checkpoints, and that each of them ends
// with ITEM_DEADLINE if the context ends there.
func TestStopAtCheckpoint(t *testing.T) {
	d := tableCRD(t, `{name: a, type: string, jsonPath: .spec..x}`)
	objects := slices.Repeat([]engine.Document{engine.YAML([]byte(head + "metadata: {name: x, namespace: d}"))}, 2000)
	objects = append(objects, engine.JSON([]byte(`{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"x"},"spec":{"list":[`+
		strings.Repeat("1,", 500_000)+`1]}}`)))
	table, err := publish.TableOf(t.Context(), d, "v1", objects, publish.TableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	crd := publish.NewCRD(d, apiextensionsv1.CustomResourceDefinitionStatus{})
	for name, call := range map[string]func(context.Context) error{
		"table": func(ctx context.Context) error {
			_, err := publish.TableOf(ctx, d, "v1", objects, publish.TableOptions{})
			return err
		},
		"text":    func(ctx context.Context) error { _, err := table.Text(ctx, publish.TextOptions{}); return err },
		"OpenAPI": func(ctx context.Context) error { _, err := publish.OpenAPI{}.Models(ctx, crd); return err },
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
			if engine.ReasonOf(err) != engine.ReasonItemDeadline {
				t.Errorf("%s, ended at checkpoint %d: %v", name, last, err)
			}
		}
	}
}
