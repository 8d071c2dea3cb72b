package conversion

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/conversionwebhook"
)

// Golden is a reproducer in a file: a case and upstream's answer. A test runs the files in testdata/golden/conversion.
type Golden struct {
	// Name says what differed.
	Name string `json:"name"`
	// CRD is the manifest. The test sets the URL of its webhook, and an annotation of the object selects its behaviour.
	CRD json.RawMessage `json:"crd"`
	Case
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
	p, err := newPair(encode(crd), engine.Document{}, h, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	r := p.compare(g.question(p.namespaced()), true)
	text, err := json.Marshal(r.upstream)
	if err != nil {
		return nil, nil, nil, err
	}
	answer = json.RawMessage(ports.ReplaceAllString(plain(string(text)), "127.0.0.1:PORT"))
	return answer, slices.Sorted(maps.Keys(r.received)), r.diffs, nil
}

// ports matches the address of a webhook.
var ports = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// Case is a request.
type Case struct {
	// How is get, getscale, create, update, patch (a merge patch), status, scale, convert or list. Op is the operation of
	// a write.
	How string    `json:"how"`
	Op  oracle.Op `json:"op,omitempty"`
	// Version is the endpoint, Target the version to convert to.
	Version string `json:"version,omitempty"`
	Target  string `json:"target,omitempty"`
	// Body is what a client sends, or what is converted. Old is the stored object, and Objects are those of a list.
	Body    string   `json:"body,omitempty"`
	Old     string   `json:"old,omitempty"`
	Objects []string `json:"objects,omitempty"`
}

func (c *Case) question(namespaced bool) question {
	q := question{how: how(c.How)}
	q.Op, q.Version, q.Target, q.Body, q.Whole = c.Op, c.Version, c.Target, []byte(c.Body), q.how != toVersion
	if c.Old != "" {
		q.Old = []byte(c.Old)
		if o, err := parse(q.Old); err == nil {
			metadata, _ := o["metadata"].(object)
			q.Name, _ = metadata["name"].(string)
		}
	}
	if namespaced {
		q.Namespace = "default"
	}
	if q.how == patch {
		q.Patch = oracle.MergePatch
	}
	for _, o := range c.Objects {
		q.Objects = append(q.Objects, []byte(o))
	}
	return q
}

// Session compares requests about the objects of a CRD. The caller runs its webhook.
type Session struct{ p *pair }

// NewSession compiles a CRD on both sides. wrap, if not nil, wraps the client that calls the webhook for the engine.
func NewSession(manifest []byte, wrap func(conversionwebhook.Converter) conversionwebhook.Converter) (Session, error) {
	p, err := newPair(manifest, engine.Document{}, nil, wrap)
	return Session{p}, err
}

// Compare returns upstream's answer to a request, and the differences of ours.
func (s Session) Compare(c Case) (upstream oracle.Answer, diffs []string) {
	r := s.p.compare(c.question(s.p.namespaced()), false)
	return r.upstream, r.diffs
}

// Engine returns the definition of the engine.
func (s Session) Engine() *engine.Definition { return s.p.ours.Engine() }
