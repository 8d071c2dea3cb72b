package solve

import (
	"math"

	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/rule/interpret"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// object is an object as rules see it: with defaults and without nulls.
type object struct {
	tree *sample.Tree
	doc  *tree.Doc
	root uint32
}

// open returns the object of a tree, or nil. The caller closes it.
func (s *Solver) open(value *sample.Tree) *object {
	text := value.JSON()
	o := &object{tree: value, doc: tree.Acquire()}
	var err error
	if o.root, err = o.doc.ParseJSON(text, tree.Limits{MaxBytes: len(text)}); err != nil {
		o.close()
		return nil
	}
	_, _ = s.plan.DropNulls(o.doc, o.root, false) // without track, there is no error
	if _, err = s.plan.Default(o.doc, o.root, false, tree.Limits{}); err != nil {
		o.close()
		return nil
	}
	return o
}

func (o *object) close() { o.doc.Release() }

// follow returns the node at the end of a path, or 0.
func (o *object) follow(path tree.Path) uint32 {
	node := o.root
	for _, step := range path {
		if node = o.child(node, step); node == 0 {
			return 0
		}
	}
	return node
}

func (o *object) child(node uint32, step tree.Segment) uint32 {
	if !step.IsIndex() {
		if o.doc.Nodes[node].Kind != tree.Object {
			return 0
		}
		return o.doc.Field(node, step.Key())
	}
	if o.doc.Nodes[node].Kind != tree.Array {
		return 0
	}
	c := o.doc.Nodes[node].First
	for range step.Index() {
		if c == 0 {
			return 0
		}
		c = o.doc.Nodes[c].Next
	}
	return c
}

// env returns the environment of the rules of a node, or nil if they do not run.
func (o *object) env(p *program, node uint32, at tree.Path) *env {
	if node == 0 || o.doc.Nodes[node].Kind == tree.Null {
		return nil
	}
	e := interpret.New(interpret.Input{Doc: o.doc, Self: node, BindsOldSelf: p.optional, Declared: p.scope.Declared(),
		Type: p.scope.Type(), Limit: math.MaxUint64})
	if e == nil {
		return nil
	}
	return &env{root: e.Activation(p.optional), from: source{place: &place{at}}}
}

// score says how far an object is from a goal. 0 is at the goal.
type score struct {
	own    float64 // of the rule to solve
	others float64 // of the rest of the schema
}

func (s score) total() float64 { return s.own + s.others }

// measure returns the score of an object for a goal: the rule and the rules of the values around and below it, and the
// violations of the schema.
func (s *Solver) measure(o *object, g *goal) score {
	var out score
	at := plan.At{}
	out.others = float64(len(s.plan.Explain(o.doc, o.root, at)) + len(s.plan.ExplainLists(o.doc, o.root, at)))
	node, l := o.root, s.root
	for i := range len(g.at) + 1 {
		if l == nil || node == 0 {
			break
		}
		if i == len(g.at) {
			s.below(o, g, node, l, g.at, &out, 0)
			break
		}
		s.rules(o, g, node, l, g.at[:i], &out)
		node, l = o.child(node, g.at[i]), l.at(g.at[i])
	}
	return out
}

// at returns the level of a step, or nil.
func (l *level) at(step tree.Segment) *level {
	if step.IsIndex() {
		return l.element()
	}
	return l.member(step.Key())
}

// mostDepth bounds the depth below a rule at which other rules count.
const mostDepth = 8

// below adds the rules of a value and those below it.
func (s *Solver) below(o *object, g *goal, node uint32, l *level, at tree.Path, out *score, depth int) {
	s.rules(o, g, node, l, at, out)
	if depth == mostDepth {
		return
	}
	i, array := 0, o.doc.Nodes[node].Kind == tree.Array
	if !array && o.doc.Nodes[node].Kind != tree.Object {
		return
	}
	for c := o.doc.Nodes[node].First; c != 0; c = o.doc.Nodes[c].Next {
		step := tree.At(i)
		if !array {
			step = tree.Name(o.doc.Key(c))
		}
		if next := l.at(step); next != nil {
			s.below(o, g, c, next, at.With(step), out, depth+1)
		}
		i++
	}
}

// rules adds the rules of a value.
func (s *Solver) rules(o *object, g *goal, node uint32, l *level, at tree.Path, out *score) {
	own := len(at) == len(g.at)
	for i := range l.scope.Props.XValidations {
		text := l.scope.Props.XValidations[i].Rule
		p := l.program(text)
		if p == nil || own && text == g.rule {
			continue
		}
		if v := o.env(p, node, at); v != nil {
			out.others += (&run{Solver: s, program: p, object: o}).distance(p.ast.Expr(), v, true)
		}
	}
	if own {
		if v := o.env(g.program, node, at); v != nil {
			out.own = (&run{Solver: s, program: g.program, object: o}).distance(g.program.ast.Expr(), v, g.holds)
		}
	}
}
