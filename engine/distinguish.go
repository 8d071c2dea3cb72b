package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/compare"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/search"
	"github.com/crdeval/crdeval/engine/internal/solve"
	"github.com/crdeval/crdeval/engine/internal/violation"
	"github.com/crdeval/crdeval/engine/value"
)

// DefaultTries is the default of DistinguishOptions.Tries.
const DefaultTries = 1000

// DistinguishOptions select the objects that Distinguish looks for.
type DistinguishOptions struct {
	// Version is the version of the objects. Default: the storage version of the first Definition.
	Version string
	// Tries bounds the writes that are evaluated until an object is found. 0 is DefaultTries.
	Tries int
	// Seed selects the generated objects. Equal seeds give equal results.
	Seed uint64
	// Either says that any of the two Definitions can be the one that accepts the object. By default, it is the first.
	Either bool
	// Update looks for an update. The first Definition accepts the creation of the old object; with Either, one of the
	// two does.
	Update bool
	// Subresource is "", or "status" for updates of the status. The object without its status is created first.
	Subresource string
	// FieldValidation is how both handle unknown fields. With FieldValidationStrict, an unknown field rejects an object.
	FieldValidation FieldValidation
	// Pointers are JSON pointers of keywords in the schemas. One of the Definitions rejects the object because of one of
	// them. Default: the differences that Compare finds. In this case, the object can be rejected for any reason.
	Pointers []string
	// witness is a value, as JSON, that is tried first at the pointers.
	witness []byte
	// defaults leaves out values that have a default in one of the two schemas.
	defaults bool
	// without, if not nil, is a third Definition that must accept the object: the second one without a change.
	without *Definition
	// ignored requires that both Definitions accept the object, and that the second one does not return a field at one of
	// the pointers.
	ignored bool
	// missing, if not "", says why the second Definition does not serve the writes of the first one.
	missing string
	// counts reports whether a reply has the rejection that an aim looks for. By default, a rejection has this property
	// if one of its violations is at one of Pointers. Without Pointers, every rejection has it.
	counts func(*search.Aim, *reply) bool
	// also, if not nil, is a third Definition that must reject the object, for any reason.
	also *Definition
	// anyReason accepts every rejection, even if there are Pointers.
	anyReason bool
}

// Distinction is an object that one Definition accepts and another rejects.
type Distinction struct {
	// Version is the version of the object.
	Version string
	// Object is JSON, with few fields and short values. OldObject is the stored old object of an update, nil for a
	// creation.
	Object, OldObject []byte
	// Subresource is the subresource that is written: "", "status" or "scale". For scale, Object is a Scale.
	Subresource string
	// A and B are the verdicts of the two Definitions. A version that is not served counts as a rejection with code 404.
	A, B *Verdict
	// Tries is the number of writes that were evaluated until the object was found.
	Tries   int
	ignored []string
	alone   *Verdict // of the second Definition, if B is the verdict of a third one
}

// Distinguish looks for a small object that one of two Definitions of a CRD accepts and the other rejects. It changes
// values at the differences between the schemas, and values that rules read. If no object is found, the result is nil.
// This does not prove that there is no such object. Validate returns both verdicts. The error is an *Error for an
// unknown version, or if the context ends.
func Distinguish(ctx context.Context, a, b *Definition, o DistinguishOptions) (_ *Distinction, err error) {
	defer Recover(&err)
	found, _, err := distinguish(ctx, a, b, o)
	return found, err
}

// distinguish implements Distinguish, and also returns the number of tries.
func distinguish(ctx context.Context, a, b *Definition, o DistinguishOptions) (*Distinction, int, error) {
	o.Version, o.Tries = cmp.Or(o.Version, a.StorageVersion()), cmp.Or(o.Tries, DefaultTries)
	if o.Tries < 0 {
		return nil, 0, invalid("Tries is %d: it must not be negative", o.Tries)
	}
	first, err := newSubject(a, &o)
	if err != nil {
		return nil, 0, err
	}
	second, err := newSubject(b, &o)
	if err != nil {
		return nil, 0, err
	}
	if o.missing != "" {
		second.version, second.missing = nil, o.missing
	}
	if first.version == nil && (second.version == nil || !o.Either) {
		return nil, 0, invalid("version %q is not a version of %s: it has %s", o.Version, a.Name(), versionNames(a))
	}
	aims, err := aimsAt(ctx, first, second, &o)
	if err != nil {
		return nil, 0, err
	}
	s := search.Search{Aims: aims, Update: o.Update, Tries: o.Tries, Seed: o.Seed}
	hints := &sample.Hint{}
	for _, aim := range aims {
		for _, rule := range aim.Rules {
			hints.AddExpression(rule)
		}
		for _, s := range aim.Also {
			if o.defaults && schema.HasValue(s.Default) {
				hints.AddValue(string(s.Default.Raw))
			}
		}
	}
	for _, sub := range []*subject{first, second} {
		if sub == first || o.Either {
			s.Generators = append(s.Generators, sub.generator(ctx, hints))
		}
	}
	goal := &goal{ctx: ctx, a: first, b: second, DistinguishOptions: &o, aims: aims}
	for of, to := range map[*Definition]**subject{o.also: &goal.third, o.without: &goal.reverted} {
		if of == nil {
			continue
		}
		if *to, err = newSubject(of, &o); err != nil {
			return nil, 0, err
		}
	}
	if o.defaults {
		s.Defaults = []*schema.Props{first.schema, second.schema}
	}
	return goal.run(&s)
}

