package celenv

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/decls"

	"github.com/crdeval/crdeval/engine/internal/format"
)

func signatures(f *decls.FunctionDecl) (list []string) {
	for _, o := range f.OverloadDecls() {
		list = append(list, fmt.Sprint(o.ID(), o.IsMemberFunction(), o.ArgTypes(), o.ResultType()))
	}
	return list
}

func macros(e *cel.Env) (keys []string) {
	for _, m := range e.Macros() {
		keys = append(keys, m.MacroKey())
	}
	slices.Sort(keys)
	return keys
}

func validators(e *cel.Env) (names []string) {
	for _, v := range e.Validators() {
		names = append(names, v.Name())
	}
	return names
}

// TestDifferences compares all pairs of environments: those that differ by functions only differ by the named ones.
func TestDifferences(t *testing.T) {
	pairs := 0
	for a := format.OldestMinor; a <= format.LatestMinor; a++ {
		for b := format.OldestMinor; b <= format.LatestMinor; b++ {
			differing, functionsOnly := differingFunctions(a, b)
			if a == b || !functionsOnly {
				continue
			}
			pairs++
			x, y := environments[a-format.OldestMinor](), environments[b-format.OldestMinor]()
			if !slices.Equal(macros(x.Base), macros(y.Base)) || !slices.Equal(validators(x.Base), validators(y.Base)) ||
				len(x.Base.Variables()) != len(y.Base.Variables()) || x.CrossTypeNumbers() != y.CrossTypeNumbers() ||
				x.KeywordFields() != y.KeywordFields() {
				t.Errorf("1.%d and 1.%d differ by more than functions", a, b)
			}
			names := maps.Clone(x.Base.Functions())
			maps.Copy(names, y.Base.Functions())
			for name := range names {
				if differing[name] {
					continue
				}
				f, g := x.Base.Functions()[name], y.Base.Functions()[name]
				if f == nil || g == nil || !slices.Equal(signatures(f), signatures(g)) {
					t.Errorf("1.%d and 1.%d differ by %s", a, b, name)
				}
			}
			if differing["matches"] || len(differing) > 10 {
				t.Errorf("1.%d and 1.%d differ by %d functions", a, b, len(differing))
			}
		}
	}
	if _, ok := differingFunctions(NewMinor, format.LatestMinor); !ok || pairs == 0 {
		t.Error("the two environments of a stock API server differ by more than functions")
	}
}
