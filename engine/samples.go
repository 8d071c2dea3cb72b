package engine

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/crdeval/crdeval/engine/internal/compare"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/search"
	"github.com/crdeval/crdeval/engine/value"
)

// SampleOptions select the objects that Samples generates.
type SampleOptions struct {
	// Version is the version of the objects. Default: the storage version if it is served, else the served version with
	// the highest priority.
	Version string
	// Valid and Invalid are the maximum numbers of valid and of invalid objects.
	Valid, Invalid int
	// Seed selects the generated values. Equal seeds give equal results.
	Seed uint64
	// Tries bounds the writes that are evaluated for each invalid object. 0 is DefaultSampleTries. A rule with
	// optionalOldSelf gets as many again for updates.
	Tries int
	// Time bounds the generation. At its end, Samples returns the samples that it has. 0 is no bound.
	Time time.Duration
}

// DefaultSampleTries is the default of SampleOptions.Tries.
const DefaultSampleTries = 400

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
	Unsatisfied []Violation
	Closest     []byte
	// Stopped reports that the generation ended at SampleOptions.Time. Further samples may exist.
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
	Verdict *Verdict
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

// Samples generates valid objects, and invalid objects that each violate one constraint of the schema. Every object was
// evaluated by Validate. Equal options give equal results, unless the generation is stopped. The error is an *Error for
// an unknown version, or if the context ends.
func (d *Definition) Samples(ctx context.Context, o SampleOptions) (_ *Samples, err error) {
	defer Recover(&err)
	o.Tries = cmp.Or(o.Tries, DefaultSampleTries)
	if o.Version == "" {
		o.Version = d.sampleVersion()
	}
	if o.Tries < 0 || o.Valid < 0 || o.Invalid < 0 || o.Time < 0 {
		return nil, invalid("Valid, Invalid, Tries and Time must not be negative")
	}
	inner, cancel := ctx, func() {}
	if o.Time > 0 {
		inner, cancel = context.WithTimeout(ctx, o.Time)
	}
	defer cancel()
	if _, err := d.served(o.Version); err != nil {
		return nil, err
	}
	sub, err := newSubject(d, &DistinguishOptions{Version: o.Version, FieldValidation: FieldValidationStrict})
	if err != nil {
		return nil, err
	}
	s := &sampler{ctx: inner, subject: sub, options: &o, objects: sub.generator(inner), out: &Samples{Version: o.Version}}
	if sub.version.HasStatus {
		status := *sub
		status.subresource, status.stored = "status", map[string][]byte{}
		s.status = &status
	}
	if err = s.valid(); err == nil {
		err = s.invalid()
	}
	if s.out.Stopped = err != nil && inner.Err() != nil && ctx.Err() == nil; err != nil && !s.out.Stopped {
		return nil, err
	}
	if len(s.out.Valid) > 0 {
		s.out.Unsatisfied, s.out.Closest = nil, nil
	}
	s.out.Valid = s.out.Valid[:min(o.Valid, len(s.out.Valid))]
	return s.out, nil
}

// sampleVersion returns the default version of samples.
func (d *Definition) sampleVersion() string {
	if v := d.compiled.Version(d.StorageVersion()); v != nil && v.Served {
		return v.Name
	}
	for i := range d.compiled.Versions {
		if d.compiled.Versions[i].Served {
			return d.compiled.Versions[i].Name
		}
	}
	return d.StorageVersion()
}

// sampler generates the samples of a version.
type sampler struct {
	*subject
	status  *subject // writes the status; nil if it is not a subresource
	ctx     context.Context
	options *SampleOptions
	out     *Samples
	objects *sample.Generator
	bases   []*sample.Tree
}

// faults returns the faults of an object that is created. If its status is a subresource, these include the faults of
// a write of this status after the creation. The error is that of the context, or another *Error.
func (s *sampler) faults(o *sample.Tree) ([]sample.Fault, error) {
	object := o.JSON()
	if err := s.ctx.Err(); err != nil {
		return nil, publicError(compiled.TooLate(err))
	}
	r, err := s.evaluate(s.ctx, object, nil, s.status != nil)
	if err == nil && r.allowed && s.status != nil {
		r, err = s.status.write(s.ctx, object, r.object)
	}
	if err != nil || r.allowed {
		return nil, err
	}
	return r.faults, nil
}

// mostValidTries bounds the writes that are evaluated for one valid object. They are more until the first one is found.
const mostValidTries = 600

// valid adds the valid objects.
func (s *sampler) valid() error {
	g, seen := s.objects, map[string]bool{}
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
		if err := s.add(s.ctx, &s.out.Valid, search.Pair{Object: o}, nil); err != nil {
			return err
		}
	}
	return nil
}

// closest records an object with violations.
func (s *sampler) closest(o *sample.Tree) error {
	var list []Sample
	if err := s.add(s.ctx, &list, search.Pair{Object: o}, nil); err != nil {
		return err
	}
	s.out.Closest, s.out.Unsatisfied = list[0].Object, list[0].Verdict.Violations
	return nil
}

