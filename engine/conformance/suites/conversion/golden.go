package conversion

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// Golden is a reproducer in a file: a case and upstream's answer. A test runs the files in testdata/golden/conversion.
type Golden struct {
	// Name says what differed.
	Name string `json:"name"`
	// CRD is the manifest. The test sets the URL of its webhook, and an annotation of the object selects its behaviour.
	CRD json.RawMessage `json:"crd"`
	// The other fields are the request: get, getscale, create, update, patch (a merge patch), status, scale, convert or
	// list.
	How     string    `json:"how"`
	Op      oracle.Op `json:"op,omitempty"`
	Version string    `json:"version,omitempty"`
	Target  string    `json:"target,omitempty"`
	Body    string    `json:"body,omitempty"`
	Old     string    `json:"old,omitempty"`
	Objects []string  `json:"objects,omitempty"`
	// Answer is upstream's, and Received what its webhook received, without what a server generates.
	Answer   json.RawMessage `json:"answer"`
	Received []string        `json:"received,omitempty"`
}

// Run runs the case. It returns upstream's answer, what upstream's webhook received, and the differences of ours.
func (g *Golden) Run() (answer json.RawMessage, received, diffs []string, err error) {
	crd, err := parse(g.CRD)
	if err != nil {
		return nil, nil, nil, err
	}
	h := newHook()
	defer h.close()
	spec, _ := crd["spec"].(object)
	conversion, _ := spec["conversion"].(object)
	webhook, ok := conversion["webhook"].(object)
	if !ok {
		return nil, nil, nil, fmt.Errorf("%s: the CRD has no webhook", g.Name)
	}
	webhook["clientConfig"] = object{"url": h.url(), "caBundle": h.bundle}
	p, err := newPair(encode(crd), h, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	r := p.compare(g.question(spec["scope"] == "Namespaced"), true)
	text, err := json.Marshal(r.upstream)
	if err != nil {
		return nil, nil, nil, err
	}
	return json.RawMessage(ports.ReplaceAllString(plain(string(text)), "127.0.0.1:PORT")), slices.Sorted(maps.Keys(r.received)), r.diffs, nil
}

// ports matches the address of a webhook.
var ports = regexp.MustCompile(`127\.0\.0\.1:\d+`)

func (g *Golden) question(namespaced bool) question {
	q := question{how: how(g.How)}
	q.Op, q.Version, q.Target, q.Body, q.Whole = g.Op, g.Version, g.Target, []byte(g.Body), q.how != convert
	if g.Old != "" {
		q.Old, q.Name = []byte(g.Old), "x"
	}
	if namespaced {
		q.Namespace = "default"
	}
	if q.how == patch {
		q.Patch = oracle.MergePatch
	}
	for _, o := range g.Objects {
		q.Objects = append(q.Objects, []byte(o))
	}
	return q
}