// run runs a search, and returns the distinction that it finds and the number of tries.
func (g *goal) run(s *search.Search) (*Distinction, int, error) {
	s.Goal = g.answer
	if g.ignored {
		s.Goal = g.answerIgnored
	}
	result, err := s.Run()
	if err != nil || result.Pair.Object == nil {
		return nil, result.Tries, err
	}
	d := &Distinction{Version: g.a.name, Subresource: g.a.subresource, Tries: result.Tries}
	if d.OldObject, _, err = g.before(result.Pair); err != nil {
		return nil, result.Tries, err
	}
	d.Object = g.a.body(result.Pair)
	if g.ignored {
		d.ignored, err = g.lost(d.Object)
	}
	if err == nil {
		d.A, err = g.a.verdict(g.ctx, d)
	}
	if err == nil {
		d.B, err = g.b.verdict(g.ctx, d)
	}
	if err == nil && g.third != nil {
		d.alone = d.B
		d.B, err = g.third.verdict(g.ctx, d)
	}
	return d, d.Tries, err
}

func versionNames(d *Definition) string {
	names := make([]string, len(d.compiled.Versions))
	for i := range d.compiled.Versions {
		names[i] = d.compiled.Versions[i].Name
	}
	return strings.Join(names, ", ")
}

// aimsAt returns aims at the pointers. Without pointers, it returns aims at the differences of the subjects.
func aimsAt(ctx context.Context, a, b *subject, o *DistinguishOptions) (aims []search.Aim, err error) {
	pointers := o.Pointers
	if len(pointers) == 0 {
		nowhere := func(value.Path) *value.Position { return nil }
		found, err := compare.CRDs(ctx, a.crd, b.crd, compare.Options{Minor: LatestMinor, Most: compare.MaxChanges,
			OldPosition: nowhere, NewPosition: nowhere})
		if err != nil {
			return nil, failed(ReasonItemDeadline, "the call ended before the CRDs were compared", err)
		}
		for i := range found.Changes {
			if c := &found.Changes[i]; c.Version == o.Version && c.SchemaPointer != "" && c.Kind != "DocumentationChanged" {
				pointers = append(pointers, c.SchemaPointer)
			}
		}
	}
	for _, pointer := range pointers {
		aims = append(aims, newAims(a.schema, b.schema, pointer)...)
	}
	if witness, err := sample.Parse(o.witness); o.witness != nil && err == nil {
		for i := range aims {
			aims[i].Values = append(aims[i].Values, witness)
		}
	}
	return aims, nil
}

// newAims returns the aim at a pointer that is in one or both of two schemas. For a rule, all rules of its node in both
// schemas are read.
func newAims(a, b *schema.Props, pointer string) []search.Aim {
	var aim search.Aim
	if a == nil && b == nil && pointer == "" {
		a = &schema.Props{Type: "object"}
	}
	for _, s := range []*schema.Props{b, a} {
		if s == nil {
			continue
		}
		p := sample.PlaceAt(s, pointer)
		if p == nil {
			continue
		}
		if aim.Place == nil {
			aim.Place = p
		}
		aim.Also = append(aim.Also, p.Schema)
		if rule := p.Rule(); rule != "" && !slices.Contains(aim.Rules, rule) {
			aim.Rules = append(aim.Rules, rule)
		}
	}
	if aim.Place == nil {
		return nil
	}
	return []search.Aim{aim}
}

