package engine

import apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

// Report says what an API server would make of a CRD.
type Report struct {
	// Name, Group, Kind and Plural are the CRD's own, as far as it has them.
	Name, Group, Kind, Plural string
	// Accepted is set if an API server would take the CRD.
	Accepted bool
	// Refusal is the API server's answer to a CRD that is not accepted, nil otherwise. It stands without Violations if the
	// manifest could not be decoded as a CRD (a number where a string belongs).
	Refusal *Refusal
	// Violations are the findings, with positions in the manifest given.
	Violations []Violation
	// Warnings are the texts of the API server's Warning headers, and crdeval's own note if the CRD has rules.
	Warnings []string
	// HasRules is set if any version has x-kubernetes-validations. They are not evaluated by this version of crdeval.
	HasRules bool
	// LowestMinor is the oldest Kubernetes minor release, OldestMinor or later, whose formats include all that the CRD
	// uses; LatestMinor at most.
	LowestMinor int
	// Versions are the CRD's, in order of priority.
	Versions []VersionInfo
}

// VersionInfo describes one version of a CRD.
type VersionInfo struct {
	Name            string
	Served, Storage bool
	// Priority is the place in Kubernetes' order of versions (GA, then beta, then alpha, newer first), from 0.
	Priority int
	// Index is the place in spec.versions, from 0.
	Index int
	// Deprecated is set if every request to the version is answered with DeprecationWarning.
	Deprecated         bool
	DeprecationWarning string
	// HasRules is set if the schema has x-kubernetes-validations.
	HasRules bool
	// HasStatus and HasScale say which subresources the version has.
	HasStatus, HasScale bool
	// LowestMinor is as in Report, for this version.
	LowestMinor int
}

// Scope says whether the objects of a CRD live in namespaces.
type Scope = apiextensionsv1.ResourceScope

// The scopes.
const (
	NamespaceScoped = apiextensionsv1.NamespaceScoped
	ClusterScoped   = apiextensionsv1.ClusterScoped
)
