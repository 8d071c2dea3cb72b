// Package celcheck compiles the rules of a schema (x-kubernetes-validations) and estimates their cost, as registration
// does.
//
// A Scope is a node of a version's schema with the CEL type of self. Scope.Check compiles a rule and estimates its
// cost; Estimate.CostlyBounds finds the bounds of the schema that would bring a rule below its cost limit. A Shared
// shares results between the equal nodes of one CRD. Package rule evaluates the rules. declare.go gives each part its
// size, estimate.go passes it to cel-go, bounds.go suggests bounds, work.go bounds the time of the check itself. value.go
// checks expressions that compute values.
//
// Upstream: k8s.io/apiextensions-apiserver pkg/apiserver/schema/cel.
package celcheck
