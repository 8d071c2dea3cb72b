package page

import "encoding/json"

// Report is the result for an Input. Lists are never null in JSON.
type Report struct {
	CRD *CRD `json:"crd,omitempty"`
	// Object is nil if there is no object, or if the CRD is rejected or unreadable.
	Object *Object `json:"object,omitempty"`
	Traces []Trace `json:"traces"`
	// OmittedTraces counts the traces that are left out because there are too many.
	OmittedTraces int `json:"omittedTraces,omitempty"`
	// Table is nil if the object is not allowed.
	Table *Table `json:"table,omitempty"`
	// Minors are the values of Input.Minor other than 0, ascending.
	Minors []int `json:"minors"`
	// Errors say what could not be evaluated: a document, or a part of it. There is at most one for each document.
	Errors []Error `json:"errors"`
}

// Error says why something could not be evaluated. It is not a verdict.
type Error struct {
	// Reason is the reason of the engine: OBJECT_UNREADABLE, LIMIT_EXCEEDED, ITEM_DEADLINE.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Document is crd, object or oldObject, and empty if no document is wrong.
	Document string `json:"document,omitempty"`
	// Range is nil if the position is not known.
	Range *Range `json:"range,omitempty"`
	Fixes []Fix  `json:"fixes"`
}

// The values of Document in the other types.
const (
	DocumentCRD       = "crd"
	DocumentObject    = "object"
	DocumentOldObject = "oldObject"
)

// Position is a position in a document.
type Position struct {
	// Line and Column count from 1. Column counts code points.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Offset counts UTF-16 code units from 0, as strings of JavaScript and positions of CodeMirror do.
	Offset int `json:"offset"`
}

// Range is a part of a document. End is exclusive.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// CRD is the verdict on the CRD.
type CRD struct {
	Accepted bool   `json:"accepted"`
	Name     string `json:"name"`
	Group    string `json:"group"`
	Kind     string `json:"kind"`
	Plural   string `json:"plural"`
	// Message is the message of the rejection, empty for an accepted CRD.
	Message    string      `json:"message,omitempty"`
	Versions   []Version   `json:"versions"`
	Violations []Violation `json:"violations"`
	Warnings   []Warning   `json:"warnings"`
	Rules      []Rule      `json:"rules"`
	// LowestMinor is the oldest Kubernetes minor release that accepts all rules and formats, 0 if none does.
	// LowestMinorBecause says what the previous release does not support.
	LowestMinor        int    `json:"lowestMinor,omitempty"`
	LowestMinorBecause string `json:"lowestMinorBecause,omitempty"`
}

// Version is a version of the CRD.
type Version struct {
	Name    string `json:"name"`
	Served  bool   `json:"served"`
	Storage bool   `json:"storage"`
	// Cost is the estimated cost of all rules of the version for one object, Limit its limit, and Percent their ratio
	// in percent. Costs are in CEL cost units.
	Cost    float64 `json:"cost"`
	Limit   float64 `json:"limit"`
	Percent float64 `json:"percent"`
	// Subresources are those that the version has: status, scale.
	Subresources []string `json:"subresources"`
}

// Rule is one rule of x-kubernetes-validations with its estimated cost.
type Rule struct {
	Version string `json:"version"`
	// Path is the field of the schema: spec.jobs[*].name. It is empty for the root.
	Path string `json:"path"`
	// SchemaPointer is the JSON pointer of the rule in the version's schema.
	SchemaPointer string `json:"schemaPointer"`
	Rule          string `json:"rule"`
	Range         *Range `json:"range,omitempty"`
	// Transition reports whether the rule uses oldSelf.
	Transition bool `json:"transition"`
	// Cost is the estimated cost for one object, Limit its limit, and Percent their ratio in percent. Cost is
	// approximate beyond 2^53.
	Cost    float64 `json:"cost"`
	Limit   float64 `json:"limit"`
	Percent float64 `json:"percent"`
	// Bounds are the missing or too high bounds that make the rule costly, the most important first.
	Bounds []Bound `json:"bounds"`
}

// Bound is a bound in the schema that is missing or too high.
type Bound struct {
	// Path is the list, map or string: spec.jobs. Keyword is maxItems, maxProperties or maxLength.
	Path    string `json:"path"`
	Keyword string `json:"keyword"`
	// Suggested is the largest value with which the cost of the rule is within its limit, or 0.
	Suggested int64  `json:"suggested,omitempty"`
	Range     *Range `json:"range,omitempty"`
	// Hint is a sentence.
	Hint  string `json:"hint"`
	Fixes []Fix  `json:"fixes"`
}

