package plan

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/internal/value"
)

// A small document can ask for much: a list of empty objects for a copy of every default in each of them, unknown fields deep
// inside nested arrays for long paths to each of them. These bounds keep what one document costs in proportion to its size.
// Beyond them accept doubts, and the exact steps end with a *value.LimitError. The reference has neither bound.

// What bounds the paths that one walk takes down for what it prunes or fills in: their steps, which may take some hundred MiB, and their texts, in bytes. A
// key of a megabyte is in the path of everything below it.
const (
	maxPathSteps = 1 << 21
	maxPathBytes = 32 << 20
)

// lengths are what paths come to.
type lengths struct{ steps, bytes int }

// exceed reports whether that is more than the bounds.
func (l *lengths) exceed() bool { return l.steps > maxPathSteps || l.bytes > maxPathBytes }

// exceeded is the error of paths that exceed them.
func (l *lengths) exceeded() error {
	const limit, advice = "paths of pruned and defaulted fields", "send a smaller document, or one with fewer unknown fields"
	if l.steps > maxPathSteps {
		return &value.LimitError{Name: "max_path_steps", Limit: limit, Unit: "path steps", Maximum: maxPathSteps, Actual: maxPathSteps + 1, AtLeast: true, Advice: advice}
	}
	return &value.LimitError{Name: "max_path_bytes", Limit: limit, Unit: "bytes", Maximum: maxPathBytes, Actual: maxPathBytes + 1, AtLeast: true, Advice: advice}
}

// maxPlanDefaultBytes bounds what the defaults of a plan add to each other while they are made ready: nested ones hold those below
// them, so that the sum grows with the square of the schema's depth.
const maxPlanDefaultBytes = 16 << 20

// room is how much defaults may still add to a document.
type room struct {
	most, left int
}

func newRoom(most int) room { return room{most: most, left: most} }

// take makes room for a default under a name. False: there is not enough left.
func (r *room) take(name string, f *value.Fragment) bool {
	r.left -= len(name) + f.Size() + len(`"":,`)
	return r.left >= 0
}

func (r *room) exceeded(advice string) error {
	return &value.LimitError{
		Name: "max_default_bytes", Limit: "expansion by defaults", Unit: "bytes", Maximum: int64(r.most), Actual: int64(r.most - r.left), AtLeast: true,
		Advice: advice,
	}
}

// maxProperties is how many properties one schema node may declare: their slots have 16 bits, of which one value is NoSlot.
const maxProperties = int(NoSlot) - 1

func tooManyProperties(count int) error {
	if count <= maxProperties {
		return nil
	}
	return &value.LimitError{
		Name: "max_properties", Limit: "properties of one schema node", Unit: "properties", Maximum: int64(maxProperties), Actual: int64(count),
		Advice: "split the object into several, or use additionalProperties for what is a map",
	}
}

// maxPlaceBytes bounds the names of properties on the ways to all schema nodes of a version together: what is said of a node names its place. Large
// CRDs of today have a hundredth of it; one with a name of a megabyte, and thousands of rules below it, would take gigabytes.
const maxPlaceBytes = 64 << 20

// Fits looks for the bounds of Compile that can be told by a glance at the schema, before anything is spent on it. The error is
// a *value.LimitError.
func Fits(s *apiextensionsv1.JSONSchemaProps) error {
	var f fitting
	return f.schema(s, 0)
}

// fitting is one run of Fits.
type fitting struct{ places int }

// schema looks at a schema node and those below it; deep is how many bytes the names on the way to it have.
func (f *fitting) schema(s *apiextensionsv1.JSONSchemaProps, deep int) error {
	if s == nil {
		return nil
	}
	if err := tooManyProperties(len(s.Properties)); err != nil {
		return err
	}
	if f.places += deep; f.places > maxPlaceBytes {
		return &value.LimitError{Name: "max_schema_place_bytes", Limit: "places of all parts of a schema", Unit: "bytes", Maximum: maxPlaceBytes, Actual: maxPlaceBytes + 1, AtLeast: true,
			Advice: "shorten the names of properties that hold many others"}
	}
	var p apiextensionsv1.JSONSchemaProps // one for all, which are large
	var name string
	for name, p = range s.Properties {
		if err := f.schema(&p, deep+len(name)); err != nil {
			return err
		}
	}
	for _, list := range [...][]apiextensionsv1.JSONSchemaProps{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range list {
			if err := f.schema(&list[i], deep); err != nil {
				return err
			}
		}
	}
	if s.Items != nil {
		if err := f.schema(s.Items.Schema, deep); err != nil {
			return err
		}
	}
	if s.AdditionalProperties != nil {
		if err := f.schema(s.AdditionalProperties.Schema, deep); err != nil {
			return err
		}
	}
	return f.schema(s.Not, deep)
}

// limit takes note of the first error about a bound; nil is none.
func (c *compiler) limit(err error) {
	if c.err == nil {
		c.err = err
	}
}
