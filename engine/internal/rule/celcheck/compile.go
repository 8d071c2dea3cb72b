package celcheck

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/overloads"
	celtypes "github.com/google/cel-go/common/types"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/rule/celenv"
)

// Checked is an expression that compiles.
type Checked struct {
	// Ast is parsed and checked. Package closure compiles Ast.NativeRep.
	Ast *cel.Ast
	// UsesOldSelf is true if a reference is named oldSelf, which makes a rule a transition rule.
	UsesOldSelf bool
}

// Lowest returns the oldest minor that compiles the expression in the same scope, and what the minor before lacks.
func (c *Checked) Lowest() (minor int, lacking string) { return celenv.Lowest(c.Ast.NativeRep()) }

// CompileSlots bounds the long expressions that compile at the same time, abandoned ones included. Each takes tens of
// MiB.
var CompileSlots = make(interrupt.Slots, min(4, max(2, runtime.GOMAXPROCS(0))))

// CompileRule parses and checks a rule in the scope and verifies that it can be planned. Errors have upstream's type
// and text. A blank text has neither result nor error; an expression that cannot be planned has both. If the context
// ends, the result is undefined and ctx.Err is set. The scope must have a Decl.
//
// Upstream: schema/cel/compilation.go, compileRule.
func (s *Scope) CompileRule(
	ctx context.Context, e *celenv.Env, text string, optionalOldSelf bool,
) (*Checked, *apiservercel.Error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	return s.findOrCompile(ctx, e, expressionKey{text, s.Declared(), optionalOldSelf, false})
}

// CompileMessage is CompileRule for a messageExpression, which must be a string. Only the empty text has no result.
func (s *Scope) CompileMessage(
	ctx context.Context, e *celenv.Env, text string, optionalOldSelf bool,
) (*Checked, *apiservercel.Error) {
	if text == "" {
		return nil, nil
	}
	return s.findOrCompile(ctx, e, expressionKey{text, s.Declared(), optionalOldSelf, true})
}

func (s *Scope) findOrCompile(ctx context.Context, e *celenv.Env, key expressionKey) (*Checked, *apiservercel.Error) {
	if known := s.Shared.find(e, key); known != nil {
		return known.Checked, known.err
	}
	o, ok := runIfLong(ctx, s, key.text, func(s *Scope) outcome {
		o := outcome{env: e}
		if key.message {
			o.Checked, o.err = s.compile(e, key, celtypes.StringType, "messageExpression ",
				"messageExpression must evaluate to a string", "messageExpression instantiation failed: ")
		} else {
			o.Checked, o.err = s.compile(e, key, celtypes.BoolType, "",
				"cel expression must evaluate to a bool", "program instantiation failed: ")
		}
		return o
	})
	if ok {
		s.Shared.keep(key, o)
	}
	return o.Checked, o.err
}

// runIfLong runs work on the scope. If the expression may take long, the work runs on a copy and is abandoned, with ok
// false, when the context ends.
func runIfLong[T any](ctx context.Context, s *Scope, text string, work func(*Scope) T) (result T, ok bool) {
	if !IsLong(text) {
		return work(s), true
	}
	scope := s.detached()
	return interrupt.Run(interrupt.Of(ctx), CompileSlots, func() T { return work(scope) })
}

