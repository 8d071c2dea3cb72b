// Package trace records the values of the sub-expressions of a rule while it is evaluated: expression.go has their
// source text, value.go their values as JSON, truncated, and log.go the order of the steps.
package trace

import (
	"context"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
	"github.com/crdeval/crdeval/engine/rules"
)

// Program is an expression planned with an observer, which a cel.Program cannot have. It counts no costs.
type Program struct {
	ast     *ast.AST
	texts   *exprTexts
	program *interpreter.ObservableInterpretable
}

// env parses as celenv.Stored does and keeps the text of macros.
var env = sync.OnceValues(func() (*cel.Env, error) {
	return celenv.Stored().Base.Extend(cel.EnableMacroCallTracking())
})

// Parse parses an expression for New. It returns nil for an error.
func Parse(text string) *cel.Ast {
	env, err := env()
	if err != nil {
		return nil
	}
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return nil
	}
	return parsed
}

// New plans a checked expression. transform changes the AST before planning. New returns nil if planning fails, which
// is the error of the rule's evaluation then.
func New(a *ast.AST, text string, transform func(*ast.AST), options ...interpreter.PlannerOption) (p *Program) {
	defer func() {
		if recover() != nil {
			p = nil
		}
	}()
	p = &Program{ast: a, texts: newExprTexts(a, text)}
	transform(a)
	factory := interpreter.EvalStateFactory(func() interpreter.EvalState { return &log{} })
	options = append(options, interpreter.EvalStateObserver(factory))
	program, _ := celenv.Stored().Planner().NewInterpretable(a, options...)
	var ok bool
	if p.program, ok = program.(*interpreter.ObservableInterpretable); !ok {
		return nil
	}
	return p
}

// Run evaluates the expression and returns its steps, the first and the last ones if there are more than rules.MaxSteps, and
// the number of steps between them. The trace ends where a function panics.
func (p *Program) Run(ctx context.Context, vars interpreter.Activation) ([]rules.Step, int) {
	l := &log{program: p, last: map[int64]ref.Val{}}
	frame, err := interpreter.NewExecutionFrame(vars)
	if err != nil || frame.SetContext(ctx, 1) != nil {
		return l.result()
	}
	defer frame.Close()
	func() {
		defer func() { _ = recover() }()
		p.program.ObserveExec(frame, func(state any) {
			if s, ok := state.(*log); ok && s.program == nil {
				*s = *l
				s.target = l
			}
		})
	}()
	return l.result()
}
