package rule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
	"github.com/crdeval/crdeval/engine/internal/rule/interpret"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Expression is a CEL expression over self that computes the value of a field. It is immutable and safe for concurrent
// use.
//
// Fields of self that are absent need no has(): the expression then has no result. Other errors of the evaluation are
// errors of the object, such as a key that a map literal lacks.
type Expression struct {
	text           string
	self, declared *closure.Type // of the values of self; of the checked expression
	target         *closure.Type // of the field
	closure        *closure.ValueProgram
	reads          *readSet
}

// CompileExpression compiles an expression in the Stored environment. oldSelf is not declared. result is the schema of
// the field, and around are those of the lists and maps around self in its version.
//
// Errors say what to change: the expression does not compile, has another type than the field, or may cost more than
// celcheck.EstimateLimit for one object. If its macros expand too far, the error is a *tree.LimitError. If the context
// ends, it is that of the context.
func CompileExpression(
	ctx context.Context, s *celcheck.Scope, text string, result *schema.Props, around ...*schema.Props,
) (*Expression, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return nil, errors.New("the expression is empty")
	case s == nil || s.Decl == nil:
		return nil, errors.New("CEL cannot see self: it has no type, or is in a property whose name CEL cannot spell")
	}
	if err := celcheck.CheckExpansion(text); err != nil {
		return nil, err
	}
	sh, env := s.Shared, celenv.Stored()
	v, bad := s.CheckValue(ctx, env, text)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case bad != nil:
		return nil, errors.New(bad.Detail)
	}
	x := &Expression{text: sh.Text(text), self: s.Type(), declared: s.Declared(), target: s.Target(result)}
	if err := checkResult(v, x.target); err != nil {
		return nil, err
	}
	if cost := celcheck.MultiplyCost(v.Cost, s.Cardinality(around)); cost > celcheck.EstimateLimit {
		return nil, fmt.Errorf("the expression may cost %d for one object, and the limit is %d: simplify it, or set "+
			"maxItems, maxProperties and maxLength in the schema where it reads", cost, celcheck.EstimateLimit)
	}
	a := v.Ast.NativeRep()
	x.reads = readsOf(a, x.declared)
	if x.self == x.declared {
		x.closure, _ = closure.CompileValue(a, x.self, closure.Options{Functions: env.Functions(), Value: celcheck.ValueOf})
	}
	return x, nil
}

// Reads returns the parts of self that the expression may read, sorted by path.
func (x *Expression) Reads() []Read { return x.reads.list }

// Retain adds the heap of the expression, without the cached program of the fallback.
func (x *Expression) Retain(r *closure.Retention) {
	r.Size += int64(unsafe.Sizeof(*x)) + x.reads.size()
	r.Type(x.self)
	r.Type(x.declared)
	r.Type(x.target)
	r.Text(x.text)
	if x.closure != nil {
		r.Size += x.closure.Size()
	}
}

// ExpressionError is an error of an expression for one object.
type ExpressionError struct{ Text string }

// Error returns the text.
func (e *ExpressionError) Error() string { return e.Text }

// Evaluate computes the value for a node of the run's Doc and adds it to the Doc as a node without key and parent. The
// node is 0 if there is no result: self is null, a field that the expression reads is absent, or it is optional.none().
//
// complete is false for a part of an object, which server-side apply converts. It has a result only if each object that
// includes it has the same.
//
// An error of the evaluation, and a value that the field cannot have, is an *ExpressionError. A value that is too large
// is a *tree.LimitError. Otherwise the error is that of the run's context.
func (x *Expression) Evaluate(r *Run, self uint32, complete bool) (node uint32, err error) {
	if r.Doc.Nodes[self].Kind == tree.Null || !complete && !x.reads.isGiven(r.Doc, self) {
		return 0, nil
	}
	if r.Left <= 0 {
		return 0, outOfExpressionBudget()
	}
	if x.closure != nil && !r.NoClosures && quirk.All() {
		f := r.closures(self, 0)
		v, ok := x.closure.Eval(f)
		if ok && f.Cost <= uint64(r.Left) {
			node, err = x.output(r, v)
		} else {
			err = errNoValue
		}
		x.closure.Done(f)
		if !errors.Is(err, errNoValue) {
			r.Left -= int64(f.Cost)
			return node, err
		}
	}
	for _, path := range x.reads.required {
		if path.isAbsent(r.Doc, self) {
			return 0, nil
		}
	}
	return x.interpret(r, self)
}

// output writes the value of a closure. The error is errNoValue if the fallback decides.
func (x *Expression) output(r *Run, v closure.Value) (node uint32, err error) {
	if v.IsNone() {
		return 0, nil
	}
	w := writer{run: r}
	node, err = w.closure(v.Content(), x.target)
	return node, w.described(err)
}

// interpret evaluates the expression with cel-go.
func (x *Expression) interpret(r *Run, self uint32) (node uint32, err error) {
	e := interpret.New(interpret.Input{
		Doc: r.Doc, Self: self, Declared: x.declared, Type: x.self, Context: r.Context, Stop: r.Stop, Limit: r.Limit,
		Parts: x.reads.parts,
	})
	if e == nil {
		return 0, r.interrupted()
	}
	v := e.Eval(x.text, false, false)
	switch {
	case v.Bound != nil:
		return 0, v.Bound
	case v.Interrupted || r.Stop.Stopped():
		return 0, r.interrupted()
	case v.Cost > uint64(r.Left):
		r.Left = -1
		return 0, outOfExpressionBudget()
	}
	r.Left -= int64(v.Cost)
	if v.Err != nil {
		if key, absent := strings.CutPrefix(v.Err.Error(), noSuchKey); absent && !x.reads.isLiteral(key) {
			return 0, nil
		}
		return 0, &ExpressionError{v.Err.Error()}
	}
	if o, ok := v.Value.(*types.Optional); ok {
		if !o.HasValue() {
			return 0, nil
		}
		v.Value = o.GetValue()
	}
	w := writer{run: r, values: e}
	if !e.Interruptible(func() { node, err = w.result(v.Value, x.target) }) {
		return 0, r.interrupted()
	}
	return node, w.described(err)
}

// noSuchKey begins the errors of cel-go about absent members of objects and maps.
const noSuchKey = "no such key: "

func outOfExpressionBudget() error {
	return &ExpressionError{fmt.Sprintf("the expressions cost more than %d for this object", CostBudget)}
}

// interrupted returns the error of a run that was stopped.
func (r *Run) interrupted() error {
	if r.Context != nil && r.Context.Err() != nil {
		return r.Context.Err()
	}
	return context.Canceled
}

// position returns the line and column of an expression, from 1, for errors.
func position(a *ast.AST, e ast.Expr) string {
	at := a.SourceInfo().GetStartLocation(e.ID())
	return fmt.Sprintf("%d:%d", max(at.Line(), 1), at.Column()+1)
}
