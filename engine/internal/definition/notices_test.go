package definition

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// TestAnnotationsApplied compares the size with that of the annotations as kubectl makes them.
func TestAnnotationsApplied(t *testing.T) {
	long := strings.Repeat("é<>&\\u2028\\n\u2029 ", 10_000)
	for name, metadata := range map[string]string{
		"no annotations":          `{"name":"a"}`,
		"null":                    `{"annotations":null}`,
		"none":                    `{"annotations":{},"name":"a"}`,
		"others":                  `{"annotations":{"a<":"b&","c":""},"name":"a"}`,
		"applied before":          `{"annotations":{"` + corev1.LastAppliedConfigAnnotation + `":"{\"a\":1}\n"}}`,
		"applied before, another": `{"annotations":{"a":"b","` + corev1.LastAppliedConfigAnnotation + `":"<"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			text := `{"metadata": ` + metadata + `, "spec": {"z": [1.50, 1e21, true, null, [], {}, "` + long + `"], "a<": {"b": -0.0}}}`
			d := new(tree.Doc)
			root, err := d.Parse([]byte(text), tree.Request, tree.Limits{MaxBytes: len(text)})
			if err != nil {
				t.Fatal(err)
			}
			s := &Source{Doc: d, Root: root, Text: []byte(text)}
			if got, want := s.annotationsApplied(), applied(t, text); got != want {
				t.Errorf("%d bytes, want %d", got, want)
			}
		})
	}
}

// applied returns the size of all annotations after kubectl added its own.
func applied(t *testing.T, text string) (size int) {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	metadata := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
	}
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	metadata["annotations"] = annotations
	manifest, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	annotations[corev1.LastAppliedConfigAnnotation] = string(manifest) + "\n"
	for key, value := range annotations {
		size += len(key) + len(fmt.Sprint(value))
	}
	return size
}
