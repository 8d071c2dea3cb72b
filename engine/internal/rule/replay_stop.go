package rule

import (
	"fmt"
	"math"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/internal/value"
)

// stopper ends a replay that nobody waits for any more, and keeps one within the bounds of memory. cel-go looks for an interruption between the
// iterations of comprehensions alone, and charges for a call after it ran; but one call may take hours (distinct on a long list) or all memory there
// is (replace). So:
//
//   - data: elements and members are converted when they are looked at, by asking the schema; a stopper's schema (replay_stop_schema.go) asks
//     whether to go on whenever it is asked. That covers every function that goes through lists and maps of the object.
//   - calls of the functions in guards run through a guard: it leaves out what the limit of a call forbids anyway, matches patterns so that
//     it can be stopped, gives lists that calls make the same watch (replay_stop_list.go), and waits beside what takes long.
//   - comprehensions look for an interruption at every iteration.
//
// Values, errors and costs are cel-go's own. It is used by one goroutine.
type stopper struct {
	signal *interrupt.Signal
	limit  uint64 // of the call, as the program has it
	large  bool   // the object is
	asked  uint32
	// failure is why the evaluation was ended that is not its answer.
	failure *value.LimitError
}

// stopName resolves to the stopper of an evaluation. No expression can spell it.
const stopName = "@stop"

// interruptEvery is after how many iterations cel-go looks for an interruption. Upstream does at every hundredth (CheckFrequency), which is the
// same answer later: iterations can be long.
const interruptEvery = 1

// stopOptions make a program stoppable.
func (e *Env) stopOptions() []cel.ProgramOption {
	return []cel.ProgramOption{
		cel.InterruptCheckFrequency(interruptEvery),
		cel.CustomDecoratorV2(e.guard),
		cel.OptimizeRegex(constantPatterns...),
	}
}

// ended is what a stopped evaluation panics with: cel-go makes it the evaluation's error. Who evaluates asks the signal and does not look at it.
var ended = interpreter.EvalCancelledError{Message: "operation interrupted", Cause: interpreter.ContextCancelled}

// askEvery is how many elements go by between two questions whether to go on: some ten microseconds.
const askEvery = 128

// poll ends the evaluation if nobody waits for it. It costs next to nothing.
func (s *stopper) poll() {
	if s == nil {
		return
	}
	if s.asked++; s.asked%askEvery == 0 && s.signal.Stopped() {
		panic(ended)
	}
}

// now is poll before something long.
func (s *stopper) now() {
	if s != nil && s.signal.Stopped() {
		panic(ended)
	}
}

// maxTextBytes and maxElements bound what one call may make: cel-go has no such bound, and the costs of functions are none.
const (
	maxTextBytes = 64 << 20
	maxElements  = 8 << 20
)

// within ends the evaluation if a call would make, or work on, more than the bound.
func (s *stopper) within(m most, size float64) {
	if s == nil || size <= float64(m.maximum) {
		return
	}
	s.failure = &value.LimitError{
		Name: m.name, Limit: m.what, Unit: m.unit, Maximum: m.maximum, Actual: int64(min(size, math.MaxInt64/2)), AtLeast: true,
		Advice: "an API server has no such bound, and would run out of memory or time: bound what the rule works on",
	}
	panic(ended)
}

// stopperOf finds the stopper of the evaluation, nil if it has none.
func stopperOf(frame *interpreter.ExecutionFrame) *stopper {
	found, _ := frame.ResolveName(stopName)
	s, _ := found.(*stopper)
	return s
}

// guard replaces calls of guarded functions in a program.
func (e *Env) guard(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	node, ok := i.(interpreter.InterpretableCall)
	if !ok {
		return i, nil
	}
	guard := guards[node.Function()]
	if guard == nil {
		return i, nil
	}
	g := &guarded{InterpretableCall: node, args: node.Args(), guard: guard}
	if g.impl, g.inOrder = e.implementation(node); g.impl == nil {
		return i, nil
	}
	return g, nil
}

// a call is one call of a guarded function, whose arguments are neither errors nor unknown.
type call struct {
	s        *stopper // nil: without bounds
	overload string   // "" if it was not known before the arguments were
	args     []ref.Val
	run      functions.FunctionOp // the function itself
}

