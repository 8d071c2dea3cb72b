package plan

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/internal/value"
)

// tour is where a walk over a value and its schema stands, for those walks that tell places.
type tour struct {
	d   *value.Doc
	at  At
	way []step

	work   int           // since the walk last asked whether to stop
	done   bool          // nobody waits for the answer, or it has no room: what was found is incomplete
	finder *value.Finder // nil until somebody needs it
}

// tourPoll is how much work, in values judged, a walk does between two looks at its Stop: some hundred microseconds.
const tourPoll = 256

// tick counts work. True: the walk ends here.
func (t *tour) tick(work int) bool {
	if t.work += work; t.work >= tourPoll {
		t.work = 0
		t.done = t.done || t.at.Stop.Stopped()
	}
	return t.done
}

// take makes room for a finding with an error about the value at i; cost is what is given back for one that is dropped. No room
// ends the walk.
func (t *tour) take(err *field.Error, i uint32, trial bool) (cost int) {
	cost = violation.Size(err)
	switch err.BadValue.(type) {
	case map[string]any, []any:
		cost += t.textOf(i)
	}
	cost += max(0, len(t.way)-ordinaryDepth) * bytesPerStep
	if t.tick(1 + cost/256); !t.at.Room.Take(cost, trial) {
		t.done = true
	}
	return cost
}

// A finding further down than any ordinary one is counts for more than its texts: the steps to it take memory.
const (
	ordinaryDepth = 64
	bytesPerStep  = 16
)

// textOf is about how long the text of a value is.
func (t *tour) textOf(i uint32) int {
	n := &t.d.Nodes[i]
	return int(n.End - n.Off)
}

// step is one step of the way from the root of the walk to the node being judged, through the value and the schema alike.
type step struct {
	kind  stepKind
	name  string // member's key; or the junctor
	index int    // element's index; or the branch's, -1 for none
	via   string // the schema's name for it where that is not the member's key: a pattern, what stands for items
}

type stepKind uint8

const (
	stepProperty   stepKind = iota // a declared property
	stepAdditional                 // a member that additionalProperties speaks for
	stepPattern                    // a member that patternProperties speak for; via: the pattern
	stepDependency                 // the same object, under the name of a dependency
	stepItem                       // an element; via: the pointer to its schema, if not items
	stepBranch                     // the same value, in a branch of a junctor
)

func (t *tour) enter(s step) {
	if t.way == nil {
		t.way = make([]step, 0, usualDepth)
	}
	t.way = append(t.way, s)
}

func (t *tour) leave() { t.way = t.way[:len(t.way)-1] }

// usualDepth is how deep the way mostly gets.
const usualDepth = 8

// member is the node that judges the member with this key, nil if there is none, and the step to it.
func (n *Node) member(key string) (step, *Node) {
	if slot, declared := n.find(key); declared {
		return step{kind: stepProperty, name: key}, n.Props[slot]
	}
	return step{kind: stepAdditional, name: key}, n.Additional
}

// below visits the members or elements of the value at i with the nodes that judge them, nil where there is none. While it
// visits one it stands there.
func (t *tour) below(n *Node, i uint32, visit func(n *Node, i uint32)) {
	object, k := t.d.Nodes[i].Kind == value.Object, 0
	for c := t.d.Nodes[i].First; c != 0 && !t.tick(1); c, k = t.d.Nodes[c].Next, k+1 {
		s, child := step{kind: stepItem, index: k}, n.Items
		if object {
			s, child = n.member(t.d.Key(c))
		}
		t.enter(s)
		visit(child, c)
		t.leave()
	}
}
