package engine

import apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

// Report is the API server's answer to the creation or update of a CRD, with estimates of its rules.
type Report struct {
	// Name, Group, Kind and Plural are those of the CRD, as far as it has them.
	Name, Group, Kind, Plural string
	// Update reports whether the CRD was judged as an update, see Options.Existing.
	Update bool
	// Generation is metadata.generation after the write: 1 for a new CRD; an update that changes more than metadata
	// increments it. It is meaningless for a rejected CRD.
	Generation int64
	// Accepted reports whether an API server would accept the CRD.
	Accepted bool
	// Rejection is the API server's answer to a CRD that is not accepted, nil otherwise. If the manifest could not be
	// decoded as a CRD, for example because of a number instead of a string, there are no Violations.
	Rejection *Rejection
	// Violations have positions in the manifest.
	Violations []Violation
	// Warnings are the texts of the API server's Warning headers. A rejected CRD has them as well, unlike on an API
	// server.
	Warnings []string
	// HasRules reports whether any version has x-kubernetes-validations.
	HasRules bool
	// LowestMinor is the oldest Kubernetes minor release, from OldestMinor to LatestMinor, that has all formats and
	// compiles all rules in every version, except rules that no release compiles. LowestMinorBecause says what the
	// release before lacks, "" for nothing.
	LowestMinor        int
	LowestMinorBecause string
	// Versions are the CRD's versions by priority.
	Versions []VersionInfo
}

// VersionInfo describes one version of a CRD.
type VersionInfo struct {
	Name            string
	Served, Storage bool
	// Priority is the position in Kubernetes' order of versions (GA, beta, alpha; newer first), from 0.
	Priority int
	// Index is the position in spec.versions, from 0.
	Index int
	// Deprecated reports whether every request to the version is answered with DeprecationWarning.
	Deprecated         bool
	DeprecationWarning string
	// HasRules reports whether the schema has x-kubernetes-validations.
	HasRules bool
	// HasStatus and HasScale report which subresources the version has.
	HasStatus, HasScale bool

	// The following fields are set in a Report only.

	// LowestMinor and LowestMinorBecause are as in Report, for this version.
	LowestMinor        int
	LowestMinorBecause string
	// Rules are sorted by pointer. Rules of a schema with other violations are missing, since they are not checked.
	Rules []RuleReport
	// EstimatedCost is the estimated cost of all rules and message expressions for one object, in CEL cost units. It is
	// math.MaxUint64 on overflow. CostLimit is its limit.
	EstimatedCost, CostLimit uint64
}

// RuleReport describes one rule of x-kubernetes-validations and its estimated cost.
type RuleReport struct {
	// SchemaPointer is the JSON pointer (RFC 6901) of the rule in the version's schema:
	// /properties/spec/x-kubernetes-validations/0.
	SchemaPointer string
	// Index is the position in the list of its schema, Text the expression, Reason the reason, FieldValueInvalid by
	// default.
	Index        int
	Text, Reason string
	// EstimatedCost is Kubernetes' estimate for one object, in CEL cost units: the cost for one value, times
	// Cardinality, which is the number of values. It is math.MaxUint64 on overflow, and 0 for a rule that does not
	// compile.
	EstimatedCost, Cardinality uint64
	// MessageEstimatedCost is the estimate for its messageExpression, which Kubernetes does not multiply.
	MessageEstimatedCost uint64
	// Limit is the limit of either estimate. ShareOfLimit is the larger one divided by it.
	Limit        uint64
	ShareOfLimit float64
	// UsesOldSelf reports whether it is a transition rule.
	UsesOldSelf bool
	// Culprits are the bounds that cause a high estimate, the most important first. They are determined for estimates
	// of at least a tenth of the limit, or if all rules together exceed theirs: for the 256 costliest rules of a
	// version, within about a second.
	Culprits []CostCulprit
	// LowestMinor is the oldest minor release that compiles the rule and its message, 0 for none. LowestMinorBecause
	// says what the release before lacks.
	LowestMinor        int
	LowestMinorBecause string
}

// CostCulprit is a bound in a schema that is too high or missing.
type CostCulprit struct {
	// SchemaPointer is the JSON pointer of the list, map or string; Keyword is maxItems, maxProperties or maxLength.
	SchemaPointer, Keyword string
	// Suggested is the largest value of Keyword with which the rule keeps to its limit, if all suggestions are
	// followed. It is 0 if there is no such value, or if none is needed.
	Suggested int64
}

// Scope says whether the objects of a CRD are namespaced.
type Scope = apiextensionsv1.ResourceScope

// The scopes.
const (
	NamespaceScoped = apiextensionsv1.NamespaceScoped
	ClusterScoped   = apiextensionsv1.ClusterScoped
)
