package admission

import (
	"encoding/json"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// nestedString is unstructured.NestedString for one member. The string refers to the Doc's memory.
func nestedString(d *tree.Doc, root uint32, key string) (string, error) {
	c := d.Field(root, key)
	switch {
	case c == 0:
		return "", nil
	case d.Nodes[c].Kind == tree.String:
		return d.Str(c), nil
	}
	text, _, err := unstructured.NestedString(map[string]any{key: d.Any(c)}, key)
	return text, err
}

// metaString returns a string of an object's metadata, or "". ok is false if the value is not a string.
func (p *pass) metaString(root uint32, key string) (text string, ok bool) {
	text, err := nestedString(p.d, p.d.Field(root, "metadata"), key)
	return text, err == nil
}

// nameOf returns the name of an object, or "". It does not refer to the Doc's memory.
func (p *pass) nameOf(root uint32) string {
	name, _ := p.metaString(root, "name")
	return strings.Clone(name)
}

// metadata returns the node of the metadata. It adds metadata to an object without it.
func (p *pass) metadata() uint32 {
	if meta := p.d.Field(p.root, "metadata"); p.d.Nodes[meta].Kind == tree.Object {
		return meta
	}
	return p.put(p.root, "metadata", p.parsed([]byte("{}")))
}

// set sets a field of metadata to a string.
func (p *pass) set(name, text string) {
	quoted, _ := json.Marshal(text) // cannot fail for a string
	p.put(p.metadata(), name, p.parsed(quoted))
}

// remove removes a field of metadata. It does not allocate.
func (p *pass) remove(key string) { p.put(p.d.Field(p.root, "metadata"), key, 0) }

// put sets a member of an object of the new tree to a node. The node 0 removes the member. It returns the node that the
// member has afterwards. It does not allocate.
func (p *pass) put(parent uint32, key string, made uint32) uint32 {
	d, prev := p.d, uint32(0)
	c := d.Nodes[parent].First
	for ; c != 0 && d.Key(c) != key; c = d.Nodes[c].Next {
		prev = c
	}
	switch {
	case made == 0 && c == 0:
		return 0
	case made == 0:
		d.Remove(parent, prev, c)
	case c != 0:
		d.Replace(c, made)
		made = c
	default:
		d.SetKey(made, key)
		d.InsertAfter(parent, prev, made)
	}
	d.MarkDirty(p.root, parent)
	return made
}

// parsed returns a new node of a JSON value.
func (p *pass) parsed(text []byte) uint32 {
	made, _ := p.d.Parse(text, tree.Arena, tree.Limits{}) // cannot fail for JSON
	return made
}

// integer returns a new node of a number. It does not allocate.
func (p *pass) integer(n int64) uint32 {
	from := len(p.d.Src[tree.Arena])
	p.d.Src[tree.Arena] = strconv.AppendInt(p.d.Src[tree.Arena], n, 10)
	return p.scalar(tree.Node{Kind: tree.Int, Val: uint64(n)}, from)
}

// plainText returns a new node of a string without characters to escape. It does not allocate.
func (p *pass) plainText(text string) uint32 {
	from := len(p.d.Src[tree.Arena])
	p.d.Src[tree.Arena] = append(append(append(p.d.Src[tree.Arena], '"'), text...), '"')
	return p.scalar(tree.Node{Kind: tree.String}, from)
}

// scalar adds a node whose text was appended to the Arena.
func (p *pass) scalar(n tree.Node, from int) uint32 {
	n.Src, n.Off, n.End = tree.Arena, uint32(from), uint32(len(p.d.Src[tree.Arena]))
	p.d.Nodes = append(p.d.Nodes, n)
	return uint32(len(p.d.Nodes) - 1)
}

// copyOf returns a copy of a node with the same children, not linked to a parent. The copy of 0 is 0.
func (p *pass) copyOf(node uint32) uint32 {
	if node == 0 {
		return 0
	}
	p.d.Nodes = append(p.d.Nodes, p.d.Nodes[node])
	made := uint32(len(p.d.Nodes) - 1)
	p.d.Nodes[made].Next = 0
	return made
}

// copyMembers replaces the members of an object by copies of them, which keep their children. The object has no slots
// afterwards.
func (p *pass) copyMembers(object uint32) {
	d, last := p.d, uint32(0)
	for c := d.Nodes[object].First; c != 0; c = d.Nodes[c].Next {
		made := p.copyOf(c)
		if last == 0 {
			d.Nodes[object].First = made
		} else {
			d.Nodes[last].Next = made
		}
		last = made
	}
	d.Nodes[object].Flags &^= tree.Slotted
}
