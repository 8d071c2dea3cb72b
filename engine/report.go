package engine

import apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

// Report says what an API server would make of a CRD on create, or on update.
type Report struct {
	// Name, Group, Kind and Plural are the CRD's own, as far as it has them.
	Name, Group, Kind, Plural string
	// Update is set if the CRD was judged as the update of one that is registered, see Options.Existing.
	Update bool
	// Generation is metadata.generation after the write: 1 of a CRD that is new; an update that changes more than metadata adds 1. It means
	// nothing of a CRD that is refused.
	Generation int64
	// Accepted is set if an API server would take the CRD.
	Accepted bool
	// Refusal is the API server's answer to a CRD that is not accepted, nil otherwise. It stands without Violations if the
	// manifest could not be decoded as a CRD (a number where a string belongs).
	Rejection *Rejection
	// Violations are the findings, with positions in the manifest given.
	Violations []Violation
	// Warnings are the texts of the API server's Warning headers. A CRD that is refused has them too, though an API server sends them with
	// accepted ones alone.
	Warnings []string
	// HasRules is set if any version has x-kubernetes-validations.
	HasRules bool
	// LowestMinor is the oldest Kubernetes minor release, from OldestMinor to LatestMinor, that knows all formats of the CRD and
	// compiles all its rules, in every version; rules that no release compiles do not count. LowestMinorBecause says what an older one
	// lacks, and where; "" if there is nothing.
	LowestMinor        int
	LowestMinorBecause string
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

	// The rest is known of a Report's versions alone; a Definition does not keep it.

	// LowestMinor and LowestMinorBecause are as in Report, for this version.
	LowestMinor        int
	LowestMinorBecause string
	// Rules are those of the schema, in the order of their pointers. Rules that stand beside other mistakes are missing: nobody looks at them
	// before those are mended.
	Rules []RuleReport
	// EstimatedCost is what all rules and message expressions may cost together for one object, in CEL cost units; math.MaxUint64 stands
	// for all that does not fit. CostLimit is what it may not exceed.
	EstimatedCost, CostLimit uint64
}

// RuleReport says what one rule of x-kubernetes-validations is estimated to cost, before any object is known.
type RuleReport struct {
	// SchemaPointer leads to the rule from the schema of its version (RFC 6901): /properties/spec/x-kubernetes-validations/0.
	SchemaPointer string
	// Index is its place in the list of its schema, Text its expression, Reason the reason that it states: FieldValueInvalid if none.
	Index        int
	Text, Reason string
	// EstimatedCost is what the rule may cost for one object as Kubernetes estimates it, in CEL cost units: for one value, times
	// Cardinality, the number of values that it may run for. math.MaxUint64 stands for all that does not fit; 0 is the cost of a rule
	// that does not compile.
	EstimatedCost, Cardinality uint64
	// MessageEstimatedCost is the same of its messageExpression, whose cardinality Kubernetes does not mind.
	MessageEstimatedCost uint64
	// Limit is what neither may exceed. ShareOfLimit is the larger one divided by it.
	Limit        uint64
	ShareOfLimit float64
	// UsesOldSelf: it is a transition rule.
	UsesOldSelf bool
	// Culprits are the bounds to blame for the estimate, the worst first. They are looked for where it is a tenth of the limit or more, or where
	// all rules together exceed theirs: for the 256 most expensive rules of a version, as far as a second or so allows.
	Culprits []CostCulprit
	// LowestMinor is the oldest minor release that compiles the rule and its message, 0 if none does; LowestMinorBecause says what an
	// older one lacks.
	LowestMinor        int
	LowestMinorBecause string
}

// CostCulprit is a bound that a schema states too high, or not at all.
type CostCulprit struct {
	// SchemaPointer leads to the list, map or string; Keyword, maxItems, maxProperties or maxLength, bounds it.
	SchemaPointer, Keyword string
	// Suggested is the largest value of Keyword with which the rule fits its limit (and its part of the version's, where all rules together
	// exceed that), all other suggestions in force too. 0: there is none, or no need of one.
	Suggested int64
}

// Scope says whether the objects of a CRD live in namespaces.
type Scope = apiextensionsv1.ResourceScope

// The scopes.
const (
	NamespaceScoped = apiextensionsv1.NamespaceScoped
	ClusterScoped   = apiextensionsv1.ClusterScoped
)
