// Package solve changes an object so that one of its rules holds, or does not hold.
//
// A Solver is a local search over the checked expression of a rule. In each step it follows the expression from its
// root to the fields that it reads, and proposes changes of these fields: for a == b the value of the other side, for
// a < b a value next to it, for a call the argument with which it has the wanted result. Of the proposed changes it
// takes the one after which the object has the lowest score. The score counts the violations of the schema and, as
// fractions, the parts of rules that do not hold. So changes for one rule respect the others.
//
// Read solve.go first. program.go evaluates parts of a rule, and object.go has the object that they read. goals.go has
// the operators, fold.go the macros, compare.go and texts.go the comparisons of values and strings, assign.go and
// lists.go the inverse functions, numbers.go values next to a value, distance.go the score.
package solve

import (
	"slices"

	"github.com/google/cel-go/common/ast"

	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Solver solves rules of one version of a CRD. It is not safe for concurrent use.
type Solver struct {
	plan      *plan.Plan
	root      *level
	generator *sample.Generator
	failures  map[string]int // by rule, since it was solved last
	work      int            // evaluations since the beginning of Solve
}

// Bounds of one call of Solve.
const (
	mostSteps     = 16
	mostProposals = 56      // of a step
	mostIdle      = 3       // steps in a row that do not lower the score
	mostWork      = 1 << 13 // evaluations of parts of rules
	// mostFailures is the number of calls in a row without a solution after which most calls for a rule do nothing.
	mostFailures = 12
)

// New returns a Solver for the objects of a generator, or nil if the schema has no rules or does not compile.
func New(s *schema.Props, g *sample.Generator) *Solver {
	if s == nil || !schema.HasRules(s) {
		return nil
	}
	p, err := plan.Compile(s, plan.Options{})
	if err != nil || !p.Structural {
		return nil
	}
	return &Solver{plan: p, root: newLevel(celcheck.NewShared().Root(s)), generator: g, failures: map[string]int{}}
}

// goal is a rule of a value that is to hold or not to hold.
type goal struct {
	at      tree.Path
	rule    string
	program *program
	holds   bool
}

// run proposes changes of one object for one rule.
type run struct {
	*Solver
	*program
	object *object
	random sample.Random
	found  proposals
	// extra are proposals that do not follow from the rule.
	extra        proposals
	depth, folds int // of the recursion, and of macros in macros
}

// Solve changes an object so that a rule of the value at a path holds, or does not hold. It returns false if the object
// is unchanged.
func (s *Solver) Solve(r sample.Random, tree *sample.Tree, at tree.Path, rule string, holds bool) bool {
	l := s.root
	for _, step := range at {
		if l = l.at(step); l == nil {
			return false
		}
	}
	p := l.program(rule)
	if f := s.failures[rule]; p == nil || f > mostFailures && r.IntN(min(f/mostFailures*8, 64)) > 0 {
		return false
	}
	s.work = 0
	g := &goal{at, rule, p, holds}
	now, ok := s.scored(tree, g)
	if !ok {
		return false
	}
	changed, idle := false, 0
	for step := 0; step < mostSteps && idle < mostIdle && now.own > 0 && s.work < mostWork; step++ {
		best, other := s.step(r, tree, g)
		if best.tree == nil {
			idle++
			continue
		}
		if best.score.total() < now.total() {
			idle = 0
		} else {
			if idle++; other.score.total() < now.total()+1 { // leaves a local minimum
				best = other
			}
		}
		*tree, now, changed = *best.tree, best.score, true
	}
	if now.own > 0 {
		s.failures[rule]++
	} else {
		s.failures[rule] = 0
	}
	return changed
}

// scored returns the score of a tree for a goal.
func (s *Solver) scored(tree *sample.Tree, g *goal) (score, bool) {
	o := s.open(tree)
	if o == nil {
		return score{}, false
	}
	defer o.close()
	return s.measure(o, g), true
}

// candidate is a changed tree with its score.
type candidate struct {
	tree  *sample.Tree
	score score
}

// step returns the best of the trees that one change leads to, and a random one of them.
func (s *Solver) step(r sample.Random, tree *sample.Tree, g *goal) (best, other candidate) {
	count := 0
	for _, c := range s.changes(r, tree, g) {
		next := tree.Clone()
		if !s.generator.Put(r, next, c.Path, c.Value) {
			continue
		}
		after, ok := s.scored(next, g)
		if !ok {
			continue
		}
		if best.tree == nil || after.total() < best.score.total() {
			best = candidate{next, after}
		}
		if count++; r.IntN(count) == 0 {
			other = candidate{next, after}
		}
		if after.total() == 0 || s.work > mostWork || s.generator.Stopped() {
			break
		}
	}
	return best, other
}

// changes returns changes for a goal in random order.
func (s *Solver) changes(r sample.Random, tree *sample.Tree, g *goal) []sample.Change {
	o := s.open(tree)
	if o == nil {
		return nil
	}
	defer o.close()
	v := o.env(g.program, o.follow(g.at), g.at)
	if v == nil {
		return nil
	}
	run := &run{Solver: s, program: g.program, object: o, random: r}
	run.want(g.program.ast.Expr(), v, g.holds)
	few := min(len(run.extra.list), max(mostProposals-len(run.found.list), mostProposals/4))
	return slices.Concat(run.found.some(r, mostProposals-few), run.extra.some(r, few))
}

// place is a value of the object that a part of a rule selects.
type place struct{ path tree.Path }

// at returns the place of a step.
func (p *place) at(step tree.Segment) *place { return &place{p.path.With(step)} }

// propose adds a change of the value at a place. Nil removes it.
func (s *run) propose(p *place, v *sample.Tree) {
	if p == nil || len(p.path) == 0 || len(p.path) == 1 && (p.path[0].Key() == "apiVersion" || p.path[0].Key() == "kind") {
		return
	}
	s.found.add(p.path, v)
}

// proposals is a list of different changes.
type proposals struct {
	list []sample.Change
	seen map[string]bool // by path and value
}

// mostListed bounds a list of proposals.
const mostListed = 400

func (p *proposals) add(path tree.Path, v *sample.Tree) {
	if len(p.list) >= mostListed {
		return
	}
	key := path.Pointer()
	if v != nil {
		key += "\x00" + string(v.JSON())
	}
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	if !p.seen[key] {
		p.seen[key] = true
		p.list = append(p.list, sample.Change{Path: path, Value: v})
	}
}

// some returns a number of changes in random order.
func (p *proposals) some(r sample.Random, n int) []sample.Change {
	r.Shuffle(len(p.list), func(i, j int) { p.list[i], p.list[j] = p.list[j], p.list[i] })
	return p.list[:min(n, len(p.list))]
}

// enter bounds the recursion of proposals. leave ends it.
func (s *run) enter() bool {
	const most = 40
	s.depth++
	return s.depth < most && s.work < 2*mostWork
}

func (s *run) leave() { s.depth-- }

// args returns the arguments of a call, its target first.
func args(e ast.Expr) (name string, list []ast.Expr) {
	call := e.AsCall()
	if call.IsMemberFunction() {
		return call.FunctionName(), slices.Concat([]ast.Expr{call.Target()}, call.Args())
	}
	return call.FunctionName(), call.Args()
}
