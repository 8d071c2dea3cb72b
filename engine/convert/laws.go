package convert

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/laws"
	"github.com/crdeval/crdeval/engine/internal/lens"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// Law is the result of testing one law on generated objects.
type Law struct {
	// Law is the name of the law. docs/conversion.md describes the laws.
	Law string
	// Between is the version of the objects, and the version that they are converted to.
	Between [2]string
	// Objects is the number of objects that the law was tested on.
	Objects int
	// Counterexample is an object that breaks the law, or nil.
	Counterexample *Counterexample
	// Excepted reports whether the rules list the law under except.
	Excepted bool
	// Generated is the number of generated objects. Unconverted is the number of those that could not be converted, such
	// as objects that do not meet a precondition: the laws were tested on objects with other values instead. Failure is the
	// error of one of these conversions, or "". They are set for the law validity, and count for all laws.
	Generated, Unconverted int
	Failure                string
}

// Counterexample is a small object that breaks a law of conversions.
type Counterexample struct {
	// Text says what is wrong.
	Text string
	// Object is the object, Converted its conversion and Back the conversion back, as JSON, or nil.
	Object, Converted, Back []byte
}

// Test tests all laws of docs/conversion.md on n generated objects for each pair of versions and direction.
// Pairs with rules come first, then those that are converted through the hub. Equal seeds give equal results.
// Counterexamples are shrunk. The result is nil without accepted rules. If n is less than 1, the error is
// engine.ReasonInvalidArgument. Otherwise it is that of the context.
func Test(ctx context.Context, d *engine.Definition, n int, seed uint64) (_ []Law, err error) {
	defer host.Recover(&err)
	t := tester{compiled.Of(d)}
	if n < 1 {
		return nil, compiled.Error(compiled.Invalid("n is %d: test at least 1 object", n))
	}
	if t.Inner.Lenses == nil {
		return nil, nil
	}
	m, err := definition.Decode(t.Manifest)
	if err != nil {
		return nil, compiled.Error(compiled.Failed(admission.Internal, "CRD "+d.Name(), err))
	}
	versions, hints := map[string]*laws.Version{}, t.Inner.Lenses.Hints()
	for i := range m.CRD.Spec.Versions {
		v := &m.CRD.Spec.Versions[i]
		versions[v.Name] = &laws.Version{Name: v.Name, Judge: t.judge(v.Name), Generator: sample.New(schema.Of(v), sample.Options{
			APIVersion: d.Group() + "/" + v.Name, Kind: d.Kind(), Namespaced: d.Scope() == apiextensionsv1.NamespaceScoped,
			Hints: hints})}
	}
	var list []Law
	for _, direction := range t.directions() {
		from, to := direction[0], direction[1]
		results, err := laws.Test(ctx, t.Inner.Lenses, versions[from], versions[to], t.via(from, to), n, seed)
		if err != nil {
			return nil, compiled.Error(compiled.TooLate(err))
		}
		for _, r := range results {
			list = append(list, Law{Law: string(r.Law), Between: direction, Objects: r.Objects,
				Excepted: t.excepts(from, to, r.Law), Counterexample: (*Counterexample)(r.Counterexample),
				Generated: r.Generated, Unconverted: r.Unconverted, Failure: r.Failure})
		}
	}
	return list, nil
}

// tester tests the rules of a CRD.
type tester struct{ *compiled.Definition }

// directions returns the source and target of each conversion: first those with rules, then those through the hub.
func (t tester) directions() (all [][2]string) {
	all = t.Inner.Lenses.Pairs()
	for i := range t.Versions {
		for j := range t.Versions {
			if from, to := t.Versions[i].Name, t.Versions[j].Name; i != j && t.via(from, to) != "" {
				all = append(all, [2]string{from, to})
			}
		}
	}
	return all
}

// via returns the hub if conversions go through it, and "" if the pair has rules.
func (t tester) via(from, to string) string {
	if slices.Contains(t.Inner.Lenses.Pairs(), [2]string{from, to}) {
		return ""
	}
	return t.Inner.Lenses.Hub()
}

// excepts reports whether the rules of a conversion except a law. Through the hub, those of either half count.
func (t tester) excepts(from, to string, law lens.Law) bool {
	via := t.via(from, to)
	if via == "" {
		return t.Inner.Lenses.Excepts(from, to, law)
	}
	return t.Inner.Lenses.Excepts(from, via, law) || t.Inner.Lenses.Excepts(via, to, law)
}

// judge returns a function that validates objects of a version.
func (t tester) judge(version string) func(context.Context, []byte) (laws.Verdict, error) {
	return func(ctx context.Context, object []byte) (laws.Verdict, error) {
		out, err := t.Inner.Judge(ctx, &admission.Request{Version: version, Body: object, Limits: t.Limits, WantObject: true})
		if err != nil {
			return laws.Verdict{}, err
		}
		v := laws.Verdict{Object: out.Object}
		for _, found := range out.Violations {
			if found.Step == violation.RulesSkipped {
				continue // it says that there are others
			}
			f := sample.Fault{Path: found.Path, Text: found.Error.Error()}
			if found.Rule != nil {
				f.Rule = found.Rule.Text
			}
			v.Faults = append(v.Faults, f)
		}
		switch {
		case len(out.Violations) > 0:
			v.Text = out.Violations[0].Error.Error()
		case len(out.Unknown) > 0:
			v.Text = fmt.Sprintf("%s has no field %s", version, out.Unknown[0])
		}
		return v, nil
	}
}
