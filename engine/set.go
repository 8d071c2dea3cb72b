package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/engine/internal/admission"
)

// Set holds the Definitions of a program and finds that of an object by its apiVersion and kind. The zero value is empty
// and ready to use. A Set is safe for concurrent use unless one of the calls is Add or AddDefinition.
type Set struct {
	definitions map[schema.GroupKind]*Definition
	limits      Limits
}

// Add compiles manifests and adds their Definitions. A manifest is judged as an update if the Set has a CRD of its name,
// unless o.Existing says otherwise. The error names the manifest by its index. It is that of Compile, or
// ReasonCRDRejected. Manifests before the one with an error are added.
func (s *Set) Add(ctx context.Context, o Options, manifests ...Document) error {
	s.limits = o.Limits
	if o.Existing == nil {
		o.Existing = s.existing
	}
	for i := range manifests {
		d, report, err := Compile(ctx, manifests[i], o)
		if err == nil && d == nil {
			err = &Error{
				Reason: ReasonCRDRejected, Message: report.Rejection.Message, Rejection: report.Rejection,
				Violations: report.Violations, Warnings: report.Warnings,
			}
		}
		if err != nil {
			return about(fmt.Sprintf("manifests[%d]", i), err)
		}
		s.AddDefinition(d)
	}
	return nil
}

// about returns an Error with a text before its message.
func about(what string, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	other := *e
	other.Message = what + ": " + e.Message
	return &other
}

// AddDefinition adds a Definition. It replaces one of the same group and kind.
func (s *Set) AddDefinition(d *Definition) {
	if s.definitions == nil {
		s.definitions = map[schema.GroupKind]*Definition{}
	}
	s.definitions[schema.GroupKind{Group: d.Group(), Kind: d.Kind()}] = d
}

func (s *Set) existing(name string) *Existing {
	for _, d := range s.definitions {
		if d.Name() == name {
			return &Existing{Manifest: d.Manifest(), Generation: 1, Terminating: d.Terminating()}
		}
	}
	return nil
}

// Definitions returns all Definitions, sorted by name.
func (s *Set) Definitions() []*Definition {
	return slices.SortedFunc(maps.Values(s.definitions), func(a, b *Definition) int {
		return strings.Compare(a.Name(), b.Name())
	})
}

// Find returns the Definition of an apiVersion and a kind, or nil. The version need not be one of the CRD's.
func (s *Set) Find(apiVersion, kind string) *Definition {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return nil // of the legacy API group, which has no CRDs
	}
	return s.definitions[schema.GroupKind{Group: group, Kind: kind}]
}

// Validate is Definition.Validate with the Definition of the object. The error is ReasonCRDNotFound for an object without one.
func (s *Set) Validate(ctx context.Context, w Write, o ValidateOptions) (*Verdict, error) {
	d, err := s.of(w)
	if err != nil {
		return nil, err
	}
	return d.Validate(ctx, w, o)
}

// Admit is Definition.Admit with the Definition of the object. The error is ReasonCRDNotFound for an object without one.
func (s *Set) Admit(ctx context.Context, w Write, o AdmitOptions) (*Verdict, error) {
	d, err := s.of(w)
	if err != nil {
		return nil, err
	}
	return d.Admit(ctx, w, o)
}

// of returns the Definition of a write.
func (s *Set) of(w Write) (*Definition, error) {
	apiVersion, kind, err := typed(w).TypeMeta(s.limits)
	if err != nil || apiVersion == "" || kind == "" {
		if invalid := setWrite(&admission.Request{}, w); invalid != nil { // it says more about a write without a document
			err = publicError(invalid)
		}
	}
	if err != nil {
		return nil, err
	}
	d := s.Find(apiVersion, kind)
	switch {
	case d == nil && (apiVersion == "" || kind == ""):
		return nil, &Error{Reason: ReasonCRDNotFound,
			Message: "the document lacks apiVersion or kind, which select its CRD: set both"}
	case d == nil:
		return nil, &Error{Reason: ReasonCRDNotFound, Message: fmt.Sprintf(
			"no CRD has objects of apiVersion %q and kind %q: add it to the set", apiVersion, kind)}
	}
	return d, nil
}
