package suite

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/compare"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/goal"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/search"
)

// GenerateOptions select the objects that Generate generates.
type GenerateOptions struct {
	// Version is the version of the objects. Default: the storage version if it is served, else the served version with
	// the highest priority.
	Version string
	// Valid and Invalid are the maximum numbers of valid and of invalid objects.
	Valid, Invalid int
	// Seed selects the generated values. Equal seeds give equal results.
	Seed uint64
	// Tries bounds the writes that are evaluated for each invalid object. 0 is DefaultTries. A rule with
	// optionalOldSelf gets as many again for updates.
	Tries int
	// Time bounds the generation. At its end, Generate returns the samples that it has. 0 is no bound.
	Time time.Duration
}

// DefaultTries is the default of GenerateOptions.Tries.
const DefaultTries = 400

// check returns the Fault of an invalid option, or nil.
func (o *GenerateOptions) check() error {
	return cmp.Or(compiled.NotNegative("Valid", o.Valid), compiled.NotNegative("Invalid", o.Invalid),
		compiled.NotNegative("Tries", o.Tries), compiled.NotNegative("Time", o.Time))
}

// Samples are generated objects of one version of a CRD.
type Samples struct {
	Version string // of the CRD
	// Valid are accepted with strict field validation. The first object has few fields, the second has as many fields as
	// possible.
	Valid []Sample
	// Invalid are rejected. Each violates exactly one constraint.
	Invalid []Sample
	// Unbroken are constraints for which no invalid object was found. For example, if a constraint implies another one, no
	// object violates only the implied one.
	Unbroken []Constraint
	// Closest is the object with the fewest violations if no valid object was found, else nil. Unsatisfied are its
	// violations.
	Unsatisfied []engine.Violation
	Closest     []byte
	// Stopped reports that the generation ended at GenerateOptions.Time. Further samples may exist.
	Stopped bool
}

// Sample is a generated object with its verdict.
type Sample struct {
	// Object is JSON. OldObject is the stored old object of an update, nil for a creation. To violate a rule that reads oldSelf,
	// an update is necessary.
	Object, OldObject []byte
	// Subresource is "status" for an update of the subresource status, else "".
	Subresource string
	// Verdict is the result of Validate with strict field validation.
	Verdict *engine.Verdict
	// Constraint is the constraint that an invalid object violates, nil for a valid object.
	Constraint *Constraint
}

// Constraint is a requirement of a schema: a keyword, a rule, or that there are no unknown fields.
type Constraint struct {
	// Kind is the keyword of the schema; "rule" for a rule; "unknown field" for members that the schema does not declare.
	Kind string
	// Field is the path of the values: spec.jobs[0].name. [0] stands for the elements of a list, [a] for the values of a
	// map.
	Field string
	// SchemaPointer is the JSON pointer of the keyword in the version's openAPIV3Schema, or that of the schema for an
	// unknown field.
	SchemaPointer string
	// Name is the field that required demands. Rule is the text of a rule.
	Name, Rule string
}

// String describes the constraint in a few words.
func (c Constraint) String() string {
	field := cmp.Or(c.Field, "the object")
	switch {
	case c.Name != "":
		return fmt.Sprintf("%s: required %s", field, c.Name)
	case c.Rule != "":
		return fmt.Sprintf("%s: rule %s", field, c.Rule)
	}
	return fmt.Sprintf("%s: %s", field, c.Kind)
}

