package lens

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/rule"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// Error says why an object cannot be converted.
type Error struct {
	// Rule is the rule that cannot convert the object, such as rules[3] (values).
	Rule string
	// Path leads to the value. Value is its JSON text, shortened.
	Path  tree.Path
	Value string
	// Text says what is wrong with the value and what to do.
	Text  string
	cause error
}

// Unwrap returns a *tree.LimitError or the error of a context, if that is the reason.
func (e *Error) Unwrap() error { return e.cause }

// Error returns the text with rule, path and value.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Rule + ": ")
	if len(e.Path) > 0 {
		b.WriteString(e.Path.Bracketed() + ": ")
	}
	if e.Value != "" {
		b.WriteString(e.Value + " ")
	}
	return b.String() + e.Text
}

// below prepends steps to the path. It returns nil for nil.
func (e *Error) below(steps ...tree.Segment) *Error {
	if e != nil {
		e.Path = append(tree.Path(steps).Clone(), e.Path...)
	}
	return e
}

// in prepends the names of a path without items.
func (e *Error) in(p path) *Error {
	steps := make([]tree.Segment, len(p))
	for i, name := range p {
		steps[i] = tree.Name(name)
	}
	return e.below(steps...)
}

// Convert converts the tree of an object from one version to another, in place. If whole is false, the object can be a
// partial object of server-side apply (partial.go). The error is an *Error. After an error, the tree is unusable.
func (s *Set) Convert(ctx context.Context, d *tree.Doc, root uint32, from, to string, whole bool) error {
	steps := []string{from, to}
	if s.conversions[[2]string{from, to}] == nil && from != to {
		steps = []string{from, s.hub, to}
	}
	for i := 1; i < len(steps); i++ {
		p := s.conversions[[2]string{steps[i-1], steps[i]}]
		if p == nil {
			return &Error{Rule: "conversion", Text: fmt.Sprintf("no rules convert %s to %s: add them to the file", steps[i-1], steps[i])}
		}
		if err := (&run{ctx: ctx, d: d, root: root, whole: whole, conversion: p}).convert(); err != nil {
			return err
		}
	}
	return nil
}

// run is the conversion of one object.
type run struct {
	ctx        context.Context
	d          *tree.Doc
	root       uint32
	whole      bool
	conversion *conversion

	rules  *rule.Run // nil before the first expression
	lack   *lack     // nil until managedFields are read
	slots  []uint32
	buffer []byte
}

// How many bytes an error shows: of a value in an object, of a value in a file, and of its text.
const (
	maxShown     = 64
	maxShownFile = 200
	maxShownText = 1000
)

// failed returns an error about a value.
func (r *run) failed(by *compiledRule, i uint32, text string) *Error {
	shown := ""
	if i != 0 {
		shown = violation.Shorten(string(r.d.AppendJSON(nil, i)), maxShown)
	}
	return &Error{Rule: by.String(), Value: shown, Text: violation.Shorten(text, maxShownText)}
}

func (r *run) convert() error {
	d, root, p := r.d, r.root, r.conversion
	if d.Nodes[root].Kind != tree.Object {
		return &Error{Rule: "conversion", Text: "the value is not an object"}
	}
	kept := takeAnnotation(d, root, p.to.Name)
	takeAnnotation(d, root, p.from.Name)
	var saved []byte
	if len(p.stashes) > 0 {
		var err *Error
		if saved, err = r.save(nil); err != nil {
			return err
		}
	}
	_, err := r.item(p.root, root)
	if r.rules != nil {
		r.rules.Close()
	}
	if err != nil {
		return err
	}
	if kept != 0 && len(p.restores) > 0 {
		r.restore(kept)
	}
	if len(saved) > 0 {
		if err := r.writeAnnotation(p.from.Name, saved); err != nil {
			return err
		}
	}
	if !r.whole && d.Field(root, "metadata") == 0 {
		d.Append(root, newObject(d, "metadata")) // an API server rejects replies without it
	}
	version := newString(d, "apiVersion", p.to.APIVersion)
	if old := d.Field(root, "apiVersion"); old != 0 {
		d.Replace(old, version)
	} else {
		d.InsertAfter(root, 0, version)
	}
	d.MarkDirty(root)
	return nil
}

