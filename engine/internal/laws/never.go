package laws

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/lens"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// leastFailures is the number of objects for which an expression must fail before it breaks the law validity. Fewer
// can fail by chance.
const leastFailures = 10

// failures counts the generated objects whose conversion failed, by the position of the expression that failed.
type failures map[string]*failure

// failure is an expression that failed.
type failure struct {
	objects int
	first   *trial
	path    tree.Path // of the first field that the expression reads
}

// add counts an object if an expression failed.
func (f failures) add(tr *trial) {
	var failed *lens.Error
	if !errors.As(tr.failed, &failed) || failed.Unwrap() != nil || !strings.HasSuffix(failed.Rule, "("+string(lens.CEL)+")") {
		return
	}
	if f[failed.Rule] == nil {
		f[failed.Rule] = &failure{first: tr, path: failed.Path}
	}
	f[failed.Rule].objects++
}

// neverConverted returns a counterexample if an expression fails for all objects with the first field that it reads. So
// none of the converted objects has this field. Conversions through a hub are not checked, because the field can be one
// of the hub.
func (t *tester) neverConverted(f failures, converted [][]byte) *Counterexample {
	for _, rule := range slices.Sorted(maps.Keys(f)) {
		x := f[rule]
		if t.via != "" || x.objects < leastFailures || slices.ContainsFunc(converted, x.isIn) {
			continue
		}
		value, err := sample.Parse(x.first.object)
		if err != nil {
			continue
		}
		tr := *x.first
		tr.tree = value
		check := func(_ *tester, tr *trial) (bool, *Counterexample) {
			var failed *lens.Error
			if !errors.As(tr.failed, &failed) || failed.Rule != rule {
				return true, nil
			}
			return true, &Counterexample{Object: tr.object, Text: fmt.Sprintf(
				"No generated object of %s with %s is converted to %s. The conversion of this one fails: %v.",
				t.from.Name, named(failed.Path), t.to.Name, tr.failed)}
		}
		_, c := check(t, &tr)
		return t.shrink(check, &tr, c)
	}
	return nil
}

// isIn reports whether an object has the field, in any of the items of lists and maps.
func (f *failure) isIn(object []byte) bool {
	o := parse(object)
	defer o.Release()
	return o.has(o.root, f.path)
}

// has reports whether a value has a path. Steps to items stand for all items.
func (t objectTree) has(i uint32, p tree.Path) bool {
	if len(p) == 0 {
		return true
	}
	if name := p[0].Key(); p[0] == tree.Name(name) {
		c := t.Field(i, name)
		return c != 0 && t.has(c, p[1:])
	}
	for c := t.Nodes[i].First; c != 0; c = t.Nodes[c].Next {
		if t.has(c, p[1:]) {
			return true
		}
	}
	return false
}
