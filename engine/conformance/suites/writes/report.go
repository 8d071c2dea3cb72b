package writes

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/conformance/shrink"
)

// Golden is a reproducer in a file: a case and upstream's answer. A test runs the files in testdata/golden.
type Golden struct {
	// Name describes the origin of the case.
	Name string `json:"name"`
	// CRD is the manifest, or Text if it is not JSON.
	CRD     json.RawMessage `json:"crd,omitempty"`
	CRDText string          `json:"crdText,omitempty"`
	// Previous is the CRD that the manifest updates.
	Previous *oracle.Previous `json:"previous,omitempty"`
	// The other fields are the request. Without a body, the registration is the case. Body and Old are text, because
	// they can be invalid JSON.
	Op              oracle.Op `json:"op,omitempty"`
	Target          string    `json:"target,omitempty"`
	Handler         bool      `json:"handler,omitempty"`
	Version         string    `json:"version,omitempty"`
	Body            string    `json:"body,omitempty"`
	Old             string    `json:"old,omitempty"`
	YAML            bool      `json:"yaml,omitempty"`
	FieldValidation string    `json:"fieldValidation,omitempty"`
	// Whole means that the request goes to the API server's own handlers, at a URL with these names. Patch is the media
	// type if the body is a patch of Old.
	Whole        bool   `json:"whole,omitempty"`
	URLName      string `json:"urlName,omitempty"`
	URLNamespace string `json:"urlNamespace,omitempty"`
	Patch        string `json:"patch,omitempty"`
	// Mutation is a merge patch of mutating admission, or MutationText if it is not JSON.
	Mutation     json.RawMessage `json:"mutation,omitempty"`
	MutationText string          `json:"mutationText,omitempty"`
	// Answer is upstream's.
	Answer oracle.Answer `json:"answer"`
	// Differences are those of our answer when the file was written.
	Differences []string `json:"differences,omitempty"`
}

// reporter shrinks disagreements, groups them by cause and writes them.
type reporter struct {
	suite string
	o     Options
	j     *judge
	mu    sync.Mutex
	seen  map[string]int
	files []string
}

func newReporter(suite string, o Options, j *judge) *reporter {
	return &reporter{suite: suite, o: o, j: j, seen: map[string]int{}}
}

// quoted matches the values in a rejection. Braces in them do not delimit values.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\d+`)

