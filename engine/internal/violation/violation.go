package violation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/value"
)

// Step names the step of the pipeline that found a violation.
type Step string

// The steps, in the order in which a write passes them.
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

// Violation is one finding. The embedded Error is the reference's: its type, its text for the place, the bad value as the
// reference holds it, the detail; Error() is the text that users of Kubernetes know.
type Violation struct {
	*field.Error

	// Path leads from the root of the object to the value that is wrong, or to the place where one is missing. Unlike the
	// Error's Field it is never ambiguous and never absent; the root's is empty. It owns its memory.
	Path value.Path
	// Node is the value in the Doc that was judged: the one that is wrong, or the object in which one is missing. 0 if the
	// finding is not about a Doc. It is meaningful until the Doc is edited or reset.
	Node uint32
	// Schema is an RFC 6901 pointer from the version's openAPIV3Schema to the keyword that was violated; "" if no keyword
	// stands for the finding.
	Schema string
	// Step found it.
	Step Step
	// Position is the position of the value in the document, see Locate. It is zero if the value is not in the document.
	Position value.Position
	// Rule is the x-kubernetes-validations rule that was not satisfied, or could not be evaluated; nil for other violations.
	Rule *RuleRef
}

// RuleRef names one rule of a schema node.
type RuleRef struct {
	// Index is its place in x-kubernetes-validations, from 0.
	Index int
	// Text is the expression as the schema has it.
	Text string
	// Reason is the rule's reason, "" if it has none.
	Reason string
}

// Of wraps an error of a step that knows no more about the place than its path.
func Of(step Step, err *field.Error, path value.Path) Violation {
	return Violation{Error: err, Path: path, Step: step}
}

// Locate returns the position of the value in the document, or of its deepest ancestor in it: missing values and defaults
// have no position. d is the Doc that was validated.
func (v *Violation) Locate(d *value.Doc) value.Position {
	if v.Node != 0 && int(v.Node) < len(d.Nodes) {
		if p := d.PositionOf(v.Node, v.Path); p != (value.Position{}) {
			return p
		}
	}
	return d.PositionAt(v.Path)
}
