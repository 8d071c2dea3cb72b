package plan

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// A small document can cause large results: a list of empty objects gets a copy of every default in each of them, and
// unknown fields in nested arrays have long paths. These bounds keep the cost of a document in proportion to its size.
// Beyond them accept doubts, and the exact path returns a *tree.LimitError. Upstream has no such bounds.

// Bounds of the paths that one walk records: their steps, which may take some hundred MiB, and their texts. A key of a
// megabyte is part of the path of everything below it.
const (
	maxPathSteps = 1 << 21
	maxPathBytes = 32 << 20
)

// pathsFit returns an error if the steps or the bytes of recorded paths exceed the bounds.
func pathsFit(steps, bytes int) error {
	if steps <= maxPathSteps && bytes <= maxPathBytes {
		return nil
	}
	err := &tree.LimitError{Name: "max_path_steps", Limit: "paths of pruned and defaulted fields", Unit: "path steps",
		Maximum: maxPathSteps, AtLeast: true, Advice: "send a smaller document, or one with fewer unknown fields"}
	if steps <= maxPathSteps {
		err.Name, err.Unit, err.Maximum = "max_path_bytes", "bytes", maxPathBytes
	}
	err.Actual = err.Maximum + 1
	return err
}

// maxPlanDefaultBytes bounds what the defaults of a plan add to each other. Nested defaults hold those below them, so
// their sum grows with the square of the schema's depth.
const maxPlanDefaultBytes = 16 << 20

// budget bounds what defaults may add to a document.
type budget struct {
	most, left int
}

func newBudget(most int) budget { return budget{most: most, left: most} }

// take subtracts a default under a name. It returns false if the budget is exceeded.
func (r *budget) take(name string, f *tree.Fragment) bool {
	r.left -= len(name) + f.Size() + len(`"":,`)
	return r.left >= 0
}

func (r *budget) exceeded(advice string) error {
	return &tree.LimitError{
		Name: "max_default_bytes", Limit: "expansion by defaults", Unit: "bytes", Maximum: int64(r.most),
		Actual: int64(r.most - r.left), AtLeast: true, Advice: advice,
	}
}

// maxProperties bounds the properties of a schema node: slots have 16 bits, and one value is NoSlot.
const maxProperties = int(NoSlot) - 1

func tooManyProperties(count int) error {
	if count <= maxProperties {
		return nil
	}
	return &tree.LimitError{
		Name: "max_properties", Limit: "properties of one schema node", Unit: "properties",
		Maximum: int64(maxProperties), Actual: int64(count),
		Advice: "split the object into several, or use additionalProperties for maps",
	}
}

// maxPathNameBytes bounds the sum of the names on the paths to all schema nodes of a version. Large CRDs of today have
// a hundredth of it. One name of a megabyte above thousands of rules would take gigabytes.
const maxPathNameBytes = 64 << 20

// Fits checks the bounds of Compile that need no compilation. The error is a *tree.LimitError.
func Fits(s *apiextensionsv1.JSONSchemaProps) error {
	var f fitting
	return f.schema(s, 0)
}

// fitting is one run of Fits.
type fitting struct{ bytes int }

// schema checks a schema node and those below it. depth is the sum of the names on the path to it.
func (f *fitting) schema(s *apiextensionsv1.JSONSchemaProps, depth int) error {
	if s == nil {
		return nil
	}
	if err := tooManyProperties(len(s.Properties)); err != nil {
		return err
	}
	if f.bytes += depth; f.bytes > maxPathNameBytes {
		return &tree.LimitError{Name: "max_schema_path_bytes", Limit: "paths of all schema nodes",
			Unit: "bytes", Maximum: maxPathNameBytes, Actual: maxPathNameBytes + 1, AtLeast: true,
			Advice: "shorten the names of properties that hold many others"}
	}
	var p apiextensionsv1.JSONSchemaProps // one for all, since it is large
	var name string
	for name, p = range s.Properties {
		if err := f.schema(&p, depth+len(name)); err != nil {
			return err
		}
	}
	for _, list := range [...][]apiextensionsv1.JSONSchemaProps{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range list {
			if err := f.schema(&list[i], depth); err != nil {
				return err
			}
		}
	}
	if s.Items != nil {
		if err := f.schema(s.Items.Schema, depth); err != nil {
			return err
		}
	}
	if s.AdditionalProperties != nil {
		if err := f.schema(s.AdditionalProperties.Schema, depth); err != nil {
			return err
		}
	}
	return f.schema(s.Not, depth)
}
