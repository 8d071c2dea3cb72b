package goal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/compare"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/search"
	"github.com/crdeval/crdeval/engine/internal/solve"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// Write selects the writes of a search.
type Write struct {
	// Version is the version of the objects.
	Version string
	// Subresource is the subresource that is written: "", "status" or "scale".
	Subresource string
	// Strict rejects unknown and duplicate fields. Otherwise they are ignored.
	Strict bool
}

// Subject evaluates generated writes with a version of a CRD. It is not safe for concurrent use.
type Subject struct {
	Write
	// Served is the version of the write, nil if the CRD does not serve it.
	Served *definition.VersionInfo
	// Schema is the schema of the version, nil without one.
	Schema *schema.Props

	definition *compiled.Definition
	crd        *compare.CRD
	stored     map[string][]byte // results of create, by its arguments
}

// New returns a Subject.
func New(d *compiled.Definition, w Write) (*Subject, error) {
	m, err := definition.Decode(d.Manifest)
	if err != nil {
		return nil, compiled.Failed(admission.Internal, "CRD "+d.Inner.Name, err)
	}
	s := &Subject{Write: w, definition: d, crd: m.CRD, stored: map[string][]byte{}}
	if v := schema.Find(m.CRD, w.Version); v != nil {
		if s.Schema = schema.Of(v); v.Served {
			s.Served = d.Version(w.Version)
		}
	}
	return s, nil
}

// WithStatus returns the Subject for writes of the subresource status, nil if the version does not have it.
func (s *Subject) WithStatus() *Subject {
	if s.Served == nil || !s.Served.HasStatus {
		return nil
	}
	status := *s
	status.Subresource, status.stored = "status", map[string][]byte{}
	return &status
}

// Generator returns a generator of objects of the version. It stops at the end of the context.
func (s *Subject) Generator(ctx context.Context, hints ...*sample.Hint) *sample.Generator {
	d := s.definition
	g := sample.New(s.Schema, sample.Options{APIVersion: d.Inner.Group + "/" + s.Version, Kind: d.Inner.Kind,
		Namespaced: d.Scope == apiextensionsv1.NamespaceScoped, Hints: hints, Plain: true,
		Stopped: func() bool { return ctx.Err() != nil }})
	if solver := solve.New(s.Schema, g); solver != nil {
		g.SetSolver(solver)
	}
	return g
}

// Before returns the stored object that the write of a pair updates: nil for a creation. If its creation is rejected,
// it returns the reply to the creation.
func (s *Subject) Before(ctx context.Context, p search.Pair) (stored []byte, rejected *Reply, err error) {
	o := p.Old
	if o == nil {
		o = p.Object
	}
	switch s.Subresource {
	case "status":
		o = o.Without("status")
	case "":
		if p.Old == nil {
			return nil, nil, nil
		}
	}
	text := o.JSON()
	if stored, err = s.create(ctx, text, nil); err == nil && stored != nil && p.Old != nil && s.Subresource == "status" {
		stored, err = s.create(ctx, p.Old.JSON(), stored)
	}
	if err == nil && stored == nil {
		rejected, err = s.write(ctx, text, nil)
	}
	return stored, rejected, err
}

// body returns the body of the write of a pair: the object, or a Scale with its replicas.
func (s *Subject) body(p search.Pair) []byte {
	if s.Subresource != "scale" {
		return p.Object.JSON()
	}
	replicas := "1"
	if scale := schema.ScaleOf(schema.Find(s.crd, s.Version)); scale != nil {
		t := p.Object
		for name := range strings.SplitSeq(strings.TrimPrefix(scale.SpecReplicasPath, "."), ".") {
			if t = t.Get(name); t == nil {
				break
			}
		}
		if t != nil && t.Kind == tree.Int {
			replicas = t.Text
		}
	}
	metadata := p.Object.Get("metadata")
	return fmt.Appendf(nil, `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":%s,"spec":{"replicas":%s}}`,
		metadata.JSON(), replicas)
}

// write evaluates a write, as an update of old unless that is nil.
func (s *Subject) write(ctx context.Context, object, old []byte) (*Reply, error) {
	return s.evaluate(ctx, object, old, false)
}

// evaluate is write. The reply has the stored object if wanted is true.
func (s *Subject) evaluate(ctx context.Context, object, old []byte, wanted bool) (*Reply, error) {
	if s.Served == nil {
		return &Reply{Faults: []sample.Fault{{}}, Pointers: []string{""}}, nil
	}
	out, err := s.definition.Inner.Write(ctx, &admission.Request{Version: s.Version, Body: object, Old: old, Limits: s.definition.Limits,
		Handler: true, CompleteMetadata: old != nil, StrictApart: true, WantObject: wanted,
		Status: old != nil && s.Subresource == "status", Scale: old != nil && s.Subresource == "scale",
		FieldValidation: map[bool]admission.FieldValidation{true: admission.Warn, false: admission.Ignore}[s.Strict]})
	if err != nil {
		if fault := (*admission.Fault)(nil); errors.As(err, &fault) && fault.Code == admission.LimitExceeded {
			return &Reply{Faults: []sample.Fault{{}}, Pointers: []string{""}}, nil
		}
		return nil, err
	}
	r := &Reply{Allowed: out.Rejection == nil && len(out.Strict) == 0, object: out.Object}
	for i := range out.Violations {
		v := &out.Violations[i]
		if v.Step == violation.RulesSkipped {
			continue // it says that there are others
		}
		f := sample.Fault{Path: v.Path}
		if v.Rule != nil {
			f.Rule = v.Rule.Text
		}
		r.Faults, r.Pointers = append(r.Faults, f), append(r.Pointers, v.Schema)
	}
	for i := range out.Strict {
		r.Unknown = append(r.Unknown, out.Strict[i].Text)
		r.Faults, r.Pointers = append(r.Faults, sample.Fault{}), append(r.Pointers, "")
	}
	if !r.Allowed && len(r.Faults) == 0 {
		r.Faults, r.Pointers = []sample.Fault{{}}, []string{""}
	}
	return r, nil
}

// create returns the object that a write stores, with defaults and without a status that is a subresource. The write is
// a creation if old is nil, otherwise an update of old. If the write is rejected, create returns nil.
func (s *Subject) create(ctx context.Context, object, old []byte) ([]byte, error) {
	key := string(object) + "\x00" + string(old)
	stored, known := s.stored[key]
	if known {
		return stored, nil
	}
	r, err := s.evaluate(ctx, object, old, true)
	if err != nil {
		return nil, err
	}
	if r.Allowed {
		tree, err := sample.Parse(r.object)
		if err != nil {
			return nil, compiled.Failed(admission.Internal, "a stored object", err)
		}
		if m := tree.Get("metadata"); m != nil { // every new object gets the same values
			*m = *m.Without("generation").Without("resourceVersion")
		}
		stored = tree.JSON()
	}
	if len(s.stored) > 1<<10 {
		clear(s.stored)
	}
	s.stored[key] = stored
	return stored, nil
}

// admit returns the object that a client gets back from a creation, after its conversion to the storage version and
// back. It is nil if the creation is rejected.
func (s *Subject) admit(ctx context.Context, object []byte) ([]byte, error) {
	strict := admission.Ignore
	if s.Strict {
		strict = admission.Strict
	}
	out, err := s.definition.Inner.Admit(ctx, &admission.Request{Version: s.Version, Body: object,
		Limits: s.definition.Limits, Handler: true, CompleteMetadata: true, WantObject: true, FieldValidation: strict})
	if err != nil || out.Rejection != nil {
		return nil, err
	}
	return out.Object, nil
}
