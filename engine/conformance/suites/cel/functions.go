package cel

import (
	"slices"
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"k8s.io/apiserver/pkg/cel/environment"
)

// overload is an overload of a function in upstream's environment.
type overload struct {
	function, id string
	member       bool
	arguments    []*types.Type
	result       *types.Type
}

// overloads are all that expressions can use, in the order of their functions' names.
var overloads = enumerate()

// functionOf contains the overloads of each function.
var functionOf = byFunction()

// functionNames are the keys of functionOf, sorted.
var functionNames = sortedKeys(functionOf)

// enumerate lists the overloads of the environment of stored rules.
func enumerate() (all []overload) {
	functions := upstreamEnv().Functions()
	for _, name := range sortedKeys(functions) {
		if strings.Contains(name, "@") && name != "@in" || name == "in" || name == "_in_" || name == "__not_strictly_false__" || name == "_?._" {
			continue // called by macros, or written with another syntax
		}
		for _, o := range functions[name].OverloadDecls() {
			all = append(all, overload{name, o.ID(), o.IsMemberFunction(), o.ArgTypes(), o.ResultType()})
		}
	}
	return all
}

func byFunction() map[string][]int {
	m := map[string][]int{}
	for i, o := range overloads {
		m[o.function] = append(m[o.function], i)
	}
	return m
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// bindings are the types of type parameters.
type bindings map[string]*types.Type

// match binds the parameters of pattern so that it equals t.
func (b bindings) match(pattern, t *types.Type) bool {
	if pattern.Kind() == types.TypeParamKind {
		if bound, ok := b[pattern.TypeName()]; ok {
			return bound.IsExactType(t)
		}
		b[pattern.TypeName()] = t
		return true
	}
	if pattern.Kind() != t.Kind() || pattern.TypeName() != t.TypeName() || len(pattern.Parameters()) != len(t.Parameters()) {
		return false
	}
	for i, p := range pattern.Parameters() {
		if !b.match(p, t.Parameters()[i]) {
			return false
		}
	}
	return true
}

// apply replaces parameters. unbound chooses types for unbound ones.
func (b bindings) apply(t *types.Type, unbound func() *types.Type) *types.Type {
	if t.Kind() == types.TypeParamKind {
		if b[t.TypeName()] == nil {
			b[t.TypeName()] = unbound()
		}
		return b[t.TypeName()]
	}
	if len(t.Parameters()) == 0 {
		return t
	}
	parameters := make([]*types.Type, len(t.Parameters()))
	for i, p := range t.Parameters() {
		parameters[i] = b.apply(p, unbound)
	}
	switch {
	case t.Kind() == types.ListKind:
		return types.NewListType(parameters[0])
	case t.Kind() == types.MapKind:
		return types.NewMapType(parameters[0], parameters[1])
	case t.Kind() == types.TypeKind:
		return types.NewTypeTypeWithParam(parameters[0])
	case isOptional(t):
		return types.NewOptionalType(parameters[0])
	}
	return types.NewOpaqueType(t.TypeName(), parameters...)
}

// isOptional reports whether t is an optional_type.
func isOptional(t *types.Type) bool {
	return t.Kind() == types.OpaqueKind && t.TypeName() == "optional_type"
}

// upstreamEnv is the environment of stored rules, without variables.
func upstreamEnv() *celgo.Env {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).StoredExpressionsEnv()
}
