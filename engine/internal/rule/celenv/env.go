// Package celenv builds the CEL environments of Kubernetes 1.25 to 1.37, and lists the functions that each of them
// lacks. Package celcheck adds the variables.
//
// Upstream: k8s.io/apiserver pkg/cel/environment.
package celenv

import (
	"errors"
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/containers"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	k8slibrary "k8s.io/apiserver/pkg/cel/library"

	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/rule/celparse"
)

// Env is the CEL environment of one Kubernetes minor. It is immutable, built once per process and shared without locks.
type Env struct {
	// Minor is the Kubernetes 1.x minor.
	Minor int
	// Base parses, plans and validates.
	Base *cel.Env
	// Parser parses ordinary expressions as Base does.
	Parser *celparse.Parser
	// Declared holds the checked declarations of Base. Checkers of rules extend it.
	Declared *checker.Env
	// Functions returns the implementations of the functions by overload and by function name.
	Functions func() map[string]*functions.Overload
	// Planner returns a planner of checked expressions without the options of programs.
	Planner func() interpreter.Interpreter

	validators []cel.ASTValidator
	config     validatorConfig
}

// NewMinor is the minor with which a stock API server of LatestMinor checks new rules: the version before.
const NewMinor = format.LatestMinor - 1

var environments [format.LatestMinor - format.OldestMinor + 1]func() *Env

func init() {
	for i := range environments {
		environments[i] = sync.OnceValue(func() *Env { return newEnv(format.OldestMinor + i) })
	}
}

// Stored returns the environment of stored expressions, which has every library. Evaluation always uses it.
func Stored() *Env { return environments[format.LatestMinor-format.OldestMinor]() }

// ForMinor returns the environment of new expressions at Kubernetes 1.minor. The error names the supported minors.
func ForMinor(minor int) (*Env, error) {
	if minor < format.OldestMinor || minor > format.LatestMinor {
		return nil, fmt.Errorf("there is no CEL environment for Kubernetes 1.%d: only for 1.%d to 1.%d",
			minor, format.OldestMinor, format.LatestMinor)
	}
	switch {
	case !quirk.On(quirk.NewRulesUseOlderEnvironment): // new expressions may use what stored ones may
		minor = format.LatestMinor
	case !quirk.On(quirk.NoExtraLibraries): // no library but the first ones
		minor = format.OldestMinor
	}
	return environments[minor-format.OldestMinor](), nil
}

// newEnv builds an environment. It panics if the libraries do not fit together, which a test of this package detects.
func newEnv(minor int) *Env {
	base := must(must(cel.NewEnv()).Extend(librariesOf(minor)))
	e := &Env{Minor: minor, Base: base, validators: base.Validators(), Parser: celparse.New(base.Macros())}
	e.config = validatorConfig{cel.HomogeneousAggregateLiteralExemptFunctions: []string{}}
	for _, v := range e.validators {
		if c, ok := v.(cel.ASTValidatorConfigurer); ok {
			if err := c.Configure(e.config); err != nil {
				panic(fmt.Sprintf("%s: %v", v.Name(), err))
			}
		}
	}
	e.Functions = sync.OnceValue(func() map[string]*functions.Overload { return must(Functions(base)) })
	e.Planner = sync.OnceValue(e.newPlanner)
	e.Declared = must(declarations(base, e.CrossTypeNumbers()))
	return e
}

// Parse parses an expression as Base.ParseSource does. The text is that of the source.
func (e *Env) Parse(text string, source common.Source) (*cel.Ast, *cel.Issues) {
	parsed := e.Parser.Parse(text, source)
	if parsed == nil {
		return e.Base.ParseSource(source)
	}
	a := cel.ParsedExprToAstWithSource(nil, source) // cel-go has no other way to make a cel.Ast of a syntax tree
	*a.NativeRep() = *parsed
	return a, nil
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("the CEL libraries of Kubernetes: %v", err))
	}
	return v
}

// declarations checks the declarations of an environment, which is most of the cost of making a checker.
func declarations(base *cel.Env, crossTypeNumbers bool) (*checker.Env, error) {
	env, err := checker.NewEnv(containers.DefaultContainer, base.CELTypeProvider(),
		checker.CrossTypeNumericComparisons(crossTypeNumbers))
	if err != nil {
		return nil, err
	}
	err = env.AddIdents(base.Variables()...)
	for _, f := range base.Functions() {
		if !f.IsDeclarationDisabled() {
			err = errors.Join(err, env.AddFunctions(f))
		}
	}
	return env, err
}

