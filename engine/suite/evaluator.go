package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/value"
)

// CRDs is the content of a file with CRDs. Documents of other kinds are ignored.
type CRDs struct {
	File string
	Text []byte
}

// Evaluator evaluates writes with the CRDs of a suite.
type Evaluator interface {
	// Admit evaluates a write of an object of a kind. An error says why it could not be evaluated.
	Admit(ctx context.Context, apiVersion, kind string, item engine.Item, o engine.EvaluationOptions) (*Answer, error)
}

// Answer is the API server's answer to a write.
type Answer struct {
	Allowed    bool
	Message    string // of a rejection
	Violations []Violation
	Warnings   []string
	Object     []byte // as the API server returns it, nil for a rejected write
}

// Violation is a violation that rejects a write.
type Violation struct {
	Line    int    `json:"line,omitempty"` // in the file of the suite
	Type    string `json:"type,omitempty"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`

	Pointer string `json:"pointer,omitempty"` // JSON pointer in the object
}

// String returns the violation in the words of an API server.
func (v *Violation) String() string {
	if v.Field == "" {
		return v.Message
	}
	return v.Field + ": " + v.Message
}

// local is an Evaluator without a service.
type local struct {
	definitions map[groupKind]*engine.Definition
}

type groupKind struct{ group, kind string }

// NewEvaluator returns an Evaluator for the CRDs of files. It is an error if an API server would reject one of them.
func NewEvaluator(ctx context.Context, files []CRDs, o engine.Options) (Evaluator, error) {
	l := local{map[groupKind]*engine.Definition{}}
	for _, f := range files {
		for d := range value.SplitYAML(f.Text) {
			document := engine.YAML(d.Text)
			if _, kind, err := engine.TypeMetaOf(document, limits); err == nil && kind != "CustomResourceDefinition" {
				continue
			}
			definition, report, err := engine.Compile(ctx, document, o)
			if err != nil {
				at := &Error{File: f.File, Message: err.Error()}
				if e := (*engine.Error)(nil); errors.As(err, &e) && e.Position != nil {
					at.Line = d.Line - 1 + e.Position.Line
				}
				return nil, at
			}
			if definition == nil {
				return nil, rejectedCRD(f.File, d.Line-1, report)
			}
			l.definitions[groupKind{definition.Group(), definition.Kind()}] = definition
		}
	}
	return &l, nil
}

func rejectedCRD(file string, before int, report *engine.Report) error {
	e := &Error{File: file, Message: "the CRD is rejected: " + report.Rejection.Message}
	if len(report.Violations) > 0 && report.Violations[0].Position != nil {
		e.Line = before + report.Violations[0].Position.Line
	}
	return e
}

func (l *local) Admit(
	ctx context.Context, apiVersion, kind string, item engine.Item, o engine.EvaluationOptions,
) (*Answer, error) {
	group, _, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		group = ""
	}
	d := l.definitions[groupKind{group, kind}]
	if d == nil {
		return nil, fmt.Errorf("no CRD for %s (%s)", kind, apiVersion)
	}
	v, err := d.Admit(ctx, item, o)
	if err != nil {
		return nil, err
	}
	a := &Answer{Allowed: v.Allowed, Warnings: v.Warnings, Object: v.Object}
	if v.Rejection != nil {
		a.Message = v.Rejection.Message
	}
	for i := range v.Violations {
		of := &v.Violations[i]
		a.Violations = append(a.Violations,
			Violation{Type: of.Type, Field: of.Field, Message: of.Message, Pointer: of.Pointer})
	}
	return a, nil
}
