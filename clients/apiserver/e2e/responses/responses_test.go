package responses

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// script is a file of testdata.
type script struct {
	CRDs []json.RawMessage `json:"crds"`
	// Requests are sent in their order. Their responses must not depend on the order of managedFields.
	Requests  []request `json:"requests"`
	Histories []history `json:"histories"`
}

// TestResponses sends each script to upstream's server, and to crdeval-apiserver with each evaluator.
func TestResponses(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	check(t, err)
	sides := startSides(t)
	webhook := startWebhook(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			check(t, err)
			s := &script{}
			check(t, yaml.UnmarshalStrict([]byte(webhook.Replace(string(text))), s))
			for _, crd := range s.CRDs {
				for _, at := range sides {
					at.register(t, crd)
				}
			}
			var runs []*run
			for _, at := range sides {
				runs = append(runs, at.send(t, s.Requests))
			}
			for _, difference := range differences(runs) {
				t.Error(difference)
			}
			for _, h := range s.Histories {
				t.Run(h.Name, func(t *testing.T) { h.compare(t, sides) })
			}
		})
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
