package rule

import (
	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/internal/value"
)

// Clean evaluates the rules by closures alone. True: all of them hold, and their cost is charged to the run. False: not clean; Evaluate decides,
// and the run's budget is as it was. self and old are nodes of the run's Doc; old is 0 where there is no comparable old value.
func (s *Set) Clean(r *Run, self, old uint32) bool {
	if r.Doc.Nodes[self].Kind == value.Null {
		return true
	}
	if s.failed != "" || r.Left <= 0 || r.NoClosures {
		return false
	}
	old = present(r.Doc, old)
	left := r.Left
	for i := range s.rules {
		c := &s.rules[i]
		switch {
		case c.blank, c.skipped(old):
			continue
		case c.clean == nil, r.closure(c.clean, self, old) != closure.True, r.frame.Cost > uint64(left):
			return false
		}
		left -= int64(r.frame.Cost)
	}
	r.Left = left
	return true
}

// skipped: a transition rule has nothing to compare with.
func (r *rule) skipped(old uint32) bool {
	return r.usesOldSelf && old == 0 && !r.optional && quirk.On(quirk.TransitionRuleSkippedOnCreate) && r.compileError == ""
}

// present is 0 for a null: to rules it is as if it were not there.
func present(d *value.Doc, node uint32) uint32 {
	if d.Nodes[node].Kind == value.Null {
		return 0
	}
	return node
}
