package run

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// Disagreement is a case on which ours differs from upstream.
type Disagreement struct {
	Suite, Name string
	Seed        uint64
	// CRD is the manifest; Previous what it updates, nil for a creation; Request is nil when the registration is what
	// differs.
	CRD      []byte
	Previous *oracle.Previous
	Request  *oracle.Request
	// Upstream and Ours are the answers, Differences what differs.
	Upstream, Ours oracle.Answer
	Differences    []string
}

// outcome of one case.
type outcome int

const (
	same outcome = iota
	unordered
	different
)

// Upstream is asked again when it may answer differently each time: at least leastReruns times, at most mostReruns, and
// for as long as rerunTime. Of two keys of a small Go map, the second comes first in one iteration of eight; several
// such choices make an answer rare.
const (
	leastReruns = 128
	mostReruns  = 4096
	rerunTime   = 2 * time.Second
	quickReruns = 32
)

// again tries until it succeeds, or has tried long enough: not long if the run is a quick one.
func (j *judge) again(try func() bool) bool {
	start := time.Now()
	for n := 0; j.quick && n < quickReruns || !j.quick && n < leastReruns || !j.quick && n < mostReruns && time.Since(start) < rerunTime; n++ {
		if try() {
			return true
		}
	}
	return false
}

// judge compares two subjects.
type judge struct {
	upstream, ours Subject             // ours is nil when only upstream is to be exercised
	unordered      func(*Disagreement) // called for unordered cases; may be nil
	quick          bool
	whole          bool // writes go to the request handlers, too
	mu             sync.Mutex
	cache          map[[32]byte]*pair
}

// pair is a definition on both sides.
type pair struct {
	once           sync.Once
	old            *oracle.Registered // what is updated; nil for a creation
	upstream, ours Definition
	answers        [2]oracle.Answer
	judged         sync.Once // the registration
	out            outcome
	differing      *Disagreement
}

func newJudge(ours Subject) *judge {
	return &judge{upstream: Upstream{}, ours: ours, cache: map[[32]byte]*pair{}}
}

// register registers a group's manifest on both sides. Definitions that come again and again are kept.
func (j *judge) register(g generate.Group) *pair {
	if !g.Shared || g.Previous != nil {
		p := &pair{}
		j.fill(p, g.CRD, g.Previous.Keep())
		return p
	}
	key := sha256.Sum256(g.CRD)
	j.mu.Lock()
	p := j.cache[key]
	if p == nil {
		p = &pair{}
		j.cache[key] = p
	}
	j.mu.Unlock()
	p.once.Do(func() { j.fill(p, g.CRD, nil) })
	return p
}

func (j *judge) fill(p *pair, crd []byte, old *oracle.Registered) {
	p.old = old
	p.upstream, p.answers[0] = guardRegister(j.upstream, crd, old)
	if j.ours != nil {
		p.ours, p.answers[1] = guardRegister(j.ours, crd, old)
	}
}

// guardRegister turns a panic into an answer.
func guardRegister(s Subject, crd []byte, old *oracle.Registered) (d Definition, a oracle.Answer) {
	defer func() {
		if e := recover(); e != nil {
			d, a = nil, panicked(e)
		}
	}()
	if old != nil {
		return s.Update(old, crd)
	}
	return s.Register(crd)
}

func guardAnswer(d Definition, r oracle.Request) (a oracle.Answer) {
	defer func() {
		if e := recover(); e != nil {
			a = panicked(e)
		}
	}()
	return d.Answer(r)
}

func panicked(e any) oracle.Answer {
	return oracle.Answer{Rejection: &oracle.Rejection{Code: 500, Reason: oracle.Panic, Message: fmt.Sprint(e)}, DecodeError: string(debug.Stack())}
}

// registration judges the registration of a group; that of a definition that is kept counts where it is first met.
func (j *judge) registration(g generate.Group) (*pair, outcome, *Disagreement) {
	p := j.register(g)
	out := same
	p.judged.Do(func() {
		p.out, p.differing = j.compareRegistrations(g, p)
		out = p.out
	})
	return p, out, p.differing
}

func (j *judge) compareRegistrations(g generate.Group, p *pair) (outcome, *Disagreement) {
	if j.ours == nil {
		return same, nil
	}
	up, our := p.answers[0], p.answers[1]
	diffs := oracle.Compare(up, our)
	if len(diffs) == 0 || crashed(up, our) {
		return same, nil
	}
	d := &Disagreement{Name: g.Name, CRD: g.CRD, Previous: g.Previous, Upstream: up, Ours: our, Differences: diffs}
	if j.member(oracle.Request{}, our, func() oracle.Answer { _, a := guardRegister(j.upstream, g.CRD, p.old); return a }) {
		return unordered, d
	}
	return different, d
}

