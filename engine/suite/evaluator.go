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
	Admit(ctx context.Context, apiVersion, kind string, w engine.Write, o engine.AdmitOptions) (*engine.Verdict, error)
	// ReadStored reads an object as an API server reads it from its storage, and validates the result with the options.
	// It returns the fields that reading prunes, and the verdict.
	ReadStored(ctx context.Context, apiVersion, kind string, object []byte, o engine.ValidateOptions) (
		pruned []engine.FieldChange, v *engine.Verdict, err error)
}

// answer is an API server's answer to a write.
type answer struct {
	*engine.Verdict
	message    string // of a rejection
	violations []Violation
	warnings   []string
	notes      []string // crdeval's own warnings, which an API server does not send
}

// noticePrefix is the prefix of crdeval's own warnings.
const noticePrefix = "crdeval: "

func answerOf(v *engine.Verdict) *answer {
	a := &answer{
		Verdict: v, violations: violations(v.Violations), warnings: engine.KubernetesWarnings(v.Warnings),
	}
	for i := range v.Warnings {
		if w := &v.Warnings[i]; w.Type == engine.TypeNotice {
			a.notes = append(a.notes, strings.TrimPrefix(w.Text, noticePrefix))
		}
	}
	if v.Rejection != nil {
		a.message = v.Rejection.Message
	}
	return a
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
type local struct{ crds engine.Set }

// NewEvaluator returns an Evaluator for compiled CRDs. Of CRDs with the same group and kind, it uses the last.
func NewEvaluator(definitions ...*engine.Definition) Evaluator {
	l := &local{}
	for _, d := range definitions {
		l.crds.AddDefinition(d)
	}
	return l
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
	d := l.crds.Find(apiVersion, kind)
	if d == nil {
		return nil, fmt.Errorf("the suite has no CRD for %s (%s)", kind, apiVersion)
	}
	return d, nil
}

func (l *local) Admit(
	ctx context.Context, apiVersion, kind string, w engine.Write, o engine.AdmitOptions,
) (*engine.Verdict, error) {
	d, err := l.definition(apiVersion, kind)
	if err != nil {
		return nil, err
	}
	return d.Admit(ctx, w, o)
}

func (l *local) ReadStored(
	ctx context.Context, apiVersion, kind string, object []byte, o engine.ValidateOptions,
) ([]engine.FieldChange, *engine.Verdict, error) {
	d, err := l.definition(apiVersion, kind)
	if err != nil {
		return nil, nil, err
	}
	read, err := d.Read(ctx, engine.JSON(object), engine.ReadOptions{})
	if err != nil {
		return nil, nil, err
	}
	v, err := d.Validate(ctx, engine.Create{Object: engine.JSON(read.Object)}, o)
	return read.Pruned, v, err
}

func violations(list []engine.Violation) (all []Violation) {
	for i := range list {
		of := &list[i]
		all = append(all, Violation{Type: of.Type, Field: of.Field, Message: of.Message, Pointer: of.Pointer})
	}
	return all
}
