package workspace

// Class is what a manifest is in a workspace.
type Class string

// The classes.
const (
	// ClassObject: a custom resource with a CRD in the workspace.
	ClassObject Class = "object"
	// ClassCRD: a CustomResourceDefinition.
	ClassCRD Class = "CRD"
	// ClassFragment: a CRD without group, kind or versions, such as a patch of kustomize.
	ClassFragment Class = "CRD fragment"
	// ClassRules: conversion rules of a CRD.
	ClassRules Class = "conversion rules"
	// ClassBuiltIn: an object of a kind of Kubernetes itself.
	ClassBuiltIn Class = "built-in kind"
	// ClassWithoutCRD: a custom resource whose kind has no CRD in the workspace.
	ClassWithoutCRD Class = "without a CRD"
	// ClassUntyped: a document that no API server accepts: see Manifest.IsTyped.
	ClassUntyped Class = "not a manifest"
	// ClassUnreadable: a document that is not JSON or YAML.
	ClassUnreadable Class = "unreadable"
)

// Classify returns the class of a manifest.
func (w *Workspace) Classify(m *Manifest) Class {
	switch {
	case m.Err != nil:
		return ClassUnreadable
	case m.Conversion:
		return ClassRules
	case m.crd != nil && m.crd.IsFragment():
		return ClassFragment
	case m.crd != nil:
		return ClassCRD
	case !m.IsTyped():
		return ClassUntyped
	case len(w.Choose(m.APIVersion, m.Kind, m.Path())) > 0:
		return ClassObject
	case isBuiltIn(m.APIVersion):
		return ClassBuiltIn
	}
	return ClassWithoutCRD
}
