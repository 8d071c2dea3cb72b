package rule

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// stepLog is the state of an evaluation that keeps what it is told, in order.
type stepLog struct {
	traced *traced
	into   *stepLog // the log of the caller, which this one fills

	first, recent []step
	latest        *step
	previous      int64
	count         int
	last          map[int64]ref.Val
}

type step struct {
	id    int64
	value ref.Val
	at    int // its place among all
}

const halfOfSteps = MaxTraceSteps / 2

// SetValue implements interpreter.EvalState.
func (l *stepLog) SetValue(id int64, v ref.Val) {
	if l.into != nil {
		l = l.into
	}
	again := l.previous == id
	l.previous = id
	if v == nil || l.traced == nil || !l.traced.texts.shown(id) {
		return
	}
	if again && l.latest != nil { // an attribute is seen as its last selection, and as a whole
		l.latest.value, l.last[id] = v, v
		return
	}
	s := step{id, v, l.count}
	if l.count++; len(l.first) < halfOfSteps {
		l.first = append(l.first, s)
		l.latest = &l.first[len(l.first)-1]
	} else if len(l.recent) < halfOfSteps {
		l.recent = append(l.recent, s)
		l.latest = &l.recent[len(l.recent)-1]
	} else {
		l.recent[s.at%halfOfSteps] = s
		l.latest = &l.recent[s.at%halfOfSteps]
	}
	l.last[id] = v
}

// IDs implements interpreter.EvalState.
func (l *stepLog) IDs() []int64 { return nil }

// Value implements interpreter.EvalState.
func (l *stepLog) Value(id int64) (ref.Val, bool) { v, ok := l.last[id]; return v, ok }

// Reset implements interpreter.EvalState.
func (l *stepLog) Reset() {}

// result is what was recorded, as texts.
func (l *stepLog) result() (steps []TraceStep, omitted int) {
	all := l.first
	if n := len(l.recent); n > 0 {
		from := l.count % halfOfSteps
		if n < halfOfSteps {
			from = 0
		}
		all = append(append(all, l.recent[from:]...), l.recent[:from]...)
	}
	decisive := map[int64]bool{}
	l.decides(l.traced.ast.Expr(), decisive)
	latest := map[int64]int{}
	for i := range all {
		latest[all[i].id] = i
	}
	for i, s := range all {
		text, offset := l.traced.texts.of(s.id)
		t := TraceStep{Expression: text, Offset: offset, Decisive: decisive[s.id] && latest[s.id] == i}
		if types.IsError(s.value) {
			t.Error = cut(s.value.(*types.Err).Error())
		} else {
			t.Value = jsonOf(s.value)
		}
		steps = append(steps, t)
	}
	return steps, l.count - len(all)
}

// decides marks the expression, and the operands that alone made its value what it is, by what was seen of them last: of comprehensions that is the
// round that ended them.
func (l *stepLog) decides(e ast.Expr, marked map[int64]bool) {
	marked[e.ID()] = true
	switch e.Kind() {
	case ast.CallKind:
		call := e.AsCall()
		args := call.Args()
		switch call.FunctionName() {
		case operators.LogicalAnd:
			l.operand(args, l.last[e.ID()], types.False, marked)
		case operators.LogicalOr:
			l.operand(args, l.last[e.ID()], types.True, marked)
		case operators.LogicalNot:
			l.decides(args[0], marked)
		case operators.Conditional:
			marked[args[0].ID()] = true
			if l.last[args[0].ID()] == types.True {
				l.decides(args[1], marked)
			} else {
				l.decides(args[2], marked)
			}
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		if step := c.LoopStep(); step.Kind() == ast.CallKind {
			switch call := step.AsCall(); call.FunctionName() {
			case operators.LogicalAnd, operators.LogicalOr: // all and exists: the accumulator and the condition
				l.decides(call.Args()[1], marked)
			}
		}
	}
}

// operand marks the operand that decided: the one with the value that decides, or else the one with the error that the whole has.
func (l *stepLog) operand(args []ast.Expr, whole, deciding ref.Val, marked map[int64]bool) {
	for _, arg := range args {
		v, seen := l.last[arg.ID()]
		if seen && (v == deciding && whole == deciding || types.IsError(v) && types.IsError(whole)) {
			l.decides(arg, marked)
			return
		}
	}
}
