// Package rule evaluates x-kubernetes-validations for one document.
//
// Compile makes a Set of the rules of a schema node, which the compiled schema retains. A Run evaluates Sets: with
// closures (package closure) where a rule has a value without an error, else with cel-go (package interpret), which has
// upstream's texts, costs and limits. Subpackages: celenv has the environments by minor, celcheck compiles rules and
// estimates costs, interpret is the fallback, trace records sub-expressions.
//
// An Expression computes a value for declared conversion: assign.go checks its type, reads.go finds what it reads,
// output.go writes its value as nodes.
//
// Package plan finds the values that have rules. Package admission decides whether rules run.
//
// Upstream: k8s.io/apiextensions-apiserver pkg/apiserver/schema/cel.
package rule