// subject is a Definition with what a search needs of a version.
type subject struct {
	*Definition
	crd        *compare.CRD
	name       string       // of the version
	version    *VersionInfo // nil if the CRD does not serve it
	schema     *schema.Props
	validation FieldValidation
	// subresource is the subresource that is written: "", "status" or "scale".
	subresource string
	// missing is the cause of rejections if version is nil.
	missing string
	stored  map[string][]byte // results of create, by its arguments
}

func newSubject(d *Definition, o *DistinguishOptions) (*subject, error) {
	m, err := definition.Decode(d.compiled.Manifest)
	if err != nil {
		return nil, failed(ReasonInternal, "CRD "+d.Name(), err)
	}
	s := &subject{Definition: d, crd: m.CRD, name: o.Version, validation: o.FieldValidation, subresource: o.Subresource,
		missing: "the version " + o.Version + " is not served", stored: map[string][]byte{}}
	if v := schema.Find(m.CRD, o.Version); v != nil {
		if s.schema = schema.Of(v); v.Served {
			s.version = d.compiled.Version(o.Version)
		}
	}
	return s, nil
}

// generator returns a generator of objects of the version.
func (s *subject) generator(ctx context.Context, hints ...*sample.Hint) *sample.Generator {
	g := sample.New(s.schema, sample.Options{APIVersion: s.Group() + "/" + s.name, Kind: s.Kind(),
		Namespaced: s.Scope() == NamespaceScoped, Hints: hints, Plain: true, Stopped: func() bool { return ctx.Err() != nil }})
	if solver := solve.New(s.schema, g); solver != nil {
		g.SetSolver(solver)
	}
	return g
}

// reply is the result of a write with a subject.
type reply struct {
	allowed bool
	faults  []sample.Fault
	// pointers are the schema pointers of the violations, in the order of faults. They are empty for faults that are not
	// violations.
	pointers []string
	unknown  []string // the texts of errors of strict decoding
	object   []byte   // what an allowed write stores, in the version of the request
}

// isAt reports whether one of the violations has a schema pointer, or one below it.
func (r *reply) isAt(pointer string) bool {
	return slices.ContainsFunc(r.pointers, func(p string) bool {
		rest, ok := strings.CutPrefix(p, pointer)
		return ok && (rest == "" || rest[0] == '/')
	})
}

// isAround reports whether one of the violations is one of a logical operator around a schema pointer.
func (r *reply) isAround(pointer string) bool {
	return slices.ContainsFunc(r.pointers, func(p string) bool {
		operator := p[strings.LastIndex(p, "/")+1:]
		return strings.HasPrefix(pointer, p+"/") && slices.Contains([]string{"allOf", "anyOf", "oneOf", "not"}, operator)
	})
}

// hasUnknownAt reports whether an unknown field is at a schema pointer or below it.
func (r *reply) hasUnknownAt(pointer string) bool {
	if len(r.unknown) == 0 || pointer == "" {
		return len(r.unknown) > 0
	}
	path := ""
	tokens := strings.Split(pointer, "/")
	for i := 1; i < len(tokens); i++ {
		switch tokens[i] {
		case "properties":
			if i++; i < len(tokens) {
				path += `\.` + regexp.QuoteMeta(value.UnescapePointer(tokens[i]))
			}
		case "items":
			path += `\[\d+\]`
		case "additionalProperties":
			path += `[.\[].+`
		}
	}
	field := regexp.MustCompile(`^unknown field "` + strings.TrimPrefix(path, `\.`) + `["\[.]`)
	return slices.ContainsFunc(r.unknown, field.MatchString)
}

// before returns the stored object that the write of a pair updates: nil for a creation. If its creation is rejected,
// it returns the reply to the creation.
func (s *subject) before(ctx context.Context, p search.Pair) (stored []byte, rejected *reply, err error) {
	o := p.Old
	if o == nil {
		o = p.Object
	}
	switch s.subresource {
	case "status":
		o = o.Without("status")
	case "":
		if p.Old == nil {
			return nil, nil, nil
		}
	}
	text := o.JSON()
	if stored, err = s.create(ctx, text, nil); err == nil && stored != nil && p.Old != nil && s.subresource == "status" {
		stored, err = s.create(ctx, p.Old.JSON(), stored)
	}
	if err == nil && stored == nil {
		rejected, err = s.write(ctx, text, nil)
	}
	return stored, rejected, err
}