var literal = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\d+|\{.*\}`)

// signature is equal for disagreements with the same cause: the differences without their values.
func signature(d *Disagreement) string {
	if len(d.Differences) == 0 {
		return ""
	}
	first := d.Differences[0]
	if f := strings.Index(first, `{"type"`); f >= 0 { // a field error: its detail identifies the cause better than its path
		var e oracle.FieldError
		_ = json.Unmarshal([]byte(first[f:]), &e)
		return first[:f] + e.Type + literal.ReplaceAllString(e.Detail, "_")
	}
	if strings.Contains(first, "rejection: upstream ") {
		return quoted.ReplaceAllString(first, "_")
	}
	return literal.ReplaceAllString(first, "_")
}

// report records a disagreement. It returns true if there are enough.
func (p *reporter) report(d *Disagreement) bool {
	limit := p.o.Limit
	if limit == 0 {
		limit = 20
	}
	p.mu.Lock()
	sig := signature(d)
	p.seen[sig]++
	first, distinct := p.seen[sig] == 1, len(p.seen)
	p.mu.Unlock()
	if !first {
		return false
	}
	if !p.o.Quick {
		d = p.shrink(d)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	file, err := p.write(d, len(p.files)+1)
	if err != nil {
		file = err.Error()
	}
	p.files = append(p.files, file)
	if p.o.Noticed != nil {
		p.o.Noticed(d)
	}
	p.print(d, file)
	return distinct >= limit
}

// print prints a disagreement.
func (p *reporter) print(d *Disagreement, file string) {
	fmt.Fprintf(p.o.Log, "\nDISAGREEMENT %s, seed %d, %s\n  reproducer: %s\n", d.Suite, d.Seed, d.Name, file)
	fmt.Fprintf(p.o.Log, "  crd: %s\n", clip(schemaOf(d.CRD)))
	if d.Previous != nil {
		old, _ := json.Marshal(d.Previous)
		fmt.Fprintf(p.o.Log, "  previous: %s\n", clip(string(old)))
	}
	if d.Request != nil {
		fmt.Fprintf(p.o.Log, "  object (%s %s %s%s): %s\n", d.Request.Op, d.Request.Target, d.Request.FieldValidation, map[bool]string{true: " YAML"}[d.Request.YAML], clip(string(d.Request.Body)))
		if d.Request.Old != nil {
			fmt.Fprintf(p.o.Log, "  old: %s\n", clip(string(d.Request.Old)))
		}
	}
	for _, diff := range d.Differences {
		fmt.Fprintf(p.o.Log, "  - %s\n", clip(diff))
	}
}

// schemaOf shortens a generated manifest to its relevant part.
func schemaOf(crd []byte) string {
	n, err := jsontree.Parse(crd)
	if err != nil {
		return string(crd)
	}
	return n.String()
}

func clip(s string) string {
	const n = 1500
	if len(s) > n {
		return s[:n] + fmt.Sprintf("… (%d bytes)", len(s))
	}
	return s
}

func (p *reporter) write(d *Disagreement, n int) (string, error) {
	if p.o.Out == "" {
		return "", nil
	}
	if err := os.MkdirAll(p.o.Out, 0o755); err != nil {
		return "", err
	}
	g := Golden{Name: fmt.Sprintf("%s, seed %d: %s", d.Suite, d.Seed, d.Name), Previous: d.Previous, Answer: d.Upstream, Differences: d.Differences}
	if json.Valid(d.CRD) {
		g.CRD = d.CRD
	} else {
		g.CRDText = string(d.CRD)
	}
	if d.Request != nil {
		g.Op, g.Target, g.Handler = d.Request.Op, d.Request.Target, d.Request.Handler
		g.Version, g.Body, g.YAML, g.FieldValidation = d.Request.Version, string(d.Request.Body), d.Request.YAML, d.Request.FieldValidation
		g.Old, g.Whole, g.URLName, g.URLNamespace, g.Patch = string(d.Request.Old), d.Request.Whole, d.Request.Name, d.Request.Namespace, d.Request.Patch
		if g.Mutation = d.Request.Mutation; g.Mutation != nil && !json.Valid(g.Mutation) {
			g.Mutation, g.MutationText = nil, string(g.Mutation)
		}
	}
	doc, err := json.MarshalIndent(g, "", " ")
	if err != nil {
		return "", err
	}
	file := filepath.Join(p.o.Out, fmt.Sprintf("%s-seed%d-%03d.json", d.Suite, d.Seed, n))
	return file, os.WriteFile(file, append(doc, '\n'), 0o644)
}

// shrink looks for the smallest CRD and object that still disagree in the same way.
func (p *reporter) shrink(d *Disagreement) *Disagreement {
	best := d
	sig := signature(d)
	crd, err := jsontree.Parse(d.CRD)
	if err != nil {
		return d
	}
	var body, old, previous *jsontree.Node
	if d.Previous != nil {
		if previous, err = jsontree.Parse(d.Previous.Manifest); err != nil {
			previous = nil
		}
	}
	if d.Request != nil {
		if body, err = jsontree.Parse(d.Request.Body); err != nil || string(body.JSON()) != string(d.Request.Body) && d.Request.YAML {
			body = nil
		}
		if old, err = jsontree.Parse(d.Request.Old); err != nil {
			old = nil
		}
	}
	try := func() bool {
		c := &Disagreement{Suite: d.Suite, Name: d.Name, Seed: d.Seed, CRD: crd.JSON(), Previous: d.Previous}
		if previous != nil {
			c.Previous = &oracle.Previous{}
			*c.Previous = *d.Previous
			c.Previous.Manifest = previous.JSON()
		}
		pr := &pair{}
		kept := c.Previous.Keep()
		if c.Previous != nil && kept == nil {
			return false
		}
		p.j.fill(pr, c.CRD, kept)
		c.Upstream, c.Ours = pr.answers[0], pr.answers[1]
		if d.Request == nil {
			c.Differences = oracle.Compare(c.Upstream, c.Ours)
		} else {
			if pr.upstream == nil || pr.ours == nil {
				return false
			}
			r := *d.Request
			if body != nil {
				r.Body = body.JSON()
			}
			if old != nil {
				r.Old = old.JSON()
			}
			if a, ok := pr.upstream.(Addressed); ok && r.Whole {
				addressed, ok := a.Address(r)
				if !ok {
					return false // such an object cannot be stored: the disagreement would have another cause
				}
				r = addressed
			}
			c.Request = &r
			c.Upstream, c.Ours = guardAnswer(pr.upstream, r), guardAnswer(pr.ours, r)
			c.Differences = Compare(r, c.Upstream, c.Ours)
			if len(c.Differences) == 0 {
				if checked, ok := pr.ours.(Checked); ok {
					c.Differences = guardCheck(checked, r)
				}
			}
		}
		if len(c.Differences) == 0 || signature(c) != sig {
			return false
		}
		best = c
		return true
	}
	shrink.Documents(try, 3000, old, body, previous, crd)
	return best
}

// Case returns the CRD and the request of a reproducer. There is no request if the registration is the case.
func (g Golden) Case() ([]byte, *oracle.Request) {
	crd := []byte(g.CRDText)
	if g.CRD != nil {
		crd = g.CRD
	}
	if g.Body == "" && g.Version == "" {
		return crd, nil
	}
	r := &oracle.Request{Op: g.Op, Target: g.Target, Handler: g.Handler, Version: g.Version, Body: []byte(g.Body), YAML: g.YAML, FieldValidation: g.FieldValidation,
		Whole: g.Whole, Name: g.URLName, Namespace: g.URLNamespace, Patch: g.Patch, Mutation: g.Mutation}
	if g.Old != "" {
		r.Old = []byte(g.Old)
	}
	if g.MutationText != "" {
		r.Mutation = []byte(g.MutationText)
	}
	return crd, r
}
