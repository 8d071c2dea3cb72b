package page

import "github.com/crdeval/crdeval/server/editor/assist"

// Input is what the user of the playground has typed. The documents are YAML or JSON.
type Input struct {
	// CRD is the CustomResourceDefinition.
	CRD string `json:"crd"`
	// Object is the object to write. If it is empty, only the CRD is evaluated.
	Object string `json:"object,omitempty"`
	// OldObject is the stored object. If it is empty, the write is a creation.
	OldObject string `json:"oldObject,omitempty"`
	// FieldValidation is Strict (default), Warn or Ignore.
	FieldValidation string `json:"fieldValidation,omitempty"`
	// Subresource is empty, "status" or "scale". A subresource needs an OldObject.
	Subresource string `json:"subresource,omitempty"`
	// Version is the version of the endpoint. The default is the version of the object.
	Version string `json:"version,omitempty"`
	// Minor is the Kubernetes minor version whose CEL functions and formats the CRD may use: 0 or one of Report.Minors. 0
	// is the default of Kubernetes 1.37. All other behaviour is always that of 1.37.
	Minor int `json:"minor,omitempty"`
}

// ExplainInput asks for the documentation of a field.
type ExplainInput struct {
	CRD string `json:"crd"`
	// Path is the field: spec.schedule. An empty path explains the resource.
	Path string `json:"path,omitempty"`
	// Version is the version to explain. The default is the served version with the highest priority.
	Version string `json:"version,omitempty"`
	// Recursive lists all fields below the path.
	Recursive bool `json:"recursive,omitempty"`
	Minor     int  `json:"minor,omitempty"`
}

// Explanation is the answer to an ExplainInput.
type Explanation struct {
	// Text is what kubectl explain prints.
	Text string `json:"text,omitempty"`
	// Error says why there is no text.
	Error *Error `json:"error,omitempty"`
}

// CursorInput asks about a position in one of the documents.
type CursorInput struct {
	CRD       string `json:"crd"`
	Object    string `json:"object,omitempty"`
	OldObject string `json:"oldObject,omitempty"`
	// Document is the one with the position: crd, object or oldObject. An object needs the CRD.
	Document string `json:"document"`
	// Offset is that of a Position.
	Offset int `json:"offset"`
	Minor  int `json:"minor,omitempty"`
}

// Completions is the answer to a CursorInput.
type Completions struct {
	// Range is the part of the document that an item replaces, nil without items.
	Range *Range        `json:"range,omitempty"`
	Items []assist.Item `json:"items"`
	// Error says why there are no items.
	Error *Error `json:"error,omitempty"`
}

// Hover is the answer to a CursorInput.
type Hover struct {
	// Field is the field at the position, or nil.
	Field *Field `json:"field,omitempty"`
	// Error says why there is no field.
	Error *Error `json:"error,omitempty"`
}

// Field describes a field.
type Field struct {
	// Range is the key.
	Range *Range `json:"range"`
	// Path is the field: spec.jobs[0].name.
	Path    string          `json:"path"`
	Type    string          `json:"type"`
	Details []assist.Detail `json:"details"`
	// Text is what kubectl explain prints, or the description. It can be empty.
	Text string `json:"text"`
}
