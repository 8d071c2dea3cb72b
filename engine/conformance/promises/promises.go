// Package promises holds upstream and the engine against what authors of real definitions promise: the objects of
// upstream's own ratcheting test, in directories named valid and invalid, and suites that say for each object what
// becomes of it. Whatever is promised, the engine must answer as upstream does.
package promises

import (
	"fmt"
	"io"

	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/conformance/run"
)

// Result is the count of a run.
type Result struct {
	// Cases is the number of questions that were asked.
	Cases int
	// Broken says which promises upstream or the engine did not keep, Different where they disagree.
	Broken, Different []string
}

// String is the line that the run prints.
func (r Result) String() string {
	return fmt.Sprintf("conformance promises: %d cases, %d disagreements, %d promises broken", r.Cases, len(r.Different), len(r.Broken))
}

// Failed reports whether a promise was broken, or an answer was another than upstream's.
func (r Result) Failed() bool { return len(r.Broken)+len(r.Different) > 0 }

// Print writes what went wrong.
func (r Result) Print(w io.Writer) {
	for _, text := range r.Different {
		_, _ = fmt.Fprintln(w, "DISAGREEMENT promises:", text)
	}
	for _, text := range r.Broken {
		_, _ = fmt.Fprintln(w, "BROKEN promises:", text)
	}
}

// Run checks every promise of the corpus. ours may be nil.
func Run(c *corpus.Corpus, ours run.Subject) Result {
	p := &promiser{ours: ours}
	p.definitions(c)
	p.ratcheting(c)
	p.suites(c)
	return p.Result
}

// registrations bounds how often upstream is asked again about a definition on which it may be at odds with itself.
const registrations = 64

type promiser struct {
	Result
	ours run.Subject
}

// both is a definition on both sides.
type both struct {
	p              *promiser
	name           string
	upstream, ours run.Definition
}

// register registers a definition on both sides; nil if it is rejected. Its field errors, those of its rules among them,
// must be the same.
func (p *promiser) register(name string, crd []byte) *both {
	b := &both{p: p, name: name}
	p.Cases++
	var up, our oracle.Answer
	if b.upstream, up = (run.Upstream{}).Register(crd); p.ours != nil {
		b.ours, our = p.ours.Register(crd)
		// Of rules that cost the same, upstream names any as one of the most expensive: ask until it names ours.
		for n := 0; n < registrations && len(oracle.Compare(up, our)) > 0; n++ {
			b.upstream, up = (run.Upstream{}).Register(crd)
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

// ask asks both sides and gives upstream's answer.
func (b *both) ask(what string, r oracle.Request) oracle.Answer {
	b.p.Cases++
	r.FieldValidation, r.Handler = oracle.Ignore, true
	up := b.upstream.Answer(r)
	if b.ours == nil {
		return up
	}
	what = b.name + ": " + what
	b.p.differ(what, up, b.ours.Answer(r))
	if c, ok := b.ours.(run.Checked); ok {
		for _, diff := range c.Check(r) {
			b.p.Different = append(b.p.Different, what+": "+diff)
		}
	}
	return up
}

// expect notes a promise that was not kept.
func (b *both) expect(what string, kept bool, a oracle.Answer) {
	if !kept {
		b.p.Broken = append(b.p.Broken, fmt.Sprintf("%s: %s: %s", b.name, what, textOf(a)))
	}
}

// textOf is the message of the status that an API server would send, but for its beginning.
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

// definitions registers every definition of the corpus: all their rules compile, or fail with upstream's text.
func (p *promiser) definitions(c *corpus.Corpus) {
	for _, crd := range c.CRDs {
		p.register(crd.Name+" of "+crd.Module+", "+crd.Path, crd.Doc)
	}
}
