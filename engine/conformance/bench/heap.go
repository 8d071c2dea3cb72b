package bench

import (
	"runtime"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/pattern"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/schema"
)

// heap compares the memory of one compiled version: the mean of many copies. Copies share only the patterns that we
// intern per process, which are printed separately. Upstream's copies share the texts of the CRD; ours have their own.
func heap(o Options, name string, obj *object) (string, error) {
	v, err := obj.version()
	if err != nil {
		return "", err
	}
	crd, err := stored(obj)
	if err != nil {
		return "", err
	}
	var s *apiextensionsv1.JSONSchemaProps
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Name == v.Name {
			s = schema.Of(&crd.Spec.Versions[i])
		}
	}
	status := v.Subresources != nil && v.Subresources.Status != nil
	options := plan.Options{StatusSubresource: status, Rules: plan.RulesOfResource}
	compiled, err := plan.Compile(s, options)
	if err != nil {
		return "", err
	}
	count, patterns := interned(compiled)
	us, err := perCopy(o.Copies, func() (any, error) {
		return plan.Compile(s, options)
	})
	if err != nil {
		return "", err
	}
	runtime.KeepAlive(compiled)
	them, err := perCopy(o.Copies, func() (any, error) {
		structural, validator, rules, err := compileUpstream(v)
		return [...]any{structural, validator, rules}, err
	})
	runtime.KeepAlive(crd)
	return heapLine(name, us, them, patterns, count, runtime.GOMAXPROCS(0)), err
}

// perCopy returns the mean memory of a copy in bytes. One more copy is made first, for what exists once per process.
func perCopy(copies int, compile func() (any, error)) (float64, error) {
	first, err := compile()
	if err != nil {
		return 0, err
	}
	kept := make([]any, copies)
	before := retained()
	for i := range kept {
		if kept[i], err = compile(); err != nil {
			return 0, err
		}
	}
	after := retained()
	runtime.KeepAlive(kept)
	runtime.KeepAlive(first)
	return float64(after-before) / float64(copies), nil
}

// interned returns the number of patterns in a plan, and their size in bytes after they have matched a string.
func interned(compiled *plan.Plan) (count int, bytes float64) {
	patterns := map[*pattern.Pattern]bool{}
	collect(compiled.Root, map[*plan.Node]bool{}, patterns)
	before := retained()
	for p := range patterns {
		p.Match("", nil)
	}
	after := retained()
	runtime.KeepAlive(patterns)
	return len(patterns), float64(after - before)
}

func collect(n *plan.Node, seen map[*plan.Node]bool, patterns map[*pattern.Pattern]bool) {
	if n == nil || seen[n] {
		return
	}
	seen[n] = true
	for _, p := range n.Props {
		collect(p, seen, patterns)
	}
	collect(n.Additional, seen, patterns)
	collect(n.Items, seen, patterns)
	if n.Valid == nil {
		return
	}
	if n.Valid.Pattern != nil {
		patterns[n.Valid.Pattern] = true
	}
	for _, list := range [][]*plan.Node{n.Valid.AllOf, n.Valid.AnyOf, n.Valid.OneOf, {n.Valid.Not}} {
		for _, p := range list {
			collect(p, seen, patterns)
		}
	}
}