// Object is the verdict on the write of the object.
type Object struct {
	Allowed bool `json:"allowed"`
	// Operation is create or update.
	Operation string `json:"operation"`
	// Code, Reason and Message are those of the API server's response. Code is 201 or 200 for an allowed write.
	Code    int    `json:"code"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Violations reject the write, at least one for a rejected write. If strict decoding rejects the object, those that
	// remain without unknown and duplicate fields follow. Ratcheted are violations of values that the update did not
	// change.
	Violations []Violation `json:"violations"`
	Ratcheted  []Violation `json:"ratcheted"`
	Warnings   []Warning   `json:"warnings"`
	Changes    []Change    `json:"changes"`
	// OmittedChanges counts the changes that are left out because there are too many.
	OmittedChanges int `json:"omittedChanges,omitempty"`
	// Submitted is the object as it was sent, and Result the object that would be stored, both as YAML with sorted
	// keys, so that their lines can be compared. Result is empty for a rejected write.
	Submitted string `json:"submitted"`
	Result    string `json:"result,omitempty"`
	// Version is the version of the request.
	Version string `json:"version,omitempty"`
}

// Violation is a reason to reject the write, with the API server's texts.
type Violation struct {
	Warning
	// Field is Kubernetes' text, "<nil>" for a violation that is not about one field.
	Field string `json:"field"`
	// BadValue is the invalid value. It is absent if Kubernetes omits it.
	BadValue json.RawMessage `json:"badValue,omitempty"`
	// Pointer is the JSON pointer of the field.
	Pointer string `json:"pointer"`
	// Rule is the text of the rule that failed, and RuleRange its place in the CRD.
	Rule      string `json:"rule,omitempty"`
	RuleRange *Range `json:"ruleRange,omitempty"`
}

// Warning is something about a document: the text of a Warning header, or a note of crdeval.
type Warning struct {
	// Document is crd, object or oldObject: the document that Range refers to.
	Document string `json:"document"`
	// Severity is error, warning or info.
	Severity string `json:"severity"`
	// Type is that of package engine or diagnosis: FieldValueRequired, UnknownField, x-kubernetes-validations.
	Type    string `json:"type"`
	Message string `json:"message"`
	// Range is the value or the key, or for a missing field its parent. It is nil if the finding has no place.
	Range *Range `json:"range,omitempty"`
	// Hint is a suggested correction as a sentence.
	Hint  string `json:"hint,omitempty"`
	Fixes []Fix  `json:"fixes"`
}

// Fix is a correction that the editor can apply.
type Fix struct {
	Title string `json:"title"`
	// Edits do not overlap. They are sorted by position and all refer to the text as it was sent.
	Edits []Edit `json:"edits"`
}

// Edit replaces a part of a document by a text. An insertion has an empty range.
type Edit struct {
	Document string   `json:"document"`
	Start    Position `json:"start"`
	End      Position `json:"end"`
	Text     string   `json:"text"`
}

// The values of Change.Op.
const (
	OpPruned    = "pruned"    // not declared by the schema
	OpDefaulted = "defaulted" // filled in with a default
	OpDropped   = "dropped"   // another removed field, such as a null, or a status that the endpoint does not write
	OpSet       = "set"       // another added field, such as the creation time
	OpChanged   = "changed"   // another value
)

// Change is a difference between the submitted and the stored object.
type Change struct {
	Path    string `json:"path"`
	Pointer string `json:"pointer"`
	Op      string `json:"op"`
	// Before is absent for an added field, After for a removed one.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
	// Range is the field in the object, nil for an added field.
	Range *Range `json:"range,omitempty"`
	Hint  string `json:"hint,omitempty"`
	Fixes []Fix  `json:"fixes"`
}

// Trace is the evaluation of a rule at one value of the object.
type Trace struct {
	// Path and Pointer are the position of the value, which is self in the rule.
	Path    string `json:"path"`
	Pointer string `json:"pointer"`
	Rule    string `json:"rule"`
	// Range is the rule in the CRD.
	Range *Range `json:"range,omitempty"`
	// Outcome is passed, failed, error, skipped or ratcheted. Skipped says why a rule was skipped.
	Outcome string `json:"outcome"`
	Skipped string `json:"skipped,omitempty"`
	Message string `json:"message,omitempty"`
	// Cost is the actual cost in CEL cost units.
	Cost int64 `json:"cost"`
	// Tree is nil for a rule without recorded values, such as a skipped one.
	Tree *Step `json:"tree,omitempty"`
	// OmittedSteps counts the values that are left out because there are too many.
	OmittedSteps int `json:"omittedSteps,omitempty"`
}

// Step is the value of a sub-expression.
type Step struct {
	Expression string `json:"expression"`
	// Value is absent for an error, and for a value that is too long. Error is CEL's error.
	Value json.RawMessage `json:"value,omitempty"`
	Error string          `json:"error,omitempty"`
	// Decisive marks a step that determined the value of the rule.
	Decisive bool   `json:"decisive,omitempty"`
	Children []Step `json:"children"`
}

// Table is the object as kubectl prints it.
type Table struct {
	// Text is the output of kubectl get, and WideText that of kubectl get -o wide.
	Text     string `json:"text"`
	WideText string `json:"wideText"`
}

// Example is an example of the page.
type Example struct {
	// ID is a short name for links: ratcheting.
	ID    string `json:"id"`
	Title string `json:"title"`
	// Description is one sentence.
	Description string `json:"description"`
	Input       Input  `json:"input"`
}
