package engine

import (
	"slices"
	"testing"
)

// TestKubernetesWarnings: the type of a warning decides whether an API server sends it, not its text.
func TestKubernetesWarnings(t *testing.T) {
	got := KubernetesWarnings([]Warning{
		{Type: TypeUnknownField, Text: "a"}, {Type: TypeNotice, Text: "b"}, {Type: TypeWarning, Text: "crdeval: c"},
	})
	if want := []string{"a", "crdeval: c"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