// Functions returns the implementations of an environment's functions, by overload and by name, as cel-go's planner
// finds them.
func Functions(env *cel.Env) (map[string]*functions.Overload, error) {
	all := map[string]*functions.Overload{}
	for _, f := range env.Functions() {
		bindings, err := f.Bindings()
		if err != nil {
			return nil, err
		}
		for _, b := range bindings {
			all[b.Operator] = b
		}
	}
	return all, nil
}

func (e *Env) newPlanner() interpreter.Interpreter {
	table := interpreter.NewDispatcher()
	for _, f := range e.Functions() {
		if err := table.Add(f); err != nil {
			panic(err) // the keys of a map are distinct
		}
	}
	container, provider, adapter := e.Base.Container, e.Base.CELTypeProvider(), e.Base.CELTypeAdapter()
	return interpreter.NewInterpreter(table, container, provider, adapter,
		interpreter.NewAttributeFactory(container, adapter, provider))
}

// CrossTypeNumbers reports whether numbers of different types can be compared.
func (e *Env) CrossTypeNumbers() bool { return e.Minor >= crossTypeNumbersSince }

// KeywordFields reports whether fields named like a reserved word can be selected without an escape.
func (e *Env) KeywordFields() bool { return e.Minor >= keywordFieldsSince }

// Validate adds the errors of the environment's validators. mixed: literals of lists and maps may have elements of
// several types, which rules cannot have.
func (e *Env) Validate(a *ast.AST, mixed bool, issues *cel.Issues) {
	for _, v := range e.validators {
		if !mixed || v.Name() != sameTypes {
			v.Validate(e.Base, e.config, a, issues)
		}
	}
}

// sameTypes is the name of the validator of literals of lists and maps.
var sameTypes = cel.ValidateHomogeneousAggregateLiterals().Name()

// ConstantPatterns compile constant patterns when an expression is planned.
var ConstantPatterns = []*interpreter.RegexOptimization{
	k8slibrary.FindRegexOptimization, k8slibrary.FindAllRegexOptimization, interpreter.MatchesRegexOptimization,
}

// CanPlan reports whether planning a checked expression succeeds. Planning converts and compiles constants (int('x'),
// find('[')), and does not know all types and overloads that the checker knows. Plan has the error.
func (e *Env) CanPlan(a *ast.AST) (ok bool) {
	if isPlain(a) {
		return true
	}
	defer func() { ok = ok && recover() == nil }()
	_, err := e.Planner().NewInterpretable(a, interpreter.Optimize(),
		interpreter.CompileRegexConstants(ConstantPatterns...))
	return err == nil
}

// isPlain reports whether an expression has only calls that planning cannot reject. It may return false for others.
func isPlain(a *ast.AST) bool {
	plain := true
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.IdentKind, ast.SelectKind:
			plain = plain && a.GetType(e.ID()).Kind() != types.TypeKind
		case ast.CallKind:
			switch e.AsCall().FunctionName() {
			case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.NotStrictlyFalse,
				operators.Conditional, operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals,
				operators.Greater, operators.GreaterEquals, operators.Add, operators.Subtract, operators.In,
				overloads.Size, overloads.StartsWith, overloads.EndsWith, overloads.Contains:
			default:
				plain = false
			}
		case ast.MapKind, ast.StructKind, ast.UnspecifiedExprKind:
			plain = false
		}
	}))
	return plain
}

// Plan makes a program of a checked expression. At run time the base environment equals the one that checked the
// expression, but for the types of objects, which evaluation does not use.
//
// Upstream: schema/cel/compilation.go, compileRule.
func (e *Env) Plan(ast *cel.Ast, more ...cel.ProgramOption) (program cel.Program, err error) {
	defer func() {
		if r := recover(); r != nil {
			program, err = nil, fmt.Errorf("%v", r)
		}
	}()
	options := append([]cel.ProgramOption{
		cel.CostLimit(celconfig.PerCallLimit), cel.CostTracking(&k8slibrary.CostEstimator{}),
		cel.InterruptCheckFrequency(celconfig.CheckFrequency),
	}, more...)
	return e.Base.PlanProgram(ast.NativeRep(), options...)
}

// validatorConfig is the configuration that validators share. It does not change after newEnv.
type validatorConfig map[string]any

func (c validatorConfig) GetOrDefault(name string, value any) any {
	if v, ok := c[name]; ok {
		return v
	}
	return value
}

func (c validatorConfig) Set(name string, value any) error {
	c[name] = value
	return nil
}
