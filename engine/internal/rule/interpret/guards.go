package interpret

import (
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
)

// interruptCheckFrequency is after how many iterations cel-go checks for an interruption. Upstream checks after a
// hundred; iterations can be long.
const interruptCheckFrequency = 1

// programOptions make a program interruptible and independent of the order of Go's maps.
func programOptions(env *celenv.Env) []cel.ProgramOption {
	return []cel.ProgramOption{
		cel.InterruptCheckFrequency(interruptCheckFrequency), cel.CustomDecoratorV2(decorate(env, false)),
		cel.OptimizeRegex(constantPatterns...), cel.CostTracking(&costs{}),
	}
}

// PlannerOptions are programOptions for a planner.
func PlannerOptions(env *celenv.Env) []interpreter.PlannerOption {
	return []interpreter.PlannerOption{
		interpreter.CustomDecoratorV2(decorate(env, true)), interpreter.InterruptableEval(), interpreter.Optimize(),
		interpreter.CompileRegexConstants(slices.Concat(celenv.ConstantPatterns, constantPatterns)...),
	}
}

// decorate returns a decorator that replaces ranges of comprehensions, comparisons, and calls of guarded functions. For
// a planner, it also replaces or and orValue of optionals, as cel-go's library does for a cel.Program.
func decorate(env *celenv.Env, planner bool) interpreter.InterpretableDecoratorV2 {
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		node, ok := i.(interpreter.InterpretableCall)
		if !ok {
			return i, nil
		}
		of := replaced{InterpretableCall: node, args: node.Args()}
		switch name := node.Function(); {
		case name == rangeFunction:
			of.exec = of.orderedRange
		case name == operators.Equals:
			of.exec = of.orderedEqual
		case planner && len(of.args) == 2 && (name == "or" || name == "orValue"):
			of.exec = of.alternative
		case guards[name] != nil:
			if impl, inOrder := implementation(env, node); impl != nil {
				return of.guard(guards[name], impl, inOrder), nil
			}
			return i, nil
		default:
			return i, nil
		}
		return &of, nil
	}
}

// call is one call of a guarded function. Its arguments are neither errors nor unknown.
type call struct {
	*Evaluation
	overload string // "" if it depends on the arguments
	args     []ref.Val
	run      functions.FunctionOp // the function itself
}

// guard answers calls of a function.
type guard func(c call) ref.Val

// replaced is a call that is evaluated by exec.
type replaced struct {
	interpreter.InterpretableCall
	args []interpreter.InterpretableV2
	exec func(frame *interpreter.ExecutionFrame) ref.Val
}

func (r *replaced) Args() []interpreter.InterpretableV2 { return r.args }

func (r *replaced) Eval(vars interpreter.Activation) ref.Val {
	return r.exec(interpreter.AsFrame(vars))
}

func (r *replaced) Exec(frame *interpreter.ExecutionFrame) ref.Val { return r.exec(frame) }

// alternative evaluates or and orValue, the argument only when needed.
func (r *replaced) alternative(frame *interpreter.ExecutionFrame) ref.Val {
	switch first := r.args[0].Exec(frame).(type) {
	case *types.Err, *types.Unknown:
		return first
	case *types.Optional:
		switch {
		case !first.HasValue():
			return r.args[1].Exec(frame)
		case r.Function() == "orValue":
			return first.GetValue()
		}
		return first
	}
	return types.NoSuchOverloadErr()
}

// guard makes the call run through a guard. It evaluates its arguments as the interpreter's calls do, in order until
// the first error or all. This decides what the cost tracker observes.
func (r *replaced) guard(g guard, impl functions.FunctionOp, inOrder bool) *replaced {
	r.exec = func(frame *interpreter.ExecutionFrame) ref.Val {
		args := make([]ref.Val, len(r.args))
		for i, arg := range r.args {
			args[i] = arg.Exec(frame)
			if inOrder && types.IsUnknownOrError(args[i]) {
				return args[i]
			}
		}
		e := evaluationOf(frame)
		if i := slices.IndexFunc(args, types.IsUnknownOrError); i >= 0 {
			e.endWith(args[i], r.Function())
			return args[i]
		}
		if e == nil { // planning evaluates conversions of constants
			return types.LabelErrNode(r.ID(), impl(args...))
		}
		e.pollNow()
		return types.LabelErrNode(r.ID(), g(call{Evaluation: e, overload: r.OverloadID(), args: args, run: impl}))
	}
	return r
}

