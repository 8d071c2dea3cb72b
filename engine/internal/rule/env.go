package rule

import (
	"fmt"

	"github.com/google/cel-go/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// Env is the CEL environment of one Kubernetes minor, without variables. It is immutable, built once per process and shared without locks.
type Env struct {
	minor int
	base  *cel.Env
}

// The minors of Kubernetes 1.x whose environments exist.
const (
	OldestMinor = 25
	LatestMinor = 37
	// NewMinor is the minor with which a stock API server of LatestMinor checks rules that are new: its rollback partner's.
	NewMinor = 36
)

// Stored is the environment of stored expressions: everything there is. Evaluation always uses it.
func Stored() *Env { return nil }

// ForMinor is the environment of new expressions at Kubernetes 1.minor. The error names the minors that exist.
func ForMinor(minor int) (*Env, error) {
	return nil, fmt.Errorf("there is no CEL environment for Kubernetes 1.%d: only 1.%d to 1.%d", minor, OldestMinor, LatestMinor)
}

// Minor is the minor of the environment, LatestMinor for Stored.
func (e *Env) Minor() int { return e.minor }

// Checked is one expression that compiles.
type Checked struct {
	// Ast is parsed and checked; Ast.NativeRep is what package closure compiles.
	Ast *cel.Ast
	// UsesOldSelf: a reference is named oldSelf. That makes a rule a transition rule.
	UsesOldSelf bool
}

// CompileRule parses and checks a rule's expression in the scope and makes sure that it can be planned. The error is upstream's, by its own
// type and text (compilation failed: ERROR: <input>:1:5: ...; cel expression must evaluate to a bool; program instantiation failed: ...).
// An empty text gives neither: upstream compiles nothing then.
func (e *Env) CompileRule(text string, s *Scope, optionalOldSelf bool) (*Checked, *apiservercel.Error) {
	return nil, nil
}

// CompileMessage is CompileRule for a messageExpression, which must be a string.
func (e *Env) CompileMessage(text string, s *Scope, optionalOldSelf bool) (*Checked, *apiservercel.Error) {
	return nil, nil
}
