package interpret

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Input is what the rules of one schema node are evaluated for.
type Input struct {
	Doc       *tree.Doc
	Self, Old uint32 // Old is 0 without a comparable old value
	// BindsOldSelf is false if no rule of the node refers to oldSelf. oldSelf is then unbound in message expressions, too.
	BindsOldSelf bool
	// Declared is the type that the expressions were checked against, Type that of the values.
	Declared, Type *closure.Type
	// Context and Stop, the signal of its end, interrupt the evaluation. Nil never does.
	Context context.Context
	Stop    *interrupt.Signal
	// Limit bounds the cost of one evaluation.
	Limit uint64
	// Parts, for expressions that compute values, are the parts of self that they read. Nil is for rules.
	Parts *Parts
}

// Result is the outcome of one evaluation.
type Result struct {
	Value ref.Val
	Err   error
	Cost  uint64
	// Interrupted: the evaluation was interrupted, or exceeded a bound of memory, which is Bound then.
	Interrupted bool
	Bound       *tree.LimitError
}

// Evaluation evaluates expressions for one Input. It is used by one goroutine.
type Evaluation struct {
	Input
	plain, optional *activation

	large bool // the document is large
	polls uint32
	bound *tree.LimitError
	// failed is the error that ended an evaluation: see endWith.
	failed *types.Err
	// objects are the nodes of the document by the address of their Go maps, for objects whose order matters.
	objects map[uintptr]uint32
}

// New prepares the values of an Input. It returns nil if the Input's signal fires first.
func New(in Input) *Evaluation {
	e := &Evaluation{Input: in, objects: map[uintptr]uint32{}}
	if e.Context == nil {
		e.Context = context.Background()
	}
	e.large = len(in.Doc.Src[tree.Request])+len(in.Doc.Src[tree.Old]) > largeDocument
	ok := interruptible(func() {
		e.plain = &activation{evaluation: e, self: e.value(in.Self, cmp.Or(in.Parts, all))}
		optional := *e.plain
		e.optional = &optional
		if !in.BindsOldSelf {
			return
		}
		e.optional.oldSelf = types.OptionalNone
		if in.Old != 0 {
			e.plain.oldSelf = e.value(in.Old, all)
			e.optional.oldSelf = types.OptionalOf(e.plain.oldSelf)
		}
	})
	if !ok {
		return nil
	}
	return e
}

// value returns upstream's value of a node.
func (e *Evaluation) value(node uint32, parts *Parts) ref.Val {
	return common.UnstructuredToVal(e.data(node, parts), celcheck.PolledSchemaOf(e.Type, e.poll))
}

// data is tree.Doc.Any that polls, records the nodes of objects, and omits what is not among the parts.
func (e *Evaluation) data(node uint32, parts *Parts) any {
	e.poll()
	d := e.Doc
	switch d.Nodes[node].Kind {
	case tree.Array:
		items := parts.of("")
		if items == nil {
			return []any{}
		}
		list := make([]any, 0, d.Len(node))
		for c := d.Nodes[node].First; c != 0; c = d.Nodes[c].Next {
			list = append(list, e.data(c, items))
		}
		if e.Parts != nil && len(list) > 0 {
			e.objects[reflect.ValueOf(list).Pointer()] = node
		}
		return list
	case tree.Object:
		object := make(map[string]any, parts.size(d.Len(node)))
		for c := d.Nodes[node].First; c != 0; c = d.Nodes[c].Next {
			member := parts.of(d.Key(c))
			if member != nil && (d.Nodes[c].Kind != tree.Null || quirk.On(quirk.MapMacrosIterateKeys)) {
				object[strings.Clone(d.Key(c))] = e.data(c, member)
			}
		}
		if len(object) > 1 || e.Parts != nil && len(object) > 0 {
			e.objects[address(object)] = node
		}
		return object
	}
	return d.Any(node)
}

// Eval evaluates an expression that compiled in the Stored environment. declared says that oldSelf was declared as an
// optional; given says that it is passed as one.
func (e *Evaluation) Eval(text string, declared, given bool) Result {
	program, err := e.program(text, declared)
	switch {
	case e.Stop.Stopped():
		return Result{Interrupted: true}
	case err != nil:
		if p := (compilePanic{}); errors.As(err, &p) {
			panic(p.value)
		}
		return Result{Err: err}
	}
	e.failed = nil
	value, details, err := program.ContextEval(e.Context, e.Activation(given))
	switch {
	case e.bound != nil:
		return Result{Interrupted: true, Bound: e.bound}
	case e.failed != nil:
		value, err = nil, e.failed
	}
	if err != nil {
		err = upstreamError(err)
	}
	result := Result{Value: value, Err: err}
	if cost := details.ActualCost(); cost != nil { // always, in a program that tracks costs
		result.Cost = *cost
	}
	return result
}

// Activation returns the variables of the evaluation, with oldSelf as an optional or plain.
func (e *Evaluation) Activation(optional bool) interpreter.Activation {
	if optional {
		return e.optional
	}
	return e.plain
}

// activation binds self and oldSelf. (schema/cel/validation.go, validationActivation)
type activation struct {
	evaluation    *Evaluation
	self, oldSelf ref.Val
}

// evaluationName resolves to the Evaluation. No expression can spell it.
const evaluationName = "@evaluation"

func (a *activation) ResolveName(name string) (any, bool) {
	switch name {
	case "self":
		return a.self, true
	case "oldSelf":
		return a.oldSelf, a.oldSelf != nil
	case evaluationName:
		return a.evaluation, true
	}
	return nil, false
}

func (a *activation) Parent() interpreter.Activation { return nil }

func evaluationOf(frame *interpreter.ExecutionFrame) *Evaluation {
	found, _ := frame.ResolveName(evaluationName)
	e, _ := found.(*Evaluation)
	return e
}
