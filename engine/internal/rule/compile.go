package rule

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	celtypes "github.com/google/cel-go/common/types"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	k8slibrary "k8s.io/apiserver/pkg/cel/library"

	"github.com/crdeval/crdeval/engine/internal/quirk"
)

// Checked is one expression that compiles.
type Checked struct {
	// Ast is parsed and checked; Ast.NativeRep is what package closure compiles.
	Ast *cel.Ast
	// UsesOldSelf: a reference is named oldSelf. That makes a rule a transition rule.
	UsesOldSelf bool
}

// CompileRule parses and checks a rule's expression in the scope and makes sure that it can be planned. The error is upstream's, by its own
// type and text (compilation failed: ERROR: <input>:1:5: ...; cel expression must evaluate to a bool; program instantiation failed: ...).
// A blank text gives neither: upstream compiles nothing then. An expression that cannot be planned gives both. The scope must have a Decl.
//
// Upstream: schema/cel/compilation.go, compileRule.
func (e *Env) CompileRule(text string, s *Scope, optionalOldSelf bool) (*Checked, *apiservercel.Error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	return e.remembered(text, s, optionalOldSelf, false)
}

// CompileMessage is CompileRule for a messageExpression, which must be a string. The empty text gives neither result nor error.
func (e *Env) CompileMessage(text string, s *Scope, optionalOldSelf bool) (*Checked, *apiservercel.Error) {
	if text == "" {
		return nil, nil
	}
	return e.remembered(text, s, optionalOldSelf, true)
}

// remembered compiles an expression unless the scope's memory knows what comes of it.
func (e *Env) remembered(text string, s *Scope, optional, message bool) (*Checked, *apiservercel.Error) {
	key := s.checkedKey(text, optional, message)
	o := s.memory.recall(e, key)
	if o == nil {
		o = &outcome{env: e}
		if message {
			o.Checked, o.err = e.compile(text, s, optional, celtypes.StringType, wording{
				failed: "messageExpression compilation failed: ", wrongType: "messageExpression must evaluate to a string",
				unplanned: "messageExpression instantiation failed: ",
			})
		} else {
			o.Checked, o.err = e.compile(text, s, optional, celtypes.BoolType, wording{
				failed: "compilation failed: ", wrongType: "cel expression must evaluate to a bool", unplanned: "program instantiation failed: ",
			})
		}
		s.memory.remember(key, *o)
	}
	return o.Checked, o.err
}

// wording is how upstream begins, or says, what is wrong with an expression.
type wording struct{ failed, wrongType, unplanned string }

// compile survives what cel-go's checker and validators do not ([?optional.none().orValue(dyn(0))]): upstream answers 500 then.
func (e *Env) compile(text string, s *Scope, optional bool, want *celtypes.Type, say wording) (c *Checked, bad *apiservercel.Error) {
	defer func() {
		if r := recover(); r != nil {
			c, bad = nil, invalid(say.failed+fmt.Sprint(r))
		}
	}()
	ast, issues := e.check(text, s, optional)
	if ast == nil {
		if issues != nil {
			if found := issues.String(); !strings.Contains(found, selfTypeName) {
				return nil, invalid(say.failed + found) // checking can take seconds, and would find the same once more
			}
		}
		env, err := s.extended(e, optional)
		if err != nil {
			return nil, internal(err)
		}
		if ast, issues = env.Compile(text); issues != nil {
			return nil, invalid(say.failed + issues.String())
		}
	}
	if ast.OutputType() != want {
		return nil, invalid(say.wrongType)
	}
	c = &Checked{Ast: ast}
	for _, r := range ast.NativeRep().ReferenceMap() {
		if r.Name == oldSelfName && (quirk.On(quirk.AnyOldSelfVariableCounts) || !strings.Contains(text, "(oldSelf, ")) { // a variable of a macro counts, too
			c.UsesOldSelf = true
			break
		}
	}
	if !e.plain(ast.NativeRep()) {
		if _, err := e.plan(ast); err != nil {
			return c, invalid(say.unplanned + err.Error())
		}
	}
	return c, nil
}

// check is the quick way to a checked expression: no environment is made for the scope. It is nil where anything is wrong, in whatever way. What
// the environment that upstream makes would find is in the issues, if there are any, but for the names of types.
func (e *Env) check(text string, s *Scope, optional bool) (*cel.Ast, *cel.Issues) {
	source, err := common.NewTextSourceWithLimit(text, maxCodePoints)
	if err != nil {
		return nil, nil
	}
	parsed, issues := e.base.ParseSource(source)
	if issues.Err() != nil {
		return nil, issues
	}
	env, err := s.checker(e, optional)
	if err != nil {
		return nil, nil
	}
	checked, errs := checker.Check(parsed.NativeRep(), source, env)
	if len(errs.GetErrors()) > 0 {
		return nil, cel.NewIssuesWithSourceInfo(errs, parsed.NativeRep().SourceInfo())
	}
	if literals(checked) && quirk.On(quirk.LiteralsCheckedAtCompile) {
		issues = cel.NewIssuesWithSourceInfo(errs, checked.SourceInfo())
		for _, v := range e.validators {
			v.Validate(e.base, e.config, checked, issues)
		}
		if issues.Err() != nil {
			return nil, issues
		}
	}
	*parsed.NativeRep() = *checked // cel-go makes a cel.Ast of a checked expression in no other way
	return parsed, nil
}

// maxCodePoints is cel-go's bound on the length of an expression.
const maxCodePoints = 100_000

// plan makes a program of a checked expression, on the base environment: at run time it differs from the one that checked by nothing but the
// variables, which programs do not look at, and the types, whose values are k8s.io/apiserver's own. What planning brings along beside the
// expression (15 KiB) is shared by nobody, so programs are not to be kept for each rule.
//
// Planning evaluates constants, and cel-go does not survive all of them ({b'a': 1}): that is an error here. Upstream answers 500 then.
func (e *Env) plan(ast *cel.Ast, more ...cel.ProgramOption) (program cel.Program, err error) {
	defer func() {
		if r := recover(); r != nil {
			program, err = nil, fmt.Errorf("%v", r)
		}
	}()
	options := append([]cel.ProgramOption{
		cel.CostLimit(PerCallLimit), cel.CostTracking(&k8slibrary.CostEstimator{}), cel.InterruptCheckFrequency(celconfig.CheckFrequency),
	}, more...)
	return e.base.PlanProgram(ast.NativeRep(), options...)
}

func invalid(detail string) *apiservercel.Error {
	return &apiservercel.Error{Type: apiservercel.ErrorTypeInvalid, Detail: detail}
}

func internal(err error) *apiservercel.Error {
	return &apiservercel.Error{Type: apiservercel.ErrorTypeInternal, Detail: err.Error()}
}