// a guard answers calls of a function.
type guard func(c call) ref.Val

// guarded is a call that runs through a guard. It evaluates its arguments as the interpreter's own calls do, which decides what the cost tracker
// finds.
type guarded struct {
	interpreter.InterpretableCall
	args []interpreter.InterpretableV2
	// inOrder: arguments are evaluated until the first error; else all of them.
	inOrder bool
	impl    functions.FunctionOp
	guard   guard
}

// Args implements interpreter.InterpretableCall.
func (g *guarded) Args() []interpreter.InterpretableV2 { return g.args }

// Eval implements interpreter.Interpretable.
func (g *guarded) Eval(vars interpreter.Activation) ref.Val { return g.Exec(interpreter.AsFrame(vars)) }

// Exec implements interpreter.InterpretableV2.
func (g *guarded) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	args := make([]ref.Val, len(g.args))
	for i, arg := range g.args {
		args[i] = arg.Exec(frame)
		if g.inOrder && types.IsUnknownOrError(args[i]) {
			return args[i]
		}
	}
	for _, arg := range args {
		if types.IsUnknownOrError(arg) {
			return arg
		}
	}
	s := stopperOf(frame)
	s.now()
	return types.LabelErrNode(g.ID(), g.guard(call{s: s, overload: g.OverloadID(), args: args, run: g.impl}))
}

// implementation is what the interpreter would call for a strict call, by the overload or else by the function's name, and whether it evaluates
// the arguments in order until the first error (interpreter/planner.go, planCall). Nil: the call is no such.
func (e *Env) implementation(node interpreter.InterpretableCall) (run functions.FunctionOp, inOrder bool) {
	switch node.Function() { // the interpreter has its own
	case operators.Equals:
		return func(args ...ref.Val) ref.Val { return types.Equal(args[0], args[1]) }, false
	case operators.NotEquals:
		return func(args ...ref.Val) ref.Val { return types.Bool(types.Equal(args[0], args[1]) != types.True) }, false
	}
	bindings := e.bindings()
	impl := bindings[node.OverloadID()]
	if node.OverloadID() == "" || impl == nil {
		impl = bindings[node.Function()]
	}
	if impl == nil || impl.NonStrict {
		return nil, false
	}
	id, function, overload := node.ID(), node.Function(), node.OverloadID()
	missing := func() ref.Val { return types.NewErrWithNodeID(id, "no such overload: %s", function) }
	switch n := len(node.Args()); {
	case n == 1 && impl.Unary != nil:
		run = func(args ...ref.Val) ref.Val { return impl.Unary(args[0]) }
	case n == 2 && impl.Binary != nil:
		run = func(args ...ref.Val) ref.Val { return impl.Binary(args[0], args[1]) }
	case n > 0 && impl.Function != nil:
		run, inOrder = impl.Function, true
		missing = func() ref.Val { return types.NewErrWithNodeID(id, "no such overload: %s %d", function, id) }
	default:
		return nil, false
	}
	call := run
	return func(args ...ref.Val) ref.Val {
		switch of := args[0].Type(); {
		case impl.OperandTrait == 0 || of.HasTrait(impl.OperandTrait):
			return call(args...)
		case of.HasTrait(traits.ReceiverType):
			return args[0].(traits.Receiver).Receive(function, overload, args[1:])
		}
		return missing()
	}, inOrder
}

// bindings are the implementations of an environment's functions, by overload and by name. There is one table per process, for the Env that
// evaluates.
func (e *Env) bindings() map[string]*functions.Overload {
	if e != Stored() {
		return bindingsOf(e.base)
	}
	return storedBindings()
}

var storedBindings = sync.OnceValue(func() map[string]*functions.Overload { return bindingsOf(Stored().base) })

func bindingsOf(env *cel.Env) map[string]*functions.Overload {
	table := map[string]*functions.Overload{}
	for name, f := range env.Functions() {
		list, err := f.Bindings()
		if err != nil {
			panic(fmt.Sprintf("CEL function %s: %v", name, err)) // planning any program would have said so
		}
		for _, o := range list {
			table[o.Operator] = o
		}
	}
	return table
}
