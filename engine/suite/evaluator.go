package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
)

// CRDs is the content of a file with CRDs. Documents of other kinds are ignored.
type CRDs struct {
	File string
	Text []byte

	original []byte // the content of the file, if Text is a part of it
}

// Original returns the content of the file. Text can be one version of it.
func (c *CRDs) Original() []byte {
	if c.original != nil {
		return c.original
	}
	return c.Text
}

// Evaluator evaluates writes with the CRDs of a suite.
type Evaluator interface {
	// Admit evaluates a write of an object of a kind. An error says why it could not be evaluated.
	Admit(ctx context.Context, apiVersion, kind string, item engine.Item, o engine.EvaluationOptions) (*Answer, error)
	// CheckStored returns why an API server would not have stored an object as it is, with its status. It is empty for a
	// valid object.
	CheckStored(ctx context.Context, apiVersion, kind string, object []byte) ([]Violation, error)
}

// Answer is the API server's answer to a write.
type Answer struct {
	Allowed    bool
	Message    string // of a rejection
	Violations []Violation
	Next       []Violation // that remain without the unknown and duplicate fields for which the write is rejected
	Warnings   []string
	Notes      []string // crdeval's own warnings, which an API server does not send
	Object     []byte   // as the API server returns it, nil for a rejected write
	// Traces and OmittedTraces are those of the verdict, if the options ask for them.
	Traces        []engine.RuleTrace
	OmittedTraces int
}

// AnswerOf returns the answer of a verdict.
func AnswerOf(v *engine.Verdict) *Answer {
	a := &Answer{
		Allowed: v.Allowed, Object: v.Object, Violations: violations(v.Violations), Next: violations(v.Next),
		Traces: v.Traces, OmittedTraces: v.OmittedTraces,
	}
	for i := range v.Warnings {
		a.AddWarning(v.Warnings[i].Type, v.Warnings[i].Text)
	}
	if v.Rejection != nil {
		a.Message = v.Rejection.Message
	}
	return a
}

// noticePrefix is the prefix of crdeval's own warnings.
const noticePrefix = "crdeval: "

// AddWarning adds a warning of a type of package engine to Warnings or Notes.
func (a *Answer) AddWarning(kind, text string) {
	if kind == engine.TypeNotice {
		a.Notes = append(a.Notes, strings.TrimPrefix(text, noticePrefix))
	} else {
		a.Warnings = append(a.Warnings, text)
	}
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
	definitions, err := Compile(ctx, files, o)
	if err != nil {
		return nil, err
	}
	return NewEvaluatorOf(definitions...), nil
}

// NewEvaluatorOf returns an Evaluator for compiled CRDs. Of CRDs with the same group and kind, it uses the last.
func NewEvaluatorOf(definitions ...*engine.Definition) Evaluator {
	l := local{map[groupKind]*engine.Definition{}}
	for _, d := range definitions {
		l.definitions[groupKind{d.Group(), d.Kind()}] = d
	}
	return &l
}

// Compile compiles the CRDs of files. It is an error if an API server would reject one of them. Fragments of CRDs, such as
// patches of kustomize, are ignored.
func Compile(ctx context.Context, files []CRDs, o engine.Options) (all []*engine.Definition, err error) {
	for _, f := range files {
		for _, m := range workspace.Parse(workspace.Source{Name: f.File}, f.Text, 0).Manifests {
			if c := m.AsCRD(); m.Err == nil && (c == nil || c.IsFragment()) {
				continue
			}
			definition, report, err := engine.Compile(ctx, m.Document, o)
			if err = cmp.Or(m.Err, err); err != nil {
				at := &Error{File: f.File, Message: err.Error()}
				if e := (*engine.Error)(nil); errors.As(err, &e) && e.Position != nil {
					at.Line = e.Position.Line
				}
				return nil, at
			}
			if definition == nil {
				return nil, rejectedCRD(f.File, report)
			}
			all = append(all, definition)
		}
	}
	return all, nil
}

func rejectedCRD(file string, report *engine.Report) error {
	line := 0
	var violations []string
	for _, v := range report.Violations {
		at := file
		if v.Position != nil {
			at = fmt.Sprintf("%s:%d:%d", file, v.Position.Line, v.Position.Column)
			line = cmp.Or(line, v.Position.Line)
		}
		violations = append(violations, at+": "+v.Error())
	}
	return RejectedCRD(file, line, report.Rejection.Message, violations)
}

// RejectedCRD returns the error for a CRD that an API server rejects with a message. Several violations have a line each.
func RejectedCRD(file string, line int, message string, violations []string) *Error {
	text := "the CRD is rejected: " + message
	if len(violations) > 1 {
		text = "the CRD is rejected\n  " + strings.Join(violations, "\n  ")
	}
	return &Error{file, line, text}
}

// definition returns the CRD of a kind.
func (l *local) definition(apiVersion, kind string) (*engine.Definition, error) {
	group, _, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		group = ""
	}
	d := l.definitions[groupKind{group, kind}]
	if d == nil {
		return nil, fmt.Errorf("the suite has no CRD for %s (%s)", kind, apiVersion)
	}
	return d, nil
}

func (l *local) Admit(
	ctx context.Context, apiVersion, kind string, item engine.Item, o engine.EvaluationOptions,
) (*Answer, error) {
	d, err := l.definition(apiVersion, kind)
	if err != nil {
		return nil, err
	}
	v, err := d.Admit(ctx, item, o)
	if err != nil {
		return nil, err
	}
	return AnswerOf(v), nil
}

func violations(list []engine.Violation) (all []Violation) {
	for i := range list {
		of := &list[i]
		all = append(all, Violation{Type: of.Type, Field: of.Field, Message: of.Message, Pointer: of.Pointer})
	}
	return all
}

func (l *local) CheckStored(ctx context.Context, apiVersion, kind string, object []byte) ([]Violation, error) {
	d, err := l.definition(apiVersion, kind)
	if err != nil {
		return nil, err
	}
	read, err := d.Read(ctx, engine.Item{Object: engine.JSON(object)}, engine.EvaluationOptions{})
	if err != nil {
		return nil, err
	}
	v, err := d.Validate(ctx, engine.Item{Object: engine.JSON(read.Object)}, StoredOptions)
	if err != nil {
		return nil, err
	}
	return StoredViolations(read.Pruned, v), nil
}

// StoredViolations returns the result of CheckStored for the fields that a read prunes, and for the verdict on the rest.
func StoredViolations(pruned []engine.FieldChange, v *engine.Verdict) (all []Violation) {
	for i := range pruned {
		all = append(all, UnknownField(pruned[i].Path, pruned[i].Pointer))
	}
	all = append(all, violations(v.Violations)...)
	if !v.Allowed && len(all) == 0 {
		all = append(all, Violation{Message: v.Rejection.Message})
	}
	return all
}

// StoredOptions are the options with which CheckStored validates an object that was read from the storage.
var StoredOptions = engine.EvaluationOptions{AsGiven: true, CompleteMetadata: true,
	FieldValidation: engine.FieldValidationIgnore}

// UnknownField returns the violation for a field that the schema does not have. An API server prunes such fields.
func UnknownField(path, pointer string) Violation {
	return Violation{Field: path, Message: "unknown field", Pointer: pointer}
}
