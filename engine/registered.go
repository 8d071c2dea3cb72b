package engine

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Status is the status of a CRD: conditions, accepted names, stored versions, observed generation.
type Status = apiextensionsv1.CustomResourceDefinitionStatus

// Names are the names of a CRD: those that it asks for in its spec, or those that were accepted.
type Names = apiextensionsv1.CustomResourceDefinitionNames

// Condition is a condition in the status of a CRD.
type Condition = apiextensionsv1.CustomResourceDefinitionCondition

// Existing is a CRD that is registered already, which a manifest of its name would update.
type Existing struct {
	// Manifest is Definition.Manifest of its current revision.
	Manifest []byte
	// Generation is its metadata.generation, from 1.
	Generation int64
	// Status is what it has come to.
	Status Status
	// Terminating: it is being deleted, and waits for its objects to go. See Options.Terminating.
	Terminating bool
}
