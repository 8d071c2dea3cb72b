package plan

import (
	"fmt"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// finishDefaults makes the fragments of all defaults. They are pruned as defaulting.PruneDefaults does it once, and
// expanded as defaulting.Default does it for each object. Children come before parents, so that a default can hold the
// defaults below it.
func (c *compiler) finishDefaults(p *Plan) error {
	if len(c.pending) == 0 {
		return nil
	}
	fragments := &tree.Fragments{}
	c.budget = newBudget(maxPlanDefaultBytes)
	d := tree.Acquire()
	defer d.Release()
	for _, n := range c.pending {
		f, nulls, err := c.fragment(d, fragments, n)
		if err != nil {
			return fmt.Errorf("default %.100q of the schema: %w", n.Default.raw, err)
		}
		n.Default.Fragment, n.Default.Nulls, n.Default.raw = f, nulls, nil
		c.size += defaultSize + fragmentSize + int64(f.Len())*valueNodeSize
	}
	p.defaults = fragments.Text
	return nil
}

// fragment makes one default. The fragments within it have no complete text yet, so it is printed and parsed again.
func (c *compiler) fragment(d *tree.Doc, fragments *tree.Fragments, n *Node) (f *tree.Fragment, nulls bool, err error) {
	raw, err := canonical(d, n.Default.raw)
	if err != nil {
		return nil, false, err
	}
	if first := raw[0]; first != '{' && first != '[' || c.o.PreserveUnknown || c.o.ForDefaults {
		f, err := fragments.Add("", raw)
		return f, first == '{' || first == '[', err
	}
	d.Reset()
	d.SetSource(tree.Defaults, fragments.Text)
	root, err := d.Parse(raw, tree.Request, tree.Limits{})
	if err != nil {
		return nil, false, err
	}
	w := acceptor{changer: changer{d: d, budget: c.budget}, shaping: true, keepNulls: true}
	ok := w.node(n, root)
	if c.budget = w.budget; c.budget.left < 0 {
		return nil, false, c.budget.exceeded("declare fewer or smaller defaults within defaults")
	}
	if !ok {
		return nil, false, fmt.Errorf("cannot be pruned")
	}
	if d.Nodes[root].Flags&tree.Dirty != 0 {
		raw = d.AppendDecoded(nil, root)
	}
	f, err = fragments.Add("", raw)
	return f, hasNull(d, root), err
}

// canonical returns a default as the canonical manifest has it. A CRD that is compiled from its manifest and one that is
// compiled from storage have the same defaults, with the keys in the same order.
func canonical(d *tree.Doc, raw []byte) ([]byte, error) {
	d.Reset()
	root, err := d.ParseJSON(raw, tree.Limits{})
	if err != nil {
		return nil, err
	}
	return d.AppendCanonical(nil, root), nil
}

func hasNull(d *tree.Doc, i uint32) bool {
	if d.Nodes[i].Kind == tree.Null {
		return true
	}
	for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
		if hasNull(d, c) {
			return true
		}
	}
	return false
}

// coerceDefault coerces apiVersion, kind and metadata of an embedded resource inside a default, as PruneDefaults does.
// It reports whether the member stays. Unreadable metadata is not changed.
func (w *acceptor) coerceDefault(n *Node, i, c uint32, key string) (keep bool) {
	if n.Flags&Embedded == 0 {
		return true
	}
	if key != "metadata" {
		return w.d.Nodes[c].Kind == tree.String
	}
	_, _, _ = metadata.Coerce(w.d, i, metadata.Options{Lenient: true})
	return true
}

// graft copies the default of a property and its key into the Doc. The node is not linked.
func (n *Node) graft(d *tree.Doc, slot uint16) uint32 {
	g := d.Graft(n.Props[slot].Default.Fragment)
	d.SetKey(g, n.Names[slot])
	return g
}
