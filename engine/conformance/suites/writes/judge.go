package writes

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/testenv"
)

// Disagreement is a case where our answer differs from upstream's.
type Disagreement struct {
	Suite, Name string
	Seed        uint64
	// CRD is the manifest. Previous is the CRD that it updates, or nil. Request is nil if the registrations differ.
	CRD      []byte
	Previous *oracle.Previous
	Request  *oracle.Request
	// Upstream and Ours are the answers. Differences lists their differences.
	Upstream, Ours oracle.Answer
	Differences    []string
}

// outcome is the result of one case.
type outcome int

const (
	same outcome = iota
	unordered
	different
)

// If upstream's answer can vary, upstream runs at least leastReruns times, at most mostReruns times, and until the
// process has used rerunTime of CPU time. Of two keys of a small Go map, the second one comes first in one of
// eight iterations. Several such choices make an answer rare.
const (
	leastReruns = 128
	rerunTime   = 4 * time.Second
	quickReruns = 32
)

var mostReruns = 4096 // a variable for tests

// again calls f until it succeeds or has been called often enough. A quick run calls it less often.
func (j *judge) again(try func() bool) bool {
	least, most := leastReruns, mostReruns
	if j.quick {
		least, most = quickReruns, quickReruns
	}
	start := testenv.CPUTime()
	for n := 0; n < least || n < most && testenv.CPUTime()-start < rerunTime; n++ {
		if try() {
			return true
		}
	}
	return false
}

// judge compares two subjects.
type judge struct {
	upstream, ours Subject             // nil to run upstream only
	unordered      func(*Disagreement) // called for unordered cases; can be nil
	quick          bool
	whole          bool // writes also go to the request handlers
	mu             sync.Mutex
	cache          map[[32]byte]*pair
}

// pair is a CRD compiled by both sides.
type pair struct {
	once           sync.Once
	old            *oracle.Registered // the updated CRD, or nil
	upstream, ours Definition
	answers        [2]oracle.Answer
	judged         sync.Once // the registration
	out            outcome
	differing      *Disagreement
}

func newJudge(ours Subject) *judge {
	return &judge{upstream: Upstream{}, ours: ours, cache: map[[32]byte]*pair{}}
}

// register registers a group's manifest on both sides. CRDs that occur often are cached.
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

// registration compares the registration of a group. That of a cached CRD counts once.
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
	if len(diffs) == 0 {
		diffs = j.compareStrict(g.CRD)
	}
	if len(diffs) == 0 || crashed(up, our) {
		return same, nil
	}
	d := &Disagreement{Name: g.Name, CRD: g.CRD, Previous: g.Previous, Upstream: up, Ours: our, Differences: diffs}
	if j.member(oracle.Request{}, our, func() oracle.Answer { _, a := guardRegister(j.upstream, g.CRD, p.old); return a }) {
		return unordered, d
	}
	return different, d
}

// longestStrict is the length, in bytes, of the longest manifest that is compared with strict decoding.
const longestStrict = 64 << 10

// compareStrict compares the strict decoding of a manifest: as JSON, and as YAML, which includes JSON.
func (j *judge) compareStrict(crd []byte) (diffs []string) {
	up, strict := j.upstream.(Strict)
	our, both := j.ours.(Strict)
	if !strict || !both || len(crd) > longestStrict {
		return nil
	}
	for _, yaml := range []bool{false, true} {
		want, got := up.RegisterStrict(crd, yaml), our.RegisterStrict(crd, yaml)
		for _, diff := range oracle.Compare(oracle.Answer{Rejection: want}, oracle.Answer{Rejection: got}) {
			diffs = append(diffs, fmt.Sprintf("strict decoding (YAML %v): %s", yaml, diff))
		}
	}
	return diffs
}

// object compares one object of a group: by the steps of the strategies, which return field errors with all their
// parts, and by the request handlers, which return what a client and the storage receive.
func (j *judge) object(g generate.Group, p *pair, o generate.Object) (out outcome, accepted bool, d *Disagreement) {
	r := oracle.Request{Op: o.Op, Target: o.Target, Version: o.Version, Body: o.Body, Old: o.Old, YAML: o.YAML, FieldValidation: o.FieldValidation,
		Patch: o.Patch, Name: o.Name, Namespace: o.Namespace, Mutation: o.Mutation}
	if r.Patch == "" && r.Op != oracle.Scale {
		direct := r
		direct.Name, direct.Namespace, direct.Mutation = "", "", nil
		// Half of the requests also run the handler's part, as the public call does. It rewrites managed fields, and
		// rules can distinguish the result from the old object.
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

// request sends one request to both sides.
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
		// Answers that differ because CEL iterates over Go maps agree if both sides run often enough.
		if j.again(func() bool { return len(guardCheck(p.ours.(Checked), r)) == 0 }) {
			return unordered, accepted, &Disagreement{Name: g.Name, CRD: g.CRD, Previous: g.Previous, Request: &r, Upstream: up, Ours: our, Differences: diffs}
		}
	} else if j.member(r, our, func() oracle.Answer { return guardAnswer(p.upstream, r) }) {
		return unordered, accepted, &Disagreement{Name: g.Name, CRD: g.CRD, Previous: g.Previous, Request: &r, Upstream: up, Ours: our, Differences: diffs}
	}
	return different, accepted, &Disagreement{Name: g.Name, CRD: g.CRD, Previous: g.Previous, Request: &r, Upstream: up, Ours: our, Differences: diffs}
}

// Compare lists the differences between our answer and upstream's.
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

// member runs upstream again: if upstream's answers vary, ours must be one of them.
func (j *judge) member(r oracle.Request, ours oracle.Answer, ask func() oracle.Answer) bool {
	return j.again(func() bool { return len(Compare(r, ask(), ours)) == 0 })
}

// crashed reports that upstream panicked. There is nothing to compare, but ours must not accept.
func crashed(up, ours oracle.Answer) bool {
	return up.Rejection != nil && up.Rejection.Reason == oracle.Panic && !ours.Accepted() && (ours.Rejection == nil || ours.Rejection.Reason != oracle.Panic)
}
