// Package rule evaluates x-kubernetes-validations: it knows CEL as Kubernetes uses it (environments by minor, the types of a schema, compile
// errors), what a rule says when it is not satisfied, and what it costs.
//
// A Scope is a place in a version's schema; its rules compile to a Set, which the compiled schema node holds. A Run evaluates Sets against one
// document: by closures (package closure) where all is well, else by replaying the rule on cel-go over k8s.io/apiserver's own values, which have
// upstream's texts, costs and limits by construction. A Set retains texts and closures alone; what a replay needs is compiled when it is needed
// and kept within a bound of the process.
//
// It does not walk documents (package program does), nor decide where rules may run (package admission). Read env.go, scope.go, set.go and
// evaluate.go in that order.
//
// Upstream: k8s.io/apiextensions-apiserver pkg/apiserver/schema/cel; k8s.io/apiserver pkg/cel/environment, pkg/cel/common.
package rule