// Generate generates valid objects, and invalid objects that each violate one constraint of the schema. Every object was
// evaluated by Validate. Equal options give equal results, unless the generation is stopped. The error is an
// *engine.Error for an unknown version, or if the context ends.
func Generate(ctx context.Context, d *engine.Definition, o GenerateOptions) (_ *Samples, err error) {
	defer host.Recover(&err)
	of := compiled.Of(d)
	o.Tries, o.Version = cmp.Or(o.Tries, DefaultTries), cmp.Or(o.Version, of.DefaultVersion())
	if err := o.check(); err != nil {
		return nil, compiled.Error(err)
	}
	inner, cancel := ctx, func() {}
	if o.Time > 0 {
		inner, cancel = context.WithTimeout(ctx, o.Time)
	}
	defer cancel()
	if _, err := of.Served(o.Version); err != nil {
		return nil, compiled.Error(err)
	}
	objects, err := goal.New(of, goal.Write{Version: o.Version, Strict: true})
	if err != nil {
		return nil, compiled.Error(err)
	}
	s := &sampler{ctx: inner, definition: d, subject: objects, status: objects.WithStatus(), options: &o,
		generator: objects.Generator(inner), out: &Samples{Version: o.Version}}
	if err = s.valid(); err == nil {
		err = s.invalid()
	}
	if s.out.Stopped = err != nil && inner.Err() != nil && ctx.Err() == nil; err != nil && !s.out.Stopped {
		return nil, compiled.Error(err)
	}
	if len(s.out.Valid) > 0 {
		s.out.Unsatisfied, s.out.Closest = nil, nil
	}
	s.out.Valid = s.out.Valid[:min(o.Valid, len(s.out.Valid))]
	return s.out, nil
}

// sampler generates the samples of a version.
type sampler struct {
	ctx        context.Context
	definition *engine.Definition
	subject    *goal.Subject
	status     *goal.Subject // writes the status; nil if it is not a subresource
	options    *GenerateOptions
	out        *Samples
	generator  *sample.Generator
	bases      []*sample.Tree
}

// faults returns the faults of an object that is created, and of a write of its status.
func (s *sampler) faults(o *sample.Tree) ([]sample.Fault, error) {
	return s.subject.Valid(s.ctx, o, s.status)
}

// mostValidTries bounds the writes that are evaluated for one valid object. They are more until the first one is found.
const mostValidTries = 600

// valid adds the valid objects.
func (s *sampler) valid() error {
	g, seen := s.generator, map[string]bool{}
	count := max(s.options.Valid, 1) // the invalid ones need one
	for n := 0; len(s.out.Valid) < count && n < 4*count; n++ {
		run := search.Valid(g, s.options.Seed+uint64(n)<<32, s.faults)
		if run.Tries = mostValidTries; n > 0 && len(s.out.Valid) == 0 {
			run.Tries *= 4
		}
		switch n {
		case 0:
			run.Make, run.Shrink = g.Least, search.Parts
		case 1:
			run.Make = g.Full
		}
		result, err := run.Run()
		o := result.Pair.Object
		switch {
		case err != nil:
			return err
		case o == nil:
			if len(s.out.Valid) == 0 && (s.out.Closest == nil || len(result.Faults) < len(s.out.Unsatisfied)) {
				if err := s.closest(result.Nearest); err != nil {
					return err
				}
			}
			continue
		}
		if err := s.rename(o, fmt.Sprintf("valid-%d", len(s.out.Valid)+1)); err != nil {
			return err
		}
		body, _ := o.Body()
		if text := string(body.JSON()); seen[text] {
			continue
		} else {
			seen[text] = true
		}
		s.bases = append(s.bases, o)
		if err := s.add(&s.out.Valid, s.subject, search.Pair{Object: o}, nil); err != nil {
			return err
		}
	}
	return nil
}

// closest records an object with violations.
func (s *sampler) closest(o *sample.Tree) error {
	var list []Sample
	if err := s.add(&list, s.subject, search.Pair{Object: o}, nil); err != nil {
		return err
	}
	s.out.Closest, s.out.Unsatisfied = list[0].Object, list[0].Verdict.Violations
	return nil
}

// rename gives an object a name that ends in a suffix, unless that changes whether it is valid.
func (s *sampler) rename(o *sample.Tree, suffix string) error {
	name, now := o.Get("metadata").Get("name"), strings.ToLower(s.definition.Kind())+"-"+suffix
	before := name.Text
	name.Text = `"` + now + `"`
	faults, err := s.faults(o)
	if err == nil && len(faults) > 0 {
		name.Text = before
	}
	return err
}

