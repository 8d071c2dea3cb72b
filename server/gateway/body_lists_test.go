package gateway

import (
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/document"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/call"
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
		"JSON crds":         {`{"context":{"crds":[` + strings.Repeat("{},", many) + `{}]}}`, false, "max_inline_crds"},
		"YAML items":        {"context: {}\nitems:\n" + strings.Repeat("- {}\n", many), true, "max_yaml_nodes"},
		"YAML indented":     {"items: # all\n\n" + strings.Repeat("  - object:\n      a: 1\n  # one more\n", many/4), true, "max_yaml_nodes"},
		"YAML flow":         {"items: [" + strings.Repeat("{},", many) + "]\n", true, "max_yaml_nodes"},
		"YAML dashes":       {"x:\n  " + strings.Repeat("- ", many) + "\n", true, "max_yaml_nodes"},
		"JSON that is YAML": {`{"items":[` + strings.Repeat("{},", many) + `{}]}`, true, "max_yaml_nodes"},
	} {
		b := &body{data: []byte(c.body), yaml: c.yaml, lists: api.Limits{}.Lists(), limits: document.Limits{MaxBytes: 64 << 20}, memory: unlimited()}
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

// TestYAMLCountsAsMemory: a request holds memory for the nodes of its YAML body.
func TestYAMLCountsAsMemory(t *testing.T) {
	o := Options{MaxBodyBytes: 1000}
	memory := withMemory(&o, 12<<10, true) // 6 KiB for one caller
	_, rest := serve(t, o)
	other := memory.Open("caller")
	if err := other.TryGrow(call.Request, 4<<10); err != nil {
		t.Fatal(err)
	}
	header := http.Header{"Content-Type": {"application/yaml"}}
	url, item := rest.URL+"/v1/catalogs/default:validate", "- create: {object: 1}\n"
	if code, text, _ := send(t, http.MethodPost, url, strings.NewReader("items:\n"+strings.Repeat(item, 3)), header); code != http.StatusServiceUnavailable || !strings.Contains(text, "OVERLOADED") {
		t.Errorf("HTTP %d %s", code, text)
	}
	other.Release()
	if code, text, _ := send(t, http.MethodPost, url, strings.NewReader("items:\n"+item), header); code != http.StatusOK {
		t.Errorf("HTTP %d %s", code, text)
	}
	until(t, "memory was not returned", func() bool { return held(memory) == 0 })
}
