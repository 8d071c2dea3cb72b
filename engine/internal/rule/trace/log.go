package trace

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/crdeval/crdeval/engine/rules"
)

// log is an interpreter.EvalState that keeps the observed values in order.
type log struct {
	program *Program
	target  *log // the log that this one fills instead of itself

	steps    []observed // all, or the first and the last ones
	previous int64      // the id of the previous value
	count    int
	last     map[int64]ref.Val
}

type observed struct {
	id    int64
	value ref.Val
}

func (l *log) SetValue(id int64, v ref.Val) {
	if l.target != nil {
		l = l.target
	}
	again := l.previous == id
	l.previous = id
	if v == nil || l.program == nil || !l.program.texts.has(id) {
		return
	}
	l.last[id] = v
	if again && l.count > 0 { // an attribute is observed as its last selection and as a whole
		l.steps[len(l.steps)-1].value = v
		return
	}
	l.steps = append(l.steps, observed{id, v})
	l.count++
	if len(l.steps) >= 2*rules.MaxSteps {
		l.dropMiddle()
	}
}

// dropMiddle reduces the steps to the first and the last ones.
func (l *log) dropMiddle() {
	if n := len(l.steps); n > rules.MaxSteps {
		l.steps = slices.Delete(l.steps, rules.MaxSteps/2, n-rules.MaxSteps/2)
	}
}

func (l *log) IDs() []int64 { return nil }

func (l *log) Value(id int64) (ref.Val, bool) { v, ok := l.last[id]; return v, ok }

func (l *log) Reset() {}

// result returns the recorded steps and how many were omitted.
func (l *log) result() (steps []rules.Step, omitted int) {
	l.dropMiddle()
	decisive := map[int64]bool{}
	l.markDecisive(l.program.ast.Expr(), decisive)
	latest := map[int64]int{}
	for i := range l.steps {
		latest[l.steps[i].id] = i
	}
	for i, s := range l.steps {
		text, offset := l.program.texts.of(s.id)
		step := rules.Step{Expression: text, Offset: offset, Decisive: decisive[s.id] && latest[s.id] == i}
		if err, ok := s.value.(*types.Err); ok {
			step.Error = truncate(err.Error())
		} else {
			step.Value = toJSON(s.value)
		}
		steps = append(steps, step)
	}
	return steps, l.count - len(l.steps)
}

// markDecisive marks the expression and the operands that determined its value, by their last values. For
// comprehensions that is the iteration that ended them.
func (l *log) markDecisive(e ast.Expr, marked map[int64]bool) {
	marked[e.ID()] = true
	switch e.Kind() {
	case ast.CallKind:
		call := e.AsCall()
		args := call.Args()
		switch call.FunctionName() {
		case operators.LogicalAnd:
			l.markOperand(args, l.last[e.ID()], types.False, marked)
		case operators.LogicalOr:
			l.markOperand(args, l.last[e.ID()], types.True, marked)
		case operators.LogicalNot:
			l.markDecisive(args[0], marked)
		case operators.Conditional:
			marked[args[0].ID()] = true
			branch := args[2]
			if l.last[args[0].ID()] == types.True {
				branch = args[1]
			}
			l.markDecisive(branch, marked)
		}
	case ast.ComprehensionKind:
		if step := e.AsComprehension().LoopStep(); step.Kind() == ast.CallKind {
			switch call := step.AsCall(); call.FunctionName() {
			case operators.LogicalAnd, operators.LogicalOr: // all and exists: the accumulator and the condition
				l.markDecisive(call.Args()[1], marked)
			}
		}
	}
}

// markOperand marks the operand with the deciding value, or else the one with the error of the whole.
func (l *log) markOperand(args []ast.Expr, whole, deciding ref.Val, marked map[int64]bool) {
	for _, arg := range args {
		v, seen := l.last[arg.ID()]
		if seen && (v == deciding && whole == deciding || types.IsError(v) && types.IsError(whole)) {
			l.markDecisive(arg, marked)
			return
		}
	}
}
