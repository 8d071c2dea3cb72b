package engine

import (
	"context"
	"fmt"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/laws"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// TestConversion tests the rules of Options.Conversion on generated objects: all laws in docs/conversion.md, on n objects
// for each pair of versions with rules and each direction. Equal seeds give equal results. A counterexample is shrunk to
// a small object. The result is nil without accepted rules. The error is that of the context.
func (d *Definition) TestConversion(ctx context.Context, n int, seed uint64) (_ []ConversionLaw, err error) {
	defer recovered(&err)
	if d.conversion == nil || !d.conversion.Accepted {
		return nil, nil
	}
	m, err := definition.Decode(d.manifest)
	if err != nil {
		return nil, failed(ReasonInternal, "CRD "+d.Name(), err)
	}
	versions := map[string]*laws.Version{}
	for i := range m.CRD.Spec.Versions {
		v := &m.CRD.Spec.Versions[i]
		versions[v.Name] = &laws.Version{Name: v.Name, Judge: d.judge(v.Name), Generator: sample.New(schema.Of(v), sample.Options{
			APIVersion: d.Group() + "/" + v.Name, Kind: d.Kind(), Namespaced: d.Scope() == NamespaceScoped})}
	}
	var list []ConversionLaw
	tested := map[[2]string]bool{}
	for _, r := range d.conversion.Rules {
		if tested[r.Between] {
			continue
		}
		tested[r.Between] = true
		for _, direction := range [...][2]string{r.Between, {r.Between[1], r.Between[0]}} {
			results, err := laws.Test(ctx, d.inner.Lenses, versions[direction[0]], versions[direction[1]], n, seed)
			if err != nil {
				return nil, tooLate(err)
			}
			for _, result := range results {
				list = append(list, ConversionLaw{Law: string(result.Law), Between: direction, Objects: result.Objects,
					Excepted:       d.inner.Lenses.Excepts(direction[0], direction[1], result.Law),
					Counterexample: (*Counterexample)(result.Counterexample)})
			}
		}
	}
	return list, nil
}

// judge returns a function that validates objects of a version.
func (d *Definition) judge(version string) func(context.Context, []byte) (laws.Verdict, error) {
	return func(ctx context.Context, object []byte) (laws.Verdict, error) {
		out, err := d.inner.Judge(ctx, &admission.Request{Version: version, Body: object, Limits: d.limits, WantObject: true})
		if err != nil {
			return laws.Verdict{}, err
		}
		v := laws.Verdict{Object: out.Object}
		for _, found := range out.Violations {
			f := sample.Fault{Path: found.Path, Text: found.Error.Error()}
			if found.Rule != nil {
				f.Rule = found.Rule.Text
			}
			v.Faults = append(v.Faults, f)
		}
		switch {
		case len(out.Violations) > 0:
			v.Text = out.Violations[0].Error.Error()
		case len(out.Strict) > 0:
			v.Text = fmt.Sprintf("%s has no field %s", version, out.Strict[0])
		}
		return v, nil
	}
}
