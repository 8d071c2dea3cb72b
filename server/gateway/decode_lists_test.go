package gateway

import (
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/value"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
)

// TestListsAreBoundedWhileRead: the elements beyond a limit cost nothing, whatever the body's language and style.
func TestListsAreBoundedWhileRead(t *testing.T) {
	const many = 1_000_000
	for name, c := range map[string]struct {
		body string
		yaml bool
		want string
	}{
		"JSON items":        {`{"items":[` + strings.Repeat("{},", many) + `{}]}`, false, "max_batch_items"},
		"JSON crds":         {`{"crds":[` + strings.Repeat("{},", many) + `{}]}`, false, "max_inline_crds"},
		"YAML items":        {"options: {}\nitems:\n" + strings.Repeat("- {}\n", many), true, "max_yaml_nodes"},
		"YAML indented":     {"items: # all\n\n" + strings.Repeat("  - object:\n      a: 1\n  # one more\n", many/4), true, "max_yaml_nodes"},
		"YAML flow":         {"items: [" + strings.Repeat("{},", many) + "]\n", true, "max_yaml_nodes"},
		"YAML dashes":       {"x:\n  " + strings.Repeat("- ", many) + "\n", true, "max_yaml_nodes"},
		"JSON that is YAML": {`{"items":[` + strings.Repeat("{},", many) + `{}]}`, true, "max_yaml_nodes"},
	} {
		b := &body{data: []byte(c.body), yaml: c.yaml, lists: api.Limits{}.Lists(), limits: value.Limits{MaxBytes: 64 << 20}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var r crdevalv1.ValidateRequest
		_ = b.decode(&r)
		runtime.ReadMemStats(&after)
		if st := statusOf(b.status()); reasonOf(st) != "LIMIT_EXCEEDED" || !strings.Contains(st.Message(), c.want) {
			t.Errorf("%s: %v, want %s", name, st, c.want)
		}
		if taken := after.TotalAlloc - before.TotalAlloc; taken > uint64(len(c.body)) {
			t.Errorf("%s: %d bytes were allocated for a body of %d", name, taken, len(c.body))
		}
	}
}

// TestYAMLCountsAsMemory: what a YAML body becomes in memory counts among the bodies.
func TestYAMLCountsAsMemory(t *testing.T) {
	held := NewBodies(4000, nil)
	_, rest := serve(t, Options{MaxBodyBytes: 1000, Bodies: held})
	held.taken.Add(3000)
	header := http.Header{"Content-Type": {"application/yaml"}}
	url := rest.URL + "/v1/catalogs/default:validate"
	if code, text, _ := send(t, http.MethodPost, url, strings.NewReader("items:\n- object: {a: 1}\n- object: {a: 1}\n- object: {a: 1}\n- object: {a: 1}\n"), header); code != http.StatusServiceUnavailable || !strings.Contains(text, "OVERLOADED") {
		t.Errorf("HTTP %d %s", code, text)
	}
	held.taken.Add(-3000)
	if code, text, _ := send(t, http.MethodPost, url, strings.NewReader("items:\n- object: {a: 1}\n"), header); code != http.StatusOK || held.Taken() != 0 {
		t.Errorf("HTTP %d %s, %d bytes taken", code, text, held.Taken())
	}
}