// rename gives an object a name that ends in a suffix, unless that changes whether it is valid.
func (s *sampler) rename(o *sample.Tree, suffix string) error {
	name, now := o.Get("metadata").Get("name"), strings.ToLower(s.Kind())+"-"+suffix
	before := name.Text
	name.Text = `"` + now + `"`
	faults, err := s.faults(o)
	if err == nil && len(faults) > 0 {
		name.Text = before
	}
	return err
}

// renamePair is rename for a pair that violates a constraint in a write with a subject.
func (s *sampler) renamePair(sub *subject, c *search.Constraint, p search.Pair, suffix string) error {
	name := `"` + strings.ToLower(s.Kind()) + "-" + suffix + `"`
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
	a, err := sub.violates(s.ctx, c, p)
	if err == nil && !a.Reached {
		set(before)
	}
	return err
}

// add adds a pair to a list, with the verdict on its write.
func (s *subject) add(ctx context.Context, list *[]Sample, p search.Pair, c *Constraint) (err error) {
	one := Sample{Object: p.Object.JSON(), Subresource: s.subresource, Constraint: c}
	if one.OldObject, _, err = s.before(ctx, p); err != nil {
		return err
	}
	one.Verdict, err = s.verdict(ctx, &Distinction{Version: s.name, Object: one.Object, OldObject: one.OldObject,
		Subresource: s.subresource})
	if err == nil {
		*list = append(*list, one)
	}
	return err
}

// invalid adds the invalid objects.
func (s *sampler) invalid() error {
	if s.options.Invalid == 0 || len(s.bases) == 0 || s.schema == nil {
		return nil
	}
	list := search.Constraints(s.schema, "apiVersion", "kind", "metadata")
	for i := range list {
		if len(s.out.Invalid) == s.options.Invalid {
			break
		}
		c := &list[i]
		public := Constraint{Kind: c.Kind, Field: fieldText(c.Path), SchemaPointer: c.Pointer(), Name: c.Name, Rule: c.Rule()}
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
		if err := sub.add(s.ctx, &s.out.Invalid, pair, &public); err != nil {
			return err
		}
	}
	return nil
}

// fieldText returns a path as in Kubernetes' field errors.
func fieldText(path value.Path) string {
	text := ""
	for _, step := range path {
		switch {
		case step.IsIndex():
			text += "[0]"
		case text == "":
			text = step.Key()
		default:
			text += "." + step.Key()
		}
	}
	return text
}

// breaking returns a pair that violates only a constraint, with the subject of the write, or no object.
func (s *sampler) breaking(c *search.Constraint) (search.Pair, *subject, error) {
	updates := []bool{false}
	for i := range c.Schema.XValidations {
		if rule := &c.Schema.XValidations[i]; rule.Rule == c.Rule() {
			updates = compare.WritesFor(rule)
		}
	}
	subjects := []*subject{s.subject}
	if s.status != nil && c.ConcernsStatus() {
		if subjects = append(subjects, s.status); len(c.Path) > 0 {
			subjects = subjects[1:] // creations drop the status
		}
	}
	for _, sub := range subjects {
		for _, update := range updates {
			run := search.Search{
				Generators: []*sample.Generator{s.objects}, Aims: []search.Aim{c.Aim}, Bases: s.bases, Update: update,
				Tries: s.options.Tries, Seed: s.options.Seed,
				Goal: func(p search.Pair) (search.Answer, error) { return sub.violates(s.ctx, c, p) },
			}
			result, err := run.Run()
			if err != nil || result.Pair.Object != nil {
				return result.Pair, sub, err
			}
		}
	}
	return search.Pair{}, nil, nil
}

// violates reports whether the write of a pair violates only a constraint.
func (s *subject) violates(ctx context.Context, c *search.Constraint, p search.Pair) (out search.Answer, err error) {
	if err := ctx.Err(); err != nil {
		return out, publicError(compiled.TooLate(err))
	}
	old, rejected, err := s.before(ctx, p)
	if err != nil || rejected != nil {
		if rejected != nil && p.Old == nil {
			out.Faults = rejected.faults
		}
		return out, err
	}
	r, err := s.write(ctx, p.Object.JSON(), old)
	if err != nil || r.allowed {
		return out, err
	}
	hits := 0
	for i := range r.faults {
		switch {
		case isOf(c, r, i):
			hits++
		case !c.Implies(r.pointers[i]):
			out.Faults = append(out.Faults, r.faults[i])
		}
	}
	out.Near = hits > 0
	out.Reached = hits == 1 && len(out.Faults) == 0
	return out, nil
}

// isOf reports whether a fault of a reply is the violation of a constraint.
func isOf(c *search.Constraint, r *reply, i int) bool {
	f := &r.faults[i]
	switch {
	case c.Kind == search.Unknown:
		n := len(r.faults) - len(r.unknown) // the unknown fields come last
		name := fieldText(c.Path)
		if name != "" {
			name += "."
		}
		return i >= n && r.unknown[i-n] == `unknown field "`+name+sample.UnknownName+`"`
	case r.pointers[i] != c.Pointer():
		return false
	case c.Name != "":
		return len(f.Path) > 0 && f.Path[len(f.Path)-1].Key() == c.Name
	}
	return true
}