// object judges one object of a group: by the steps of the strategies, which tell field errors in all their parts, and by
// the request handlers, whose answer is what a client and a storage see.
func (j *judge) object(g generate.Group, p *pair, o generate.Object) (out outcome, accepted bool, d *Disagreement) {
	r := oracle.Request{Op: o.Op, Target: o.Target, Version: o.Version, Body: o.Body, Old: o.Old, YAML: o.YAML, FieldValidation: o.FieldValidation,
		Patch: o.Patch, Name: o.Name, Namespace: o.Namespace, Mutation: o.Mutation}
	if r.Patch == "" && r.Op != oracle.Scale {
		direct := r
		direct.Name, direct.Namespace, direct.Mutation = "", "", nil
		// Half of the requests go through the handler's part as well, which is what the public call does.
		// It writes managed fields anew, which rules on an update can tell from the old ones.
		direct.Handler = len(o.Body)%2 == 0 && (o.Op == oracle.Create || (o.Op == oracle.Update || o.Op == oracle.Status) && !bytes.Contains(o.Body, []byte("managedFields")))
		if out, accepted, d = j.request(g, p, direct); out != same {
			return out, accepted, d
		}
	}
	if a, ok := p.upstream.(Addressed); ok && j.whole {
		if whole, ok := a.Address(r); ok {
			return j.request(g, p, whole)
		}
	}
	return same, accepted, nil
}

// request puts one request to both sides.
func (j *judge) request(g generate.Group, p *pair, r oracle.Request) (out outcome, accepted bool, d *Disagreement) {
	up := guardAnswer(p.upstream, r)
	accepted = up.Accepted()
	if j.ours == nil {
		return same, accepted, nil
	}
	our := guardAnswer(p.ours, r)
	if up.Rejection != nil && up.Rejection.Reason == oracle.Panic && (our.Rejection == nil || our.Rejection.Reason != oracle.Panic) {
		return same, accepted, nil
	}
	diffs := Compare(r, up, our)
	if len(diffs) == 0 {
		if c, ok := p.ours.(Checked); ok {
			diffs = guardCheck(c, r)
		}
		if len(diffs) == 0 {
			return same, accepted, nil
		}
		// Ways that differ because CEL walks Go maps agree when they are asked often enough.
		if j.again(func() bool { return len(guardCheck(p.ours.(Checked), r)) == 0 }) {
			return unordered, accepted, &Disagreement{Name: g.Name, CRD: g.CRD, Previous: g.Previous, Request: &r, Upstream: up, Ours: our, Differences: diffs}
		}
	} else if j.member(r, our, func() oracle.Answer { return guardAnswer(p.upstream, r) }) {
		return unordered, accepted, &Disagreement{Name: g.Name, CRD: g.CRD, Previous: g.Previous, Request: &r, Upstream: up, Ours: our, Differences: diffs}
	}
	return different, accepted, &Disagreement{Name: g.Name, CRD: g.CRD, Previous: g.Previous, Request: &r, Upstream: up, Ours: our, Differences: diffs}
}

// Compare lists how our answer to a request differs from upstream's.
func Compare(r oracle.Request, upstream, ours oracle.Answer) []string {
	if r.Whole {
		return oracle.CompareWhole(upstream, ours, r.Old != nil)
	}
	return oracle.Compare(upstream, ours)
}

func guardCheck(c Checked, r oracle.Request) (diffs []string) {
	defer func() {
		if e := recover(); e != nil {
			diffs = []string{fmt.Sprintf("self-check panicked: %v\n%s", e, debug.Stack())}
		}
	}()
	return c.Check(r)
}

// member asks upstream again: where upstream differs from itself, ours must be one of its answers.
func (j *judge) member(r oracle.Request, ours oracle.Answer, ask func() oracle.Answer) bool {
	return j.again(func() bool { return len(Compare(r, ask(), ours)) == 0 })
}

// crashed reports that upstream panicked: there is nothing to be equal to, as long as ours does not accept.
func crashed(up, ours oracle.Answer) bool {
	return up.Rejection != nil && up.Rejection.Reason == oracle.Panic && !ours.Accepted() && (ours.Rejection == nil || ours.Rejection.Reason != oracle.Panic)
}
