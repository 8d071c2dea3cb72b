package rule

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Set holds the compiled rules of one schema node, in their order. It is immutable and shared without locks.
type Set struct {
	size int64
}

// Compile compiles the rules of the scope in the Stored environment; nil for none. Rules that do not compile are kept: upstream reports them for
// each object.
func (s *Scope) Compile(rules []apiextensionsv1.ValidationRule) *Set { return nil }

// Size is the heap that the Set retains, in bytes, its types included once per version (package program counts them with the version).
func (s *Set) Size() int64 { return s.size }

// Clean evaluates the rules by closures alone. True: all of them hold, and their cost is charged to the run. False: not clean; Evaluate decides,
// and the run's budget is as it was.
// self and old are nodes of the run's Doc; old is 0 where there is no old value.
func (s *Set) Clean(r *Run, self, old uint32) bool { return false }

// Evaluate evaluates the rules as upstream does (schema/cel/validation.go, validateExpressions) and adds what it finds to the run. False: the
// budget is used up, a call's limit was crossed, or the run was stopped; nothing further may run.
func (s *Set) Evaluate(r *Run, at Site) (more bool) { return true }