// renamePair is rename for a pair that violates a constraint in a write with a subject.
func (s *sampler) renamePair(sub *goal.Subject, c *search.Constraint, p search.Pair, suffix string) error {
	name := `"` + strings.ToLower(s.definition.Kind()) + "-" + suffix + `"`
	objects := []*sample.Tree{p.Object, p.Old}
	before := p.Object.Get("metadata").Get("name").Text
	set := func(text string) {
		for _, o := range objects {
			if o != nil {
				o.Get("metadata").Get("name").Text = text
			}
		}
	}
	set(name)
	a, err := sub.Violates(s.ctx, c, p)
	if err == nil && !a.Reached {
		set(before)
	}
	return err
}

// add adds a pair to a list, with the verdict on its write by a subject.
func (s *sampler) add(list *[]Sample, sub *goal.Subject, p search.Pair, c *Constraint) (err error) {
	one := Sample{Object: p.Object.JSON(), Subresource: sub.Subresource, Constraint: c}
	if one.OldObject, _, err = sub.Before(s.ctx, p); err != nil {
		return err
	}
	var w engine.Write = engine.Create{Version: sub.Version, Object: engine.JSON(one.Object)}
	if one.OldObject != nil {
		w = engine.Update{
			Version: sub.Version, Object: engine.JSON(one.Object), Old: engine.JSON(one.OldObject), Subresource: sub.Subresource,
		}
	}
	one.Verdict, err = s.definition.Validate(s.ctx, w, engine.ValidateOptions{
		FieldValidation: engine.FieldValidationStrict, CompleteMetadata: one.OldObject != nil})
	if err == nil {
		*list = append(*list, one)
	}
	return err
}

// invalid adds the invalid objects.
func (s *sampler) invalid() error {
	if s.options.Invalid == 0 || len(s.bases) == 0 || s.subject.Schema == nil {
		return nil
	}
	list := search.Constraints(s.subject.Schema, "apiVersion", "kind", "metadata")
	for i := range list {
		if len(s.out.Invalid) == s.options.Invalid {
			break
		}
		c := &list[i]
		public := Constraint{Kind: c.Kind, Field: c.Path.Dotted(), SchemaPointer: c.Pointer(), Name: c.Name, Rule: c.Rule()}
		pair, sub, err := s.breaking(c)
		switch {
		case err != nil:
			return err
		case pair.Object == nil:
			s.out.Unbroken = append(s.out.Unbroken, public)
			continue
		}
		if err := s.renamePair(sub, c, pair, fmt.Sprintf("invalid-%d", len(s.out.Invalid)+1)); err != nil {
			return err
		}
		if err := s.add(&s.out.Invalid, sub, pair, &public); err != nil {
			return err
		}
	}
	return nil
}

// breaking returns a pair that violates only a constraint, with the subject of the write, or no object.
func (s *sampler) breaking(c *search.Constraint) (search.Pair, *goal.Subject, error) {
	updates := []bool{false}
	for i := range c.Schema.XValidations {
		if rule := &c.Schema.XValidations[i]; rule.Rule == c.Rule() {
			updates = compare.WritesFor(rule)
		}
	}
	subjects := []*goal.Subject{s.subject}
	if s.status != nil && c.ConcernsStatus() {
		if subjects = append(subjects, s.status); len(c.Path) > 0 {
			subjects = subjects[1:] // creations drop the status
		}
	}
	for _, sub := range subjects {
		for _, update := range updates {
			run := search.Search{
				Generators: []*sample.Generator{s.generator}, Aims: []search.Aim{c.Aim}, Bases: s.bases, Update: update,
				Tries: s.options.Tries, Seed: s.options.Seed,
				Goal: func(p search.Pair) (search.Answer, error) { return sub.Violates(s.ctx, c, p) },
			}
			result, err := run.Run()
			if err != nil || result.Pair.Object != nil {
				return result.Pair, sub, err
			}
		}
	}
	return search.Pair{}, nil, nil
}