// body returns the body of the write of a pair: the object, or a Scale with its replicas.
func (s *subject) body(p search.Pair) []byte {
	if s.subresource != "scale" {
		return p.Object.JSON()
	}
	replicas := "1"
	if scale := schema.ScaleOf(schema.Find(s.crd, s.name)); scale != nil {
		t := p.Object
		for name := range strings.SplitSeq(strings.TrimPrefix(scale.SpecReplicasPath, "."), ".") {
			if t = t.Get(name); t == nil {
				break
			}
		}
		if t != nil && t.Kind == value.Int {
			replicas = t.Text
		}
	}
	metadata := p.Object.Get("metadata")
	return fmt.Appendf(nil, `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":%s,"spec":{"replicas":%s}}`,
		metadata.JSON(), replicas)
}

// write evaluates a write, as an update of old unless that is nil.
func (s *subject) write(ctx context.Context, object, old []byte) (*reply, error) {
	return s.evaluate(ctx, object, old, false)
}

// evaluate is write. The reply has the stored object if wanted is true.
func (s *subject) evaluate(ctx context.Context, object, old []byte, wanted bool) (*reply, error) {
	if s.version == nil {
		return &reply{faults: []sample.Fault{{}}, pointers: []string{""}}, nil
	}
	out, err := s.compiled.Inner.Write(ctx, &admission.Request{Version: s.name, Body: object, Old: old, Limits: s.compiled.Limits,
		Handler: true, CompleteMetadata: old != nil, StrictApart: true, WantObject: wanted,
		Status: old != nil && s.subresource == "status", Scale: old != nil && s.subresource == "scale",
		FieldValidation: map[bool]FieldValidation{
			true: FieldValidationWarn, false: FieldValidationIgnore}[s.validation == FieldValidationStrict]})
	if err != nil {
		if fault := (*admission.Fault)(nil); errors.As(err, &fault) && fault.Code == admission.LimitExceeded {
			return &reply{faults: []sample.Fault{{}}, pointers: []string{""}}, nil
		}
		return nil, faultError(err)
	}
	r := &reply{allowed: out.Rejection == nil && len(out.Strict) == 0, object: out.Object}
	for i := range out.Violations {
		v := &out.Violations[i]
		if v.Step == violation.RulesSkipped {
			continue // it says that there are others
		}
		f := sample.Fault{Path: v.Path}
		if v.Rule != nil {
			f.Rule = v.Rule.Text
		}
		r.faults, r.pointers = append(r.faults, f), append(r.pointers, v.Schema)
	}
	for i := range out.Strict {
		r.unknown = append(r.unknown, out.Strict[i].Text)
		r.faults, r.pointers = append(r.faults, sample.Fault{}), append(r.pointers, "")
	}
	if !r.allowed && len(r.faults) == 0 {
		r.faults, r.pointers = []sample.Fault{{}}, []string{""}
	}
	return r, nil
}

