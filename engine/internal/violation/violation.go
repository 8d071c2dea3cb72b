// Package violation defines the errors of an object or a CRD: upstream's field.Error with the object path, the schema
// pointer and the pipeline step. It builds the message of a Status and bounds the violations of one document. Package
// plan has the texts of schema violations (explain_report.go).
//
// A Violation rejects a document, and a Warning does not. The steps make them, package hint adds hints, and package
// engine converts them once to its public types.
package violation

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/rules"
)

// Step is the pipeline step that found a violation.
type Step string

// The steps, in the order of the pipeline.
const (
	Decode       Step = "DECODE"        // JSON, TypeMeta and ObjectMeta could not be read
	Request      Step = "REQUEST"       // the object does not fit the endpoint: version, namespace, name
	TypeMeta     Step = "TYPE_META"     // apiVersion and kind
	Metadata     Step = "METADATA"      // ObjectMeta
	Schema       Step = "SCHEMA"        // OpenAPI v3 validation
	Scale        Step = "SCALE"         // the fields behind the scale subresource
	Embedded     Step = "EMBEDDED"      // TypeMeta and ObjectMeta of embedded resources
	List         Step = "LIST"          // uniqueness in sets and maps
	Rules        Step = "RULE"          // x-kubernetes-validations
	RulesSkipped Step = "RULES_SKIPPED" // upstream's note that it did not evaluate rules, because of violations before
	CRD          Step = "CRD"           // the CustomResourceDefinition's own rules
	Convert      Step = "CONVERT"       // declared conversion rules do not fit the CRD
)

// Violation is upstream's field.Error with its location. Error() is the text that the API server prints.
type Violation struct {
	*field.Error

	// Path leads from the root of the object to the wrong or missing value. It is empty for the root. Unlike
	// Error.Field, it is never ambiguous. It owns its memory.
	Path tree.Path
	// Node is the wrong value in the validated Doc, or the object that lacks a value. It is 0 if the violation is not
	// about a Doc. It is valid until the Doc is edited or reset.
	Node uint32
	// AtNode says that Path leads to Node. Otherwise it may lead to a value below Node, which may be missing.
	AtNode bool
	// Schema is an RFC 6901 pointer from openAPIV3Schema to the violated keyword, or "".
	Schema string
	// Step is the pipeline step that found the violation.
	Step Step
	// Position is the position of the value in the document, see Locate. It is zero if the value is not in the
	// document.
	Position tree.Position
	// Rule is the x-kubernetes-validations rule that failed or could not be evaluated. It is nil for other violations.
	Rule *rules.Ref
	// Repeat is the place of a key that is set again, nil for other violations.
	Repeat *tree.DuplicatePlace
	// Want is the JSON type of the value that a TypeDecode wants, "" if unknown.
	Want string
	// Hint says what was probably meant, nil if unknown.
	Hint *Hint
}

// Of returns a violation with a path and a step only.
func Of(step Step, err *field.Error, path tree.Path) Violation {
	return Violation{Error: err, Path: path, Step: step}
}

// Locate returns the position of the value, or of its closest ancestor that is in the document. Missing values,
// defaults and values of the old object have no position of their own; a null that was dropped has one. d is the
// validated Doc.
func (v *Violation) Locate(d *tree.Doc) tree.Position {
	if v.Node != 0 && int(v.Node) < len(d.Nodes) {
		// The text of an edited object may have a null that was dropped.
		if n := &d.Nodes[v.Node]; n.Src != tree.Old && (v.AtNode || n.Flags&tree.Dirty == 0) {
			if p := d.PositionOf(v.Node, v.Path); p != (tree.Position{}) {
				return p
			}
		}
	}
	return d.PositionAt(v.Path)
}

// Errors returns the field errors of the violations.
func Errors(list []Violation) field.ErrorList {
	if len(list) == 0 {
		return nil
	}
	errs := make(field.ErrorList, len(list))
	for i := range list {
		errs[i] = list[i].Error
	}
	return errs
}

// Blocking reports whether a violation prevents CEL rules from running: unsupported, required, too long, too many, or
// wrong type. Invalid and duplicate values do not.
// (k8s.io/apiextensions-apiserver/pkg/registry/customresource/strategy.go)
func Blocking(list []Violation) bool {
	for i := range list {
		switch list[i].Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return true
		case field.ErrorTypeDuplicate:
			if !quirk.On(quirk.DuplicatesDoNotBlockRules) {
				return true
			}
		}
	}
	return false
}

// PathOf parses the path of a field error, for example metadata.ownerReferences[0].uid. A name that contains dots or
// brackets makes the text ambiguous; only the document can resolve it.
func PathOf(field string) (path tree.Path) {
	for field != "" {
		switch field[0] {
		case '.':
			field = field[1:]
		case '[':
			inner, rest, _ := strings.Cut(field[1:], "]")
			if i, err := strconv.Atoi(inner); err == nil {
				path = append(path, tree.At(i))
			} else {
				path = append(path, tree.Entry(inner))
			}
			field = rest
		default:
			end := strings.IndexAny(field, ".[")
			if end < 0 {
				end = len(field)
			}
			path = append(path, tree.Name(field[:end]))
			field = field[end:]
		}
	}
	return path
}
