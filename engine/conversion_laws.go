package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/laws"
	"github.com/crdeval/crdeval/engine/internal/lens"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// TestConversion tests all laws of docs/conversion.md on n generated objects for each pair of versions and direction.
// Pairs with rules come first, then those that are converted through the hub. Equal seeds give equal results.
// Counterexamples are shrunk. The result is nil without accepted rules. If n is less than 1, the error is
// ReasonInvalidArgument. Otherwise it is that of the context.
func (d *Definition) TestConversion(ctx context.Context, n int, seed uint64) (_ []ConversionLaw, err error) {
	defer Recover(&err)
	if n < 1 {
		return nil, &Error{Reason: ReasonInvalidArgument, Message: fmt.Sprintf("n is %d: test at least 1 object", n)}
	}
	if d.compiled.Inner.Lenses == nil {
		return nil, nil
	}
	m, err := definition.Decode(d.compiled.Manifest)
	if err != nil {
		return nil, failed(ReasonInternal, "CRD "+d.Name(), err)
	}
	versions, hints := map[string]*laws.Version{}, d.compiled.Inner.Lenses.Hints()
	for i := range m.CRD.Spec.Versions {
		v := &m.CRD.Spec.Versions[i]
		versions[v.Name] = &laws.Version{Name: v.Name, Judge: d.judge(v.Name), Generator: sample.New(schema.Of(v), sample.Options{
			APIVersion: d.Group() + "/" + v.Name, Kind: d.Kind(), Namespaced: d.Scope() == NamespaceScoped,
			Hints: hints})}
	}
	var list []ConversionLaw
	for _, direction := range d.directions() {
		from, to := direction[0], direction[1]
		results, err := laws.Test(ctx, d.compiled.Inner.Lenses, versions[from], versions[to], d.via(from, to), n, seed)
		if err != nil {
			return nil, publicError(compiled.TooLate(err))
		}
		for _, r := range results {
			list = append(list, ConversionLaw{Law: string(r.Law), Between: direction, Objects: r.Objects,
				Excepted: d.excepts(from, to, r.Law), Counterexample: (*Counterexample)(r.Counterexample),
				Generated: r.Generated, Unconverted: r.Unconverted, Failure: r.Failure})
		}
	}
	return list, nil
}

// directions returns the source and target of each conversion: first those with rules, then those through the hub.
func (d *Definition) directions() (all [][2]string) {
	all = d.compiled.Inner.Lenses.Pairs()
	for i := range d.compiled.Versions {
		for j := range d.compiled.Versions {
			if from, to := d.compiled.Versions[i].Name, d.compiled.Versions[j].Name; i != j && d.via(from, to) != "" {
				all = append(all, [2]string{from, to})
			}
		}
	}
	return all
}

// via returns the hub if conversions go through it, and "" if the pair has rules.
func (d *Definition) via(from, to string) string {
	if slices.Contains(d.compiled.Inner.Lenses.Pairs(), [2]string{from, to}) {
		return ""
	}
	return d.compiled.Inner.Lenses.Hub()
}

// excepts reports whether the rules of a conversion except a law. Through the hub, those of either half count.
func (d *Definition) excepts(from, to string, law lens.Law) bool {
	via := d.via(from, to)
	if via == "" {
		return d.compiled.Inner.Lenses.Excepts(from, to, law)
	}
	return d.compiled.Inner.Lenses.Excepts(from, via, law) || d.compiled.Inner.Lenses.Excepts(via, to, law)
}

// judge returns a function that validates objects of a version.
func (d *Definition) judge(version string) func(context.Context, []byte) (laws.Verdict, error) {
	return func(ctx context.Context, object []byte) (laws.Verdict, error) {
		out, err := d.compiled.Inner.Judge(ctx, &admission.Request{Version: version, Body: object, Limits: d.compiled.Limits, WantObject: true})
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