// implementation returns what the interpreter calls for a strict call, by the overload or else by the function's name,
// and whether it evaluates the arguments until the first error (interpreter/planner.go, planCall). It is nil for other
// calls.
func implementation(env *celenv.Env, node interpreter.InterpretableCall) (_ functions.FunctionOp, inOrder bool) {
	if node.Function() == operators.NotEquals { // the interpreter implements it
		return func(args ...ref.Val) ref.Val { return types.Bool(types.Equal(args[0], args[1]) != types.True) }, false
	}
	bindings := env.Functions()
	impl := bindings[node.OverloadID()]
	if node.OverloadID() == "" || impl == nil {
		impl = bindings[node.Function()]
	}
	if impl == nil || impl.NonStrict {
		return nil, false
	}
	id, function, overload := node.ID(), node.Function(), node.OverloadID()
	missing := func() ref.Val { return types.NewErrWithNodeID(id, "no such overload: %s", function) }
	var run functions.FunctionOp
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
	return func(args ...ref.Val) ref.Val {
		switch of := args[0].Type(); {
		case impl.OperandTrait == 0 || of.HasTrait(impl.OperandTrait):
			return run(args...)
		case of.HasTrait(traits.ReceiverType):
			return args[0].(traits.Receiver).Receive(function, overload, args[1:])
		}
		return missing()
	}, inOrder
}

// guards are the functions that can take long, or much memory, compared with their costs or before they are charged.
// Others take a millisecond or two for an object of 3 MiB.
var guards = map[string]guard{
	"distinct":              quadratic(0, "list_distinct"),
	"sort":                  quadratic(0, ""),
	"@sortByAssociatedKeys": quadratic(1, ""),
	"sets.contains":         product(1),
	"sets.intersects":       product(1),
	"sets.equivalent":       product(2),
	"lists.range":           makesList,
	"flatten":               flatten,
	"slice":                 makesList,
	"reverse":               makesList,
	"_+_":                   add,
	"split":                 makesList,
	"join":                  join,
	"replace":               replace,
	"format":                format,
	"indexOf":               indexOf(false),
	"lastIndexOf":           indexOf(true),
	"quantity":              quantity,
	"isQuantity":            quantity,
	"matches":               computedPattern(matchesOp, "%v"),
	"find":                  computedPattern(findOp, "Illegal regex: %v"),
	"findAll":               computedPattern(findAllOp, "Illegal regex: %v"),
}

func init() {
	for _, name := range []string{ // they go through their arguments once
		"_!=_", "@in", "isSorted", "sum", "min", "max", "includes", "lowerAscii", "upperAscii", "substring", "charAt",
		"trim", "strings.quote", "bytes", "string",
	} {
		guards[name] = call.runPolled
	}
	for _, name := range []string{ // they parse one text, some with a regular expression
		"semver", "isSemver", "url", "isURL", "duration", "timestamp", "validate", "double", "int", "uint",
	} {
		guards[name] = call.runUnpolled
	}
}

// runPolled runs the function, in the background if it may take long.
func (c call) runPolled() ref.Val { return c.runIn(nil) }

// runUnpolled is runPolled for functions that do not use values that poll.
func (c call) runUnpolled() ref.Val { return c.runIn(unpolledSlots) }

func (c call) runIn(slots interrupt.Slots) ref.Val {
	if !c.takesLong() {
		return c.run(c.args...)
	}
	return inBackground(c.Evaluation, slots, func() ref.Val { return c.run(c.args...) })
}

// skipped is the result of a call that is not run because its cost ends the evaluation. Only the cost tracker sees it.
const skipped = types.False

