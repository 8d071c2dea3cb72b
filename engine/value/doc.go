// Package value is the document tree: JSON and YAML in, an array of nodes over the caller's own bytes, edits, and JSON
// out.
//
// It knows what upstream's decoder makes of a document (sigs.k8s.io/json as k8s.io/apimachinery/pkg/util/json runs it):
// which numbers are integers and which are floats, which of two equal keys wins, what invalid UTF-8 becomes, what is
// rejected and with which text. It knows nothing of schemas, and of Kubernetes objects only where apiVersion and kind
// stand.
//
// A Doc holds every tree that one evaluation needs: the object, the old object, defaults, rewritten metadata. Docs are
// pooled: parsing into a warm one allocates nothing. Read node.go first, then parse.go, edit.go and output.go.
package value

import (
	"sync"
)

// Doc is the memory of one evaluation: some trees of nodes and the bytes they refer to. It is used by one goroutine at
// a time. Strings and byte slices that its methods return refer to its sources: they are valid until Reset or Release,
// or until the caller changes the bytes it had parsed.
type Doc struct {
	// Src are the texts that offsets of nodes refer to, by Source. Src[Arena] grows, the others are the caller's and
	// are never written to.
	Src [4][]byte
	// Nodes are all nodes of all trees. Nodes[0] is no value.
	Nodes []Node
	// Slots is scratch memory of the compiled program, emptied by Reset.
	Slots []uint32

	roots      [4]uint32      // of the last parse from each source
	duplicates [4]bool        // whether that parse met a duplicate key
	yaml       [4]*YAMLSource // where the tree of a source came from YAML
	index      [4]textIndex
	original   *Doc     // the request as it was sent, for positions
	finder     *Finder  // of original
	table      []uint32 // hash table of the duplicate check
	done       <-chan struct{}
	floats     bool // numbers are printed so that a Float is read back as one
}

// Sizes above which a Doc is not put back into the pool: one huge document must not pin its memory for good.
const (
	maxPooledNodes = 1 << 16 // 2.5 MiB
	maxPooledBytes = 1 << 20
)

var pool = sync.Pool{New: func() any { return new(Doc) }}

// Acquire returns an empty Doc from the pool.
func Acquire() *Doc {
	d := pool.Get().(*Doc)
	if len(d.Nodes) == 0 { // a new one; Release leaves the others empty
		d.Reset()
	}
	return d
}

// Release puts the Doc back into the pool. Nothing that came from it may be used afterwards.
func (d *Doc) Release() {
	d.Reset()
	d.done = nil
	if cap(d.Nodes) > maxPooledNodes || cap(d.Slots) > 4*maxPooledNodes || cap(d.table) > 4*maxPooledNodes ||
		cap(d.Src[Arena]) > maxPooledBytes {
		return
	}
	pool.Put(d)
}

// Reset empties the Doc and keeps its memory, for another document or for parsing the same one again.
func (d *Doc) Reset() {
	if cap(d.Nodes) == 0 {
		d.Nodes = make([]Node, 0, 256)
	}
	d.Nodes = append(d.Nodes[:0], Node{})
	d.Slots = d.Slots[:0]
	d.Src = [4][]byte{Arena: d.Src[Arena][:0]}
	for s := range d.index {
		d.forget(Source(s))
	}
}

// forget drops what is known about the text of a source: another one comes.
func (d *Doc) forget(s Source) {
	d.roots[s], d.duplicates[s], d.yaml[s] = 0, false, nil
	if x := &d.index[s]; x.built {
		*x = textIndex{}
	}
	if s == Request && d.original != nil {
		d.original.Release()
		d.original, d.finder = nil, nil
	}
}

// Root is the root of the tree last parsed from the source, 0 if there is none.
func (d *Doc) Root(s Source) uint32 { return d.roots[s] }

// SetSource makes the bytes the text that nodes of the source refer to, without parsing: the program's defaults, whose
// Fragments are grafted later.
func (d *Doc) SetSource(s Source, text []byte) { d.Src[s] = text }
