// Package oracle returns upstream's answers. It calls k8s.io/apiextensions-apiserver in the order of an API server, to
// register CustomResourceDefinitions and to evaluate their objects.
//
// It has no logic of its own. Steps that upstream exports are called. For other steps (the coercing decoder of the
// custom resource handler), the exported parts are called in the same order, and a comment names the function of
// upstream. Answers are plain data, see [Answer]. [Compare] lists the differences between two answers.
//
// Only this module imports upstream's logic. The production engine never does.
package oracle
