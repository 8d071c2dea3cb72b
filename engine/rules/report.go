// Package rules describes the rules of x-kubernetes-validations: what they cost, and how they were evaluated.
//
// Package engine returns its types: a Report of each rule in engine.VersionInfo, a Ref in the engine.Violation of a rule,
// and a Trace of each evaluation in engine.Verdict.
package rules

// Ref identifies one rule of a schema.
type Ref struct {
	// Index is its index in x-kubernetes-validations.
	Index int
	// Text is the CEL expression.
	Text string
	// Reason is the rule's reason, or "".
	Reason string
}

// Report describes one rule of x-kubernetes-validations and its estimated cost.
type Report struct {
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
	Culprits []Culprit
	// LowestKubernetes is the oldest version of Kubernetes, such as "1.34", that compiles the rule and its message, "" for
	// none. LowestKubernetesReason says what the version before lacks.
	LowestKubernetes, LowestKubernetesReason string
}

// Culprit is a bound in a schema that is too high or missing.
type Culprit struct {
	// SchemaPointer is the JSON pointer of the list, map or string; Keyword is maxItems, maxProperties or maxLength.
	SchemaPointer, Keyword string
	// Suggested is the largest value of Keyword with which the rule keeps to its limit, if all suggestions are
	// followed. It is 0 if no such value exists or is needed.
	Suggested int64
}
