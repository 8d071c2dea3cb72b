package rule

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/containers"
	"github.com/google/cel-go/common/functions"

	"github.com/crdeval/crdeval/engine/internal/closure"
	"github.com/crdeval/crdeval/engine/internal/quirk"
)

// Env is the CEL environment of one Kubernetes minor, without variables. It is immutable, built once per process and shared without locks.
type Env struct {
	minor int
	// base parses, plans and validates; what extends it reports errors.
	base *cel.Env
	// declared holds the checked declarations of base, from which the checker of each scope starts.
	declared   *checker.Env
	validators []cel.ASTValidator
	config     cel.ValidatorConfig
	// functions are the implementations of the functions, for closures.
	functions func() map[string]*functions.Overload
}

// The minors of Kubernetes 1.x whose environments exist.
const (
	OldestMinor = 25
	LatestMinor = 37
	// NewMinor is the minor with which a stock API server of LatestMinor checks rules that are new: its rollback partner's.
	NewMinor = LatestMinor - 1
)

var environments [LatestMinor - OldestMinor + 1]func() *Env

func init() {
	for i := range environments {
		environments[i] = sync.OnceValue(func() *Env { return newEnv(OldestMinor + i) })
	}
}

// Stored is the environment of stored expressions: everything there is. Evaluation always uses it.
func Stored() *Env { return environments[LatestMinor-OldestMinor]() }

// ForMinor is the environment of new expressions at Kubernetes 1.minor. The error names the minors that exist.
func ForMinor(minor int) (*Env, error) {
	if minor < OldestMinor || minor > LatestMinor {
		return nil, fmt.Errorf("there is no CEL environment for Kubernetes 1.%d: only for 1.%d to 1.%d", minor, OldestMinor, LatestMinor)
	}
	switch {
	case !quirk.On(quirk.NewRulesUseOlderEnvironment): // new expressions may use what stored ones may
		minor = LatestMinor
	case !quirk.On(quirk.NoExtraLibraries): // no library but the first ones
		minor = OldestMinor
	}
	return environments[minor-OldestMinor](), nil
}

// Minor is the minor of the environment, LatestMinor for Stored.
func (e *Env) Minor() int { return e.minor }

// newEnv builds an environment. It panics if the libraries do not fit together, which a test of this package would show.
func newEnv(minor int) *Env {
	base, err := cel.NewEnv()
	if err != nil {
		panic(fmt.Sprintf("CEL's standard environment: %v", err))
	}
	base, err = base.Extend(kubernetesAt(minor))
	if err != nil {
		panic(fmt.Sprintf("the CEL environment of Kubernetes 1.%d: %v", minor, err))
	}
	e := &Env{minor: minor, base: base, validators: base.Validators()}
	config := validatorConfig{cel.HomogeneousAggregateLiteralExemptFunctions: []string{}}
	for _, v := range e.validators {
		if c, ok := v.(cel.ASTValidatorConfigurer); ok {
			if err := c.Configure(config); err != nil {
				panic(fmt.Sprintf("%s: %v", v.Name(), err))
			}
		}
	}
	e.config = config
	e.functions = sync.OnceValue(func() map[string]*functions.Overload {
		all, err := closure.Functions(base)
		if err != nil {
			panic(fmt.Sprintf("the functions of Kubernetes 1.%d: %v", minor, err))
		}
		return all
	})
	if e.declared, err = declared(base, e.crossTypeNumbers()); err != nil {
		panic(fmt.Sprintf("the declarations of Kubernetes 1.%d: %v", minor, err))
	}
	return e
}

// declared checks the declarations of an environment once, which is most of the cost of making one.
func declared(base *cel.Env, crossTypeNumbers bool) (*checker.Env, error) {
	env, err := checker.NewEnv(containers.DefaultContainer, base.CELTypeProvider(), checker.CrossTypeNumericComparisons(crossTypeNumbers))
	if err != nil {
		return nil, err
	}
	if err := env.AddIdents(base.Variables()...); err != nil {
		return nil, err
	}
	for _, f := range base.Functions() {
		if f.IsDeclarationDisabled() {
			continue
		}
		if err := env.AddFunctions(f); err != nil {
			return nil, err
		}
	}
	return env, nil
}

// validatorConfig is what validators tell each other. It is not written to after newEnv.
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