// item converts the root, an item of a list or a value of a map, and reports whether it changed.
func (r *run) item(p *itemConversion, i uint32) (changed bool, failed *Error) {
	base := len(r.slots)
	for range p.slots {
		r.slots = append(r.slots, 0)
	}
	slots := r.slots[base:]
	// Expressions read the unchanged item. Their slots are the last ones.
	for k, x := range p.writes {
		made, err := x.evaluate(r, i)
		if err != nil {
			return false, err
		}
		slots[p.slots-len(p.writes)+k] = made
	}
	if p.node != nil {
		if changed, failed = r.node(p.node, i, slots); failed != nil {
			return false, failed
		}
	}
	for _, put := range p.puts {
		if n := slots[put.slot]; n != 0 {
			if err := r.put(put, i, n); err != nil {
				return false, err
			}
			changed = true
		}
	}
	r.slots = r.slots[:base]
	return changed, nil
}

// put links a node below an item, and creates the objects between them.
func (r *run) put(p put, i, n uint32) *Error {
	d := r.d
	for k, name := range p.to {
		if d.Nodes[i].Kind != tree.Object {
			return r.failed(p.by, i, "is not an object, so "+strings.Join(p.to[k:], ".")+
				" cannot be set below it: correct it").in(p.to[:k])
		}
		d.MarkDirty(i)
		if k < len(p.to)-1 {
			i = objectAt(d, i, name)
			continue
		}
		if c := d.Field(i, name); c != 0 {
			removeMember(d, i, c)
		}
		d.SetKey(n, name)
		d.Append(i, n)
	}
	return nil
}

// node converts a value and reports whether it changed.
func (r *run) node(n *node, i uint32, slots []uint32) (changed bool, failed *Error) {
	d := r.d
	if len(n.children) > 0 && d.Nodes[i].Kind == tree.Object {
		prev := uint32(0)
		for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
			child := n.child(d.Key(c))
			if child == nil {
				prev = c
				continue
			}
			if kind := d.Nodes[c].Kind; child.by != nil && kind != tree.Object && kind != tree.Null {
				return false, r.failed(child.by, c, notAnObject).below(tree.Name(child.name))
			}
			below, err := r.node(child, c, slots)
			if err != nil {
				return false, err.below(tree.Name(child.name))
			}
			changed = changed || below
			switch child.take {
			case stays:
				prev = c
				continue
			case taken:
				slots[child.slot] = c
			}
			d.Remove(i, prev, c)
			changed = true
		}
	}
	if n.each != nil {
		for c, k := d.Nodes[i].First, 0; c != 0; c, k = d.Nodes[c].Next, k+1 {
			below, err := r.item(n.each, c)
			if err != nil {
				return false, err.below(segment(d, i, c, k))
			}
			changed = changed || below
		}
	}
	if n.list != nil {
		if err := n.list.run(r, i); err != nil {
			return false, err
		}
		changed = true
	}
	if n.values != nil {
		replaced, err := n.values.run(r, i)
		if err != nil {
			return false, err
		}
		changed = changed || replaced
	}
	if n.notNull != nil && d.Nodes[i].Kind == tree.Null && (r.whole || !n.emptied) {
		return false, r.failed(n.notNull, i, "is not valid in "+r.conversion.to.Name+
			", whose schema is not nullable: remove the field or set a value, or set nullable in the schema")
	}
	if n.check != nil && len(n.check.fits.Explain(d, i, plan.At{})) > 0 {
		return false, r.failed(n.check.by, i, n.check.want)
	}
	if changed {
		d.MarkDirty(i)
	}
	return changed, nil
}

const notAnObject = "is not an object, as the schema says: correct it"

// child returns the node of a property, or nil if the property does not change.
func (n *node) child(name string) *node {
	if len(n.children) > manyNames {
		i, found := slices.BinarySearchFunc(n.children, name, func(c *node, name string) int {
			return strings.Compare(c.name, name)
		})
		if !found {
			return nil
		}
		return n.children[i]
	}
	for _, c := range n.children {
		if c.name == name {
			return c
		}
	}
	return nil
}

// manyNames is the number of children above which a binary search is faster.
const manyNames = 16