// skippedText is skipped for a call whose cost follows from the length of its result.
type skippedText struct {
	types.Bool
	n uint64
}

func (s skippedText) Size() ref.Val { return types.Int(s.n) }

// exceeds reports whether a cost is higher than a whole evaluation may have.
func (e *Evaluation) exceeds(cost uint64) bool { return cost > e.Limit }

// quadratic guards functions that are charged for comparing all elements of an argument with each other. Without an
// overload, or with one that is not tracked, they are charged 1 and run. (ext/lists.go, trackAllocatingListCall)
func quadratic(arg int, overload string) guard {
	return func(c call) ref.Val {
		list, ok := c.args[min(arg, len(c.args)-1)].(traits.Lister)
		if !ok || c.overload == "" || overload != "" && c.overload != overload {
			return c.runPolled()
		}
		if n := closure.SizeOf(list); n > 0 {
			factor := 2.0
			if of := list.Get(types.IntZero).Type(); of == types.StringType || of == types.BytesType {
				factor += common.StringTraversalCostFactor
			}
			if c.exceeds(uint64(float64(n*n)*factor) + 1 + common.ListCreateBaseCost) {
				return skipped
			}
		}
		return makesList(c)
	}
}

// product guards functions that compare each element of a list with each of another. (ext/sets.go, trackSetsCost)
func product(factor float64) guard {
	return func(c call) ref.Val {
		a, ok := c.args[0].(traits.Lister)
		b, also := c.args[1].(traits.Lister)
		if ok && also && c.exceeds(1+uint64(float64(closure.SizeOf(a)*closure.SizeOf(b))*factor)) {
			return skipped
		}
		return c.runPolled()
	}
}

// makesList guards functions that make a list as long as an argument, or of a million elements.
func makesList(c call) ref.Val { return c.pollList(c.runPolled()) }

// flatten is charged for the elements of the outermost list only.
func flatten(c call) ref.Val {
	list, ok := c.args[0].(traits.Lister)
	depth := types.Int(1)
	if len(c.args) == 2 {
		depth, _ = c.args[1].(types.Int)
	}
	if !ok || c.flattenedSize(list, depth, 0) <= longList {
		return c.run(c.args...)
	}
	return c.pollList(inBackground(c.Evaluation, nil, func() ref.Val { return c.run(c.args...) }))
}

func (e *Evaluation) flattenedSize(list traits.Lister, depth types.Int, n uint64) uint64 {
	if n += closure.SizeOf(list); depth <= 0 {
		e.require(listLimit, float64(n))
		return n
	}
	for i, end := types.IntZero, types.Int(closure.SizeOf(list)); i < end; i++ {
		e.poll()
		if nested, ok := list.Get(i).(traits.Lister); ok {
			n = e.flattenedSize(nested, depth-1, n)
		}
	}
	return n
}

// add guards concatenation of texts, which costs 1 if the overload is not known, and of lists.
func add(c call) ref.Val {
	a, b := c.args[0], c.args[1]
	if _, ok := a.(traits.MutableLister); ok {
		return c.run(c.args...) // the accumulator of a comprehension
	}
	if _, ok := a.(traits.Lister); ok {
		return makesList(c)
	}
	length, isText := textLength(a)
	other, same := textLength(b)
	switch {
	case !isText:
		return c.run(c.args...)
	case !same || a.Type() != b.Type():
	case length+other > maxTextBytes:
		cost := closure.TraversalCost(closure.SizeOf(a) + closure.SizeOf(b))
		if (c.overload == "add_string" || c.overload == "add_bytes") && c.exceeds(cost) {
			return skipped
		}
		c.require(textLimit, float64(length+other))
	}
	return c.runPolled()
}

// textLength returns the bytes of a string or bytes.
func textLength(v ref.Val) (n int, ok bool) {
	switch v := v.(type) {
	case types.String:
		return len(v), true
	case types.Bytes:
		return len(v), true
	}
	return 0, false
}
