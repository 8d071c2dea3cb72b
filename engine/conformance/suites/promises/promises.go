// Package promises compares upstream and the engine with what authors of real CRDs promise: the objects of upstream's
// own ratcheting test, directories named valid and invalid, and suites that state the outcome for each object. Whatever
// is promised, the engine must return what upstream returns.
package promises

import (
	"fmt"
	"io"

	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/conformance/suites/writes"
)

// Result contains the counts of a run.
type Result struct {
	// Cases is the number of requests.
	Cases int
	// Broken lists promises that upstream or the engine broke. Different lists disagreements.
	Broken, Different []string
}

// String returns the summary of the run.
func (r Result) String() string {
	return fmt.Sprintf("conformance promises: %d cases, %d disagreements, %d promises broken", r.Cases, len(r.Different), len(r.Broken))
}

// Failed reports whether a promise was broken or an answer differed from upstream's.
func (r Result) Failed() bool { return len(r.Broken)+len(r.Different) > 0 }

// Print writes the errors.
func (r Result) Print(w io.Writer) {
	for _, text := range r.Different {
		_, _ = fmt.Fprintln(w, "DISAGREEMENT promises:", text)
	}
	for _, text := range r.Broken {
		_, _ = fmt.Fprintln(w, "BROKEN promises:", text)
	}
}

// Run checks every promise of the corpus. ours can be nil.
func Run(c *corpus.Corpus, ours writes.Subject) Result {
	p := &promiser{ours: ours}
	p.definitions(c)
	p.ratcheting(c)
	p.suites(c)
	return p.Result
}

// registrations is the maximum number of runs of upstream for a CRD about which its answers can vary.
const registrations = 64

type promiser struct {
	Result
	ours writes.Subject
}

// both is a CRD compiled by both sides.
type both struct {
	p              *promiser
	name           string
	upstream, ours writes.Definition
}

// register registers a CRD on both sides. It returns nil if the CRD is rejected. The field errors, including those of
// rules, must be equal.
func (p *promiser) register(name string, crd []byte) *both {
	b := &both{p: p, name: name}
	p.Cases++
	var up, our oracle.Answer
	if b.upstream, up = (writes.Upstream{}).Register(crd); p.ours != nil {
		b.ours, our = p.ours.Register(crd)
		// If several rules have the same cost, upstream names any of them as one of the most expensive: repeat until it
		// names ours.
		for n := 0; n < registrations && len(oracle.Compare(up, our)) > 0; n++ {
			b.upstream, up = (writes.Upstream{}).Register(crd)
		}
		p.differ(name, up, our)
	}
	if b.upstream == nil || p.ours != nil && b.ours == nil {
		return nil
	}
	return b
}

func (p *promiser) differ(what string, upstream, ours oracle.Answer) {
	for _, diff := range oracle.Compare(upstream, ours) {
		p.Different = append(p.Different, what+": "+diff)
	}
}

// ask evaluates a request on both sides and returns upstream's answer.
func (b *both) ask(what string, r oracle.Request) oracle.Answer {
	b.p.Cases++
	r.FieldValidation, r.Handler = oracle.Ignore, true
	up := b.upstream.Answer(r)
	if b.ours == nil {
		return up
	}
	what = b.name + ": " + what
	b.p.differ(what, up, b.ours.Answer(r))
	if c, ok := b.ours.(writes.Checked); ok {
		for _, diff := range c.Check(r) {
			b.p.Different = append(b.p.Different, what+": "+diff)
		}
	}
	return up
}

// expect records a broken promise.
func (b *both) expect(what string, kept bool, a oracle.Answer) {
	if !kept {
		b.p.Broken = append(b.p.Broken, fmt.Sprintf("%s: %s: %s", b.name, what, textOf(a)))
	}
}

// textOf returns the message of the Status that an API server would send, without its prefix.
func textOf(a oracle.Answer) string {
	if a.Rejection != nil {
		return a.Rejection.Message
	}
	text := ""
	for _, f := range a.Errors {
		if text != "" {
			text += ", "
		}
		text += f.Message
	}
	return text
}

// definitions registers every CRD of the corpus. All rules compile, or fail with upstream's text.
func (p *promiser) definitions(c *corpus.Corpus) {
	for _, crd := range c.CRDs {
		p.register(crd.Name+" of "+crd.Module+", "+crd.Path, crd.Doc)
	}
}
