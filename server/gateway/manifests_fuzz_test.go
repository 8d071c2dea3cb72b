package gateway

import (
	"testing"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
)

// FuzzManifests: whatever a body of RegisterCrds holds, it is a request within the limits or an error, and every entry of a YAML body of manifests is
// remembered, so that violations can point to it.
func FuzzManifests(f *testing.F) {
	for _, seed := range []string{
		"kind: List\nitems:\n- {}\n- {a: 1}\n", "---\nkind: a\n---\n# nothing\n---\n{}", `{"kind":"List","items":[{},[],1]}`, `{"entries":[{"manifest":{}}]}`, "entries:\n- manifest: {}\n",
		`{"kind":"CustomResourceDefinition"}`, `{"kind":"List","items":`, "{kind: List, items: [{}]}", "\"kind\": x", "a: &a [*a]", "",
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, text []byte, yaml bool) {
		request := &crdevalv1.RegisterCrdsRequest{}
		b := &body{data: text, yaml: yaml, lists: api.Limits{}.Lists(), memory: unlimited()}
		b.limits.MaxBytes = 1 << 20
		err := b.decode(request)
		if n := len(request.GetEntries()); n > 1000 || b.manifests != nil && err == nil && n != len(b.manifests) {
			t.Errorf("%d entries, %d remembered", n, len(b.manifests))
		}
		if err != nil {
			return
		}
		for i, e := range request.GetEntries() {
			if o, err := b.Origin(e.GetManifest()); o == nil && err == nil && len(e.GetManifest().GetJson()) > 0 {
				t.Errorf("entry %d has no origin", i)
			}
		}
	})
}
