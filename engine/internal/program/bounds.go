package program

import "github.com/crdeval/crdeval/engine/value"

// A small document can ask for much: a list of empty objects for a copy of every default in each of them, unknown fields deep
// inside nested arrays for long paths to each of them. These bounds keep what one document costs in proportion to its size.
// Beyond them accept doubts, and the exact steps end with a *value.LimitError. The reference has neither bound.

// maxPathSteps bounds the steps of all paths that one walk takes down for what it prunes or fills in: some hundred MiB.
const maxPathSteps = 1 << 21

// maxPlanDefaultBytes bounds what the defaults of a plan add to each other while they are made ready: nested ones hold those below
// them, so that the sum grows with the square of the schema's depth.
const maxPlanDefaultBytes = 16 << 20

// room is how much defaults may still add to a document.
type room struct {
	most, left int
}

func newRoom(most int) room { return room{most: most, left: most} }

// take makes room for a default under a name. False: there is not enough left.
func (r *room) take(name string, f *value.Fragment) bool {
	r.left -= len(name) + f.Size() + len(`"":,`)
	return r.left >= 0
}

func (r *room) exceeded(advice string) error {
	return &value.LimitError{
		Limit: "expansion by defaults", Unit: "bytes", Maximum: int64(r.most), Actual: int64(r.most - r.left), AtLeast: true,
		Advice: advice,
	}
}

func tooManySteps() error {
	return &value.LimitError{
		Limit: "paths of pruned and defaulted fields", Unit: "path steps", Maximum: maxPathSteps, Actual: maxPathSteps + 1, AtLeast: true,
		Advice: "send a smaller document, or one with fewer unknown fields",
	}
}