// create returns the object that a write stores, with defaults and without a status that is a subresource. The write is
// a creation if old is nil, otherwise an update of old. If the write is rejected, create returns nil.
func (s *subject) create(ctx context.Context, object, old []byte) ([]byte, error) {
	key := string(object) + "\x00" + string(old)
	stored, known := s.stored[key]
	if known {
		return stored, nil
	}
	r, err := s.evaluate(ctx, object, old, true)
	if err != nil {
		return nil, err
	}
	if r.allowed {
		tree, err := sample.Parse(r.object)
		if err != nil {
			return nil, failed(ReasonInternal, "a stored object", err)
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

// verdict returns the public verdict on an object.
func (s *subject) verdict(ctx context.Context, d *Distinction) (*Verdict, error) {
	if s.version == nil {
		return &Verdict{Revision: s.Revision(), Rejection: &Rejection{
			Code: http.StatusNotFound, Reason: string(metav1.StatusReasonNotFound),
			Message: "the server could not find the requested resource", Cause: s.missing,
		}}, nil
	}
	item := Item{Version: d.Version, Object: JSON(d.Object), Subresource: d.Subresource}
	if d.OldObject != nil {
		item.OldObject = JSON(d.OldObject)
	}
	return s.Validate(ctx, item, EvaluationOptions{FieldValidation: s.validation, CompleteMetadata: d.OldObject != nil})
}

// goal is an object that one of two subjects accepts and the other rejects.
type goal struct {
	*DistinguishOptions
	ctx  context.Context
	a, b *subject
	// third is the subject of also, reverted that of without, or nil.
	third, reverted *subject
	aims            []search.Aim
}

func (g *goal) answer(p search.Pair) (out search.Answer, err error) {
	if err := g.ctx.Err(); err != nil {
		return out, publicError(compiled.TooLate(err))
	}
	old, rejected, err := g.before(p)
	if err != nil || rejected != nil {
		if rejected != nil && p.Old == nil {
			out.Faults = rejected.faults
		}
		return out, err
	}
	object := g.a.body(p)
	a, err := g.a.write(g.ctx, object, old)
	if err != nil {
		return out, err
	}
	b, err := g.b.write(g.ctx, object, old)
	if err != nil {
		return out, err
	}
	switch {
	case a.allowed && b.allowed:
	case a.allowed:
		out.Reached = g.isReason(b)
		for _, s := range []*subject{g.third, g.reverted} {
			if s == nil || !out.Reached {
				continue
			}
			r, err := s.write(g.ctx, object, old)
			if err != nil {
				return out, err
			}
			out.Reached = r.allowed == (s == g.reverted)
		}
	case b.allowed:
		out.Reached = g.Either && g.isReason(a)
		if !g.Either {
			out.Faults = a.faults
		}
	default:
		out.Faults, out.Near = g.common(a, b)
	}
	return out, nil
}

// answerIgnored is the goal for the option ignored: both subjects accept the object, and only the first one returns a
// field at an aim.
func (g *goal) answerIgnored(p search.Pair) (out search.Answer, err error) {
	if err := g.ctx.Err(); err != nil {
		return out, publicError(compiled.TooLate(err))
	}
	object := p.Object.JSON()
	for _, s := range []*subject{g.a, g.b} {
		r, err := s.write(g.ctx, object, nil)
		if err != nil || !r.allowed {
			if err == nil {
				out.Faults = r.faults
			}
			return out, err
		}
	}
	lost, err := g.lost(object)
	out.Reached = len(lost) > 0
	return out, err
}

// lost returns the fields at the aims that the first subject returns after a creation, and the second one does not.
func (g *goal) lost(object []byte) (fields []string, err error) {
	var results [2]*sample.Tree
	for i, s := range []*subject{g.a, g.b} {
		v, err := s.Admit(g.ctx, Item{Version: s.name, Object: JSON(object)},
			EvaluationOptions{FieldValidation: s.validation, CompleteMetadata: true})
		if err != nil || !v.Allowed {
			return nil, err
		}
		if results[i], err = sample.Parse(v.Object); err != nil {
			return nil, failed(ReasonInternal, "a stored object", err)
		}
	}
	for i := range g.aims {
		if path := g.aims[i].Path; results[0].Follow(path) != nil && results[1].Follow(path) == nil {
			fields = append(fields, fieldText(path))
		}
	}
	return fields, nil
}

// before returns what the write of a pair updates, like subject.before.
func (g *goal) before(p search.Pair) (stored []byte, rejected *reply, err error) {
	stored, rejected, err = g.a.before(g.ctx, p)
	if err == nil && rejected != nil && g.Either {
		stored, rejected, err = g.b.before(g.ctx, p)
	}
	return stored, rejected, err
}

// isReason reports whether a rejection is for a reason that counts.
func (g *goal) isReason(r *reply) bool {
	counts := g.counts
	if g.anyReason {
		return true
	}
	if counts == nil && len(g.Pointers) > 0 {
		counts = func(aim *search.Aim, r *reply) bool { return r.isAt(aim.Pointer()) }
	}
	return counts == nil || slices.ContainsFunc(g.aims, func(aim search.Aim) bool {
		return counts(&aim, r) || r.isAround(aim.Pointer())
	})
}

// common returns the faults to repair in an object that both subjects reject, and whether they reject it for different
// reasons.
func (g *goal) common(a, b *reply) (faults []sample.Fault, near bool) {
	same := func(x, y *sample.Fault, p, q string) bool {
		return x.Rule == y.Rule && (x.Rule != "" || p == q) && x.Path.Pointer() == y.Path.Pointer()
	}
	has := func(r *reply, f *sample.Fault, pointer string) bool {
		for i := range r.faults {
			if same(&r.faults[i], f, r.pointers[i], pointer) {
				return true
			}
		}
		return false
	}
	onlyB := false
	for i := range b.faults {
		onlyB = onlyB || !has(a, &b.faults[i], b.pointers[i])
	}
	if !g.Either {
		return a.faults, onlyB && g.isReason(b)
	}
	onlyA := false
	for i := range a.faults {
		if has(b, &a.faults[i], a.pointers[i]) {
			faults = append(faults, a.faults[i])
		} else {
			onlyA = true
		}
	}
	if len(faults) == 0 { // each has its own
		faults = a.faults
	}
	return faults, onlyA || onlyB
}