// compile compiles an expression of a type, nil for any. It recovers panics of cel-go's checker and validators
// ([?optional.none().orValue(dyn(0))]). Upstream answers 500 then.
func (s *Scope) compile(
	e *celenv.Env, key expressionKey, want *celtypes.Type, prefix, wrongType, unplanned string,
) (c *Checked, bad *apiservercel.Error) {
	failed := prefix + "compilation failed: "
	defer func() {
		if r := recover(); r != nil {
			c, bad = nil, invalid(failed+fmt.Sprint(r))
		}
	}()
	compiled, issues := s.TypeCheck(e, key.text, key.optional)
	if compiled == nil {
		if issues != nil {
			if text := issues.String(); !strings.Contains(text, selfTypeName) {
				return nil, invalid(failed + text) // a second check would find the same and can take seconds
			}
		}
		env, err := s.extended(e, key.optional)
		if err != nil {
			return nil, internal(err.Error())
		}
		if compiled, issues = env.Compile(key.text); issues != nil {
			return nil, invalid(failed + issues.String())
		}
	}
	if want != nil && compiled.OutputType() != want {
		return nil, invalid(wrongType)
	}
	c = &Checked{Ast: compiled}
	for _, r := range compiled.NativeRep().ReferenceMap() {
		// The variable of a macro counts, too.
		if r.Name == "oldSelf" && (quirk.On(quirk.AnyOldSelfVariableCounts) || !strings.Contains(key.text, "(oldSelf, ")) {
			c.UsesOldSelf = true
			break
		}
	}
	if !e.CanPlan(compiled.NativeRep()) {
		if _, err := e.Plan(compiled); err != nil {
			return c, invalid(unplanned + err.Error())
		}
	}
	return c, nil
}

// TypeCheck parses and checks an expression without making an environment for the scope. It returns nil for any error.
// The issues, if any, are those of upstream's environment, apart from the names of types.
func (s *Scope) TypeCheck(e *celenv.Env, text string, optionalOldSelf bool) (*cel.Ast, *cel.Issues) {
	source, err := common.NewTextSourceWithLimit(text, maxCodePoints)
	if err != nil {
		return nil, nil
	}
	parsed, issues := e.Parse(text, source)
	if issues.Err() != nil {
		return nil, issues
	}
	if issues = s.CheckParsed(e, parsed, source, optionalOldSelf); issues != nil {
		return nil, issues
	}
	if !parsed.IsChecked() {
		return nil, nil
	}
	if mayFailValidation(parsed.NativeRep()) && quirk.On(quirk.LiteralsCheckedAtCompile) {
		issues = cel.NewIssuesWithSourceInfo(common.NewErrors(source), parsed.NativeRep().SourceInfo())
		if e.Validate(parsed.NativeRep(), s.forValues, issues); issues.Err() != nil {
			return nil, issues
		}
	}
	return parsed, nil
}

// mayFailValidation reports whether a validator of the environment may reject the expression: it has a list or map
// literal with several elements or an optional one, or calls a function whose literal arguments are validated.
// Validators panic for [?x] where x is dynamic, and upstream answers 500.
func mayFailValidation(a *ast.AST) (found bool) {
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ListKind:
			found = found || len(e.AsList().Elements()) > 1 || len(e.AsList().OptionalIndices()) > 0
		case ast.MapKind:
			entries := e.AsMap().Entries()
			found = found || len(entries) > 1 || len(entries) == 1 && entries[0].AsMapEntry().IsOptional()
		case ast.CallKind:
			switch e.AsCall().FunctionName() {
			case overloads.TypeConvertDuration, overloads.TypeConvertTimestamp, overloads.Matches, "format":
				found = true
			}
		}
	}))
	return found
}

// CheckParsed checks a parsed expression in place. Without a result and without issues, it leaves the expression
// unchecked.
func (s *Scope) CheckParsed(e *celenv.Env, parsed *cel.Ast, source common.Source, optionalOldSelf bool) *cel.Issues {
	env, err := s.checker(e, optionalOldSelf)
	if err != nil {
		return nil
	}
	checked, errs := checker.Check(parsed.NativeRep(), source, env)
	if len(errs.GetErrors()) > 0 {
		return cel.NewIssuesWithSourceInfo(errs, parsed.NativeRep().SourceInfo())
	}
	*parsed.NativeRep() = *checked // cel-go has no other way to make a cel.Ast of a checked expression
	return nil
}

// maxCodePoints is cel-go's bound on the length of an expression.
const maxCodePoints = 100_000

func invalid(detail string) *apiservercel.Error {
	return &apiservercel.Error{Type: apiservercel.ErrorTypeInvalid, Detail: detail}
}

func internal(detail string) *apiservercel.Error {
	return &apiservercel.Error{Type: apiservercel.ErrorTypeInternal, Detail: detail}
}
