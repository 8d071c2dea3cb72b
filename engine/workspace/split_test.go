package workspace

import (
	"errors"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/host"
)

// TestReadPanics checks that a panic in a goroutine that reads manifests is the error of that manifest.
func TestReadPanics(t *testing.T) {
	list := []*Manifest{{}, {Identity: Identity{Kind: "A"}}}
	readAll(list, func(m *Manifest) {
		if m.Kind == "" {
			panic("ouch")
		}
		m.Kind = "B"
	})
	var cause *host.PanicError
	if !errors.As(list[0].Err, &cause) || !strings.Contains(string(cause.Stack), "split_test.go") {
		t.Errorf("got %v", list[0].Err)
	}
	if list[1].Err != nil || list[1].Kind != "B" {
		t.Errorf("the other manifest: %+v", list[1])
	}
}
