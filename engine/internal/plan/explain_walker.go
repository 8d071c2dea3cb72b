package plan

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// walker is the position of a walk over a value and its schema.
type walker struct {
	d     *tree.Doc
	at    At
	steps []step

	work   int          // since the last look at Stop
	done   bool         // the walk was aborted, and its result is incomplete
	finder *tree.Finder // nil until it is needed
}

// walkerPoll is how many values a walk validates between two looks at Stop: some hundred microseconds.
const walkerPoll = 256

// tick counts work and reports whether the walk must end.
func (t *walker) tick(work int) bool {
	if t.work += work; t.work >= walkerPoll {
		t.work = 0
		t.done = t.done || t.at.Stop.Stopped()
	}
	return t.done
}

// take counts an error about the value at i for the limit, and returns its cost. An exceeded limit ends the walk.
func (t *walker) take(err *field.Error, i uint32, trial bool) (cost int) {
	cost = violation.Size(err)
	switch err.BadValue.(type) {
	case map[string]any, []any:
		cost += t.textOf(i)
	}
	cost += max(0, len(t.steps)-ordinaryDepth) * bytesPerStep
	if t.tick(1 + cost/256); !t.at.Budget.Take(cost, trial) {
		t.done = true
	}
	return cost
}

// An error at a deep path costs more than its texts, since its path takes memory.
const (
	ordinaryDepth = 64
	bytesPerStep  = 16
)

// textOf returns the approximate length of the text of a value.
func (t *walker) textOf(i uint32) int {
	n := &t.d.Nodes[i]
	return int(n.End - n.Off)
}

// step is one step from the root of the walk to the current node, through the value and the schema.
type step struct {
	kind  stepKind
	name  string // the member's key, or the logical operator
	index int    // the element's index; the branch's, or -1
	via   string // the schema's name for it if not the key: a pattern, or a pointer instead of items
}

type stepKind uint8

const (
	stepProperty   stepKind = iota // a declared property
	stepAdditional                 // a member that matches additionalProperties
	stepPattern                    // a member that matches patternProperties; via is the pattern
	stepDependency                 // the same object, under the name of a dependency
	stepItem                       // an element; via is the pointer to its schema, if not items
	stepBranch                     // the same value, in a branch of a logical operator
)

func (t *walker) enter(s step) {
	if t.steps == nil {
		t.steps = make([]step, 0, usualDepth)
	}
	t.steps = append(t.steps, s)
}

func (t *walker) leave() { t.steps = t.steps[:len(t.steps)-1] }

// usualDepth is the usual depth of a walk.
const usualDepth = 8

// member returns the node that validates the member with the key, or nil, and the step to it.
func (n *Node) member(key string) (step, *Node) {
	if slot, declared := n.find(key); declared {
		return step{kind: stepProperty, name: key}, n.Props[slot]
	}
	return step{kind: stepAdditional, name: key}, n.Additional
}
