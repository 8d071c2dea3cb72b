package violation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/value"
)

// Step is the pipeline step that found a violation.
type Step string

// The steps, in the order of the pipeline.
const (
	Decode   Step = "DECODE"    // JSON, TypeMeta and ObjectMeta could not be read
	Request  Step = "REQUEST"   // the object does not fit the endpoint: version, namespace, name
	TypeMeta Step = "TYPE_META" // apiVersion and kind
	Metadata Step = "METADATA"  // ObjectMeta
	Schema   Step = "SCHEMA"    // OpenAPI v3 validation
	Scale    Step = "SCALE"     // the fields behind the scale subresource
	Embedded Step = "EMBEDDED"  // TypeMeta and ObjectMeta of embedded resources
	List     Step = "LIST"      // uniqueness in sets and maps
	Rules    Step = "RULES"     // x-kubernetes-validations
	CRD      Step = "CRD"       // the CustomResourceDefinition's own rules
)

// Violation is upstream's field.Error with its location. Error() is the text that the API server prints.
type Violation struct {
	*field.Error

	// Path leads from the root of the object to the wrong or missing value. It is empty for the root. Unlike
	// Error.Field, it is never ambiguous. It owns its memory.
	Path value.Path
	// Node is the wrong value in the validated Doc, or the object that lacks a value. It is 0 if the violation is not
	// about a Doc. It is valid until the Doc is edited or reset.
	Node uint32
	// Schema is an RFC 6901 pointer from openAPIV3Schema to the violated keyword, or "".
	Schema string
	// Step is the pipeline step that found the violation.
	Step Step
	// Position is the position of the value in the document, see Locate. It is zero if the value is not in the
	// document.
	Position value.Position
	// Rule is the x-kubernetes-validations rule that failed or could not be evaluated. It is nil for other violations.
	Rule *RuleRef
}

// RuleRef identifies one rule of a schema.
type RuleRef struct {
	// Index is its index in x-kubernetes-validations.
	Index int
	// Text is the CEL expression.
	Text string
	// Reason is the rule's reason, or "".
	Reason string
}

// Of returns a violation with a path and a step only.
func Of(step Step, err *field.Error, path value.Path) Violation {
	return Violation{Error: err, Path: path, Step: step}
}

// Locate returns the position of the value, or of its closest ancestor that is in the document. Missing values and
// defaults have no position of their own. d is the validated Doc.
func (v *Violation) Locate(d *value.Doc) value.Position {
	if v.Node != 0 && int(v.Node) < len(d.Nodes) {
		if p := d.PositionOf(v.Node, v.Path); p != (value.Position{}) {
			return p
		}
	}
	return d.PositionAt(v.Path)
}
