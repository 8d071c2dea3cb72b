package rule

import (
	"context"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	celcommon "github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	k8slibrary "k8s.io/apiserver/pkg/cel/library"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
)

// traced is an expression planned so that every value on the way is seen. It has no costs: the rule was charged when it was evaluated.
type traced struct {
	ast     *ast.AST
	texts   *exprTexts
	program interpreter.InterpretableV2
}

type tracedKey struct {
	of       *closure.Type
	text     string
	optional bool
}

// steps evaluates the rule once more, beside its verdict, and records what it came by.
func (e *evaluation) steps(c *rule, t *Trace) {
	if e.run.traces.bytes > maxTraceBytes || !attempt(e.prepare) {
		return
	}
	program := e.tracedProgram(c)
	if program == nil {
		return
	}
	vars := &e.replay.plain
	if c.optional {
		vars = &e.replay.optional
	}
	log := &stepLog{traced: program, last: map[int64]ref.Val{}}
	attempt(func() { program.run(e.context(), vars, log) })
	if e.run.Stopped() {
		return
	}
	t.Steps, t.Omitted = log.result()
}

func (e *evaluation) context() context.Context {
	if e.run.Context != nil {
		return e.run.Context
	}
	return context.Background()
}

// tracedProgram is the program of a rule, nil for none and if the run was stopped before it was made.
func (e *evaluation) tracedProgram(c *rule) *traced {
	key := tracedKey{e.set.declared, c.text, c.optional}
	if p, ok := e.run.traces.made[key]; ok {
		return p
	}
	if e.run.traces.made == nil {
		e.run.traces.made = map[tracedKey]*traced{}
	}
	p, ok := planAside(key, e.run.Stop.Done())
	if ok {
		e.run.traces.made[key] = p
	}
	return p
}

// planAside is newTraced until done closes: ok is unset then.
func planAside(key tracedKey, done <-chan struct{}) (p *traced, ok bool) {
	var slots interrupt.Slots
	if long(key.text) {
		slots = compileSlots
	}
	return interrupt.Run(done, slots, func() *traced { return newTraced(key) })
}

// newTraced plans an expression with an observer of its own, which a cel.Program cannot have. Nil: it cannot be planned, which the rule's trace has
// as its error.
func newTraced(key tracedKey) (p *traced) {
	defer func() {
		if recover() != nil {
			p = nil
		}
	}()
	env := Stored()
	p = &traced{ast: parsedAsWritten(key)}
	if p.ast == nil {
		return nil
	}
	p.texts = newExprTexts(p.ast, key.text)
	orderFolds(p.ast)
	provider, adapter := env.base.CELTypeProvider(), env.base.CELTypeAdapter()
	attributes := interpreter.NewAttributeFactory(env.base.Container, adapter, provider)
	functions := interpreter.NewDispatcher()
	for _, f := range env.bindings() {
		if functions.Add(f) != nil {
			return nil
		}
	}
	plan := interpreter.NewInterpreter(functions, env.base.Container, provider, adapter, attributes)
	var err error
	p.program, err = plan.NewInterpretable(p.ast,
		interpreter.CustomDecoratorV2(env.guard), interpreter.CustomDecoratorV2(decorateRanges), interpreter.CustomDecoratorV2(optionalOr),
		interpreter.InterruptableEval(), interpreter.Optimize(),
		interpreter.CompileRegexConstants(append([]*interpreter.RegexOptimization{
			k8slibrary.FindRegexOptimization, k8slibrary.FindAllRegexOptimization, interpreter.MatchesRegexOptimization,
		}, constantPatterns...)...),
		interpreter.EvalStateObserver(interpreter.EvalStateFactory(func() interpreter.EvalState { return &stepLog{} })))
	if err != nil {
		return nil
	}
	return p
}

// tracking parses as Stored does, and keeps how macros were written.
var tracking = sync.OnceValues(func() (*cel.Env, error) { return Stored().base.Extend(cel.EnableMacroCallTracking()) })

// parsedAsWritten parses and checks an expression that compiled before; nil if it does not any more.
func parsedAsWritten(key tracedKey) *ast.AST {
	env, err := tracking()
	if err != nil {
		return nil
	}
	source := celcommon.NewTextSource(key.text)
	parsed, issues := env.ParseSource(source)
	if issues.Err() != nil {
		return nil
	}
	types, err := scopeOf(key.of).checker(Stored(), key.optional)
	if err != nil {
		return nil
	}
	checked, errs := checker.Check(parsed.NativeRep(), source, types)
	if len(errs.GetErrors()) > 0 {
		return nil
	}
	return checked
}

// run evaluates the expression. What it ends with is in the log; it may panic, as cel-go's functions may.
func (p *traced) run(ctx context.Context, vars interpreter.Activation, log *stepLog) {
	frame, err := interpreter.NewExecutionFrame(vars)
	if err != nil {
		return
	}
	defer frame.Close()
	if frame.SetContext(ctx, interruptEvery) != nil {
		return
	}
	observed, ok := p.program.(*interpreter.ObservableInterpretable)
	if !ok {
		return
	}
	defer func() {
		if r := recover(); r != nil && r != any(ended) {
			return // the trace ends where cel-go gave up
		}
	}()
	observed.ObserveExec(frame, func(state any) {
		if s, ok := state.(*stepLog); ok && s.traced == nil {
			*s = *log
			s.into = log
		}
	})
}

// optionalOr evaluates the alternatives of optionals only where they are needed, as cel-go's library of optionals does for a cel.Program.
func optionalOr(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	node, ok := i.(interpreter.InterpretableCall)
	if ok && len(node.Args()) == 2 && (node.Function() == "or" || node.Function() == "orValue") {
		return &alternative{InterpretableCall: node}, nil
	}
	return i, nil
}

type alternative struct{ interpreter.InterpretableCall }

// Eval implements interpreter.Interpretable.
func (a *alternative) Eval(vars interpreter.Activation) ref.Val {
	return a.Exec(interpreter.AsFrame(vars))
}

// Exec implements interpreter.InterpretableV2.
func (a *alternative) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	args := a.Args()
	switch first := args[0].Exec(frame).(type) {
	case *types.Err, *types.Unknown:
		return first
	case *types.Optional:
		switch {
		case !first.HasValue():
			return args[1].Exec(frame)
		case a.Function() == "orValue":
			return first.GetValue()
		}
		return first
	}
	return types.NoSuchOverloadErr()
}
