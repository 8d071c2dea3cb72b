package lens

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// expect records that a converted object may be invalid at a path.
func (p *conversion) expect(at path) {
	if p.expected == nil {
		p.expected = map[string]bool{}
	}
	p.expected[at.String()] = true
}

// Expects reports whether a converted object may be invalid at a path, because the object does not meet a
// precondition.
func (s *Set) Expects(from, to string, at tree.Path) bool {
	p := s.conversions[[2]string{from, to}]
	if p == nil || len(p.expected) == 0 {
		return false
	}
	// The path alone does not say whether a name is that of a property or a key of a map.
	found, schema := path{}, p.to.Schema
	for _, s := range at {
		name := s.Key()
		if below := step(schema, name); s.IsIndex() || below == nil {
			name = each
		}
		found, schema = found.with(name), step(schema, name)
	}
	return p.expected[found.String()]
}

// required adds a precondition for each field that the target requires and that the source may lack.
func (w *walker) required(dp path, dst *schema.Props) {
	if n := w.dst.named.find(dp); n != nil && (n.stashed != nil || n.dropped != nil || n.written != nil) {
		return // a rule sets or removes the whole object
	}
	src := w.counterpartOf(1-w.from, dp)
	if src != nil {
		if s, _ := src.resolve(w.src.Schema); w.dst.named.find(dp) == nil && schema.Equal(s, dst) {
			return // no rule names a field below it either
		}
	}
	for _, name := range dst.Required {
		if len(dp) > 0 || !slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) {
			w.requiredField(dp.with(name))
		}
	}
	for _, name := range steps(dst) {
		if len(dp) > 0 || name != "metadata" {
			w.required(dp.with(name), step(dst, name))
		}
	}
}

// requiredField adds a precondition for one field.
func (w *walker) requiredField(dp path) {
	n := w.dst.named.find(dp)
	if n != nil && (n.written != nil || n.key != nil) {
		return // only tests can show whether an expression always has a value
	}
	by := cmp.Or(n.rule(), w.equal)
	sp := w.counterpartOf(1-w.from, dp)
	if sp == nil || n != nil && n.dropped != nil {
		parent := dp[:len(dp)-1]
		if w.counterpartOf(1-w.from, parent) == nil && w.dst.named.find(parent) == nil {
			return // no conversion creates the object
		}
		if n == nil || n.stashed == nil {
			w.add(w.at, field.Required(nil, fmt.Sprintf("a rule that sets %s: %s requires it, and %s has no such field",
				dp, w.dst.Name, w.src.Name)))
			return
		}
		w.p.expect(dp)
		by.require(fmt.Sprintf("%s of %s is in the annotation", dp, w.dst.Name))
		return
	}
	parent, _ := sp[:len(sp)-1].resolve(w.src.Schema)
	if name := sp[len(sp)-1]; slices.Contains(parent.Required, name) || parent.Properties[name].Default != nil {
		return
	}
	w.p.expect(dp)
	by.require(fmt.Sprintf("%s of %s is present", sp, w.src.Name))
}
