// Package tree parses JSON and YAML into a document tree, edits the tree and prints it as JSON. A tree is an array of
// nodes that refer to the caller's bytes.
//
// Parsing matches upstream's decoder (sigs.k8s.io/json as called by k8s.io/apimachinery/pkg/util/json): the split of
// numbers into integers and floats, duplicate keys, invalid UTF-8, and the rejected documents with their error texts.
// Ordinary YAML is scanned straight into the tree (yaml_scan.go). All other YAML is a doubt, and sigs.k8s.io/yaml reads it.
// The package does not know schemas. The only Kubernetes fields that it knows are apiVersion and kind.
//
// A Doc holds every tree of one evaluation: the object, the old object, defaults and rewritten metadata. Docs are
// pooled, and parsing into a reused Doc allocates nothing. Start reading with node.go, parse.go, edit.go and output.go.
package tree

import (
	"sync"
	"unsafe"
)

// Doc holds the trees of one evaluation and the bytes that their nodes refer to. It is not safe for concurrent use.
// Strings and byte slices returned by its methods refer to its sources. They are valid until Reset, Release, or until
// the caller changes the parsed bytes.
type Doc struct {
	// Src holds the texts that node offsets refer to, indexed by Source. Src[Arena] grows; the others belong to the
	// caller and are never modified.
	Src [4][]byte
	// Nodes holds the nodes of all trees. Nodes[0] is not a value.
	Nodes []Node
	// Slots is scratch memory of the compiled plan. Reset empties it.
	Slots []uint32
	// Guesses is scratch memory of the compiled plan. Nothing empties it.
	Guesses [MaxGuesses]uint16

	roots      [4]uint32      // root of the last parse, by Source
	duplicates [4]int         // the bytes of the paths of the duplicate keys that it found, by Source
	yaml       [4]*YAMLSource // set if the source was parsed from YAML
	scans      [4]*yamlScan   // memory of scanYAML, by Source
	scanner    *yamlScanner   // of scanYAML, on first use
	origins    [4]*Origin     // of documents of a Text, by Source
	index      [4]textIndex
	original   *Doc     // unedited parse of the request, for positions
	finder     *Finder  // of original
	table      []uint32 // hash table of the duplicate check
	work       Work
	charged    int64 // bytes of nodes passed to work.Grow
	derived    int64 // bytes passed to work.Grow by Grow
	floats     bool  // print Floats so that they parse as Floats again
	spaced     bool  // whether the last parse found white space within the value

	keepDuplicates bool // until Release
}

// MaxGuesses is the length of Doc.Guesses, a power of two.
const MaxGuesses = 4096

// Docs above these sizes are not returned to the pool, so that one huge document does not keep its memory forever.
const (
	maxPooledNodes = 1 << 16 // 2.5 MiB
	maxPooledBytes = 1 << 20
)

var pool = sync.Pool{New: func() any { return new(Doc) }}

// Acquire returns an empty Doc from the pool.
func Acquire() *Doc {
	d := pool.Get().(*Doc)
	if len(d.Nodes) == 0 { // new, not from the pool
		d.Reset()
	}
	return d
}

// Release returns the Doc to the pool. Nothing obtained from it may be used afterwards, except text of the sources.
func (d *Doc) Release() {
	d.Reset()
	if n := d.charged + d.derived; n > 0 {
		d.work.Grow(-n)
	}
	d.work, d.charged, d.derived, d.keepDuplicates = nil, 0, 0, false
	if cap(d.Nodes) > maxPooledNodes || cap(d.Slots) > 4*maxPooledNodes || cap(d.table) > 4*maxPooledNodes ||
		cap(d.Src[Arena]) > maxPooledBytes {
		return
	}
	d.releaseScans()
	pool.Put(d)
}

// Work is what a Doc belongs to.
type Work interface {
	// Stopped reports whether the work is over.
	Stopped() bool
	// Grow is called before the memory of the Doc grows by n bytes, and with a negative n after it was released. If it
	// returns false, the work is over.
	Grow(n int64) bool
}

// freeBytes is how large a Doc can become without a call of Work.Grow.
const freeBytes = 1 << 17

// charge reports that the nodes grow to a capacity. While they are copied, both arrays are in memory.
func (d *Doc) charge(capacity int) {
	size := int64(cap(d.Nodes)+capacity) * int64(unsafe.Sizeof(Node{}))
	if d.work == nil || size <= max(d.charged, freeBytes) {
		return
	}
	if d.work.Grow(size - d.charged) {
		d.charged = size
	}
}

// Grow charges n bytes that are derived from the Doc to its work, until Release. It returns false if the work is over.
func (d *Doc) Grow(n int) bool {
	if d.work == nil || n <= freeBytes {
		return true
	}
	if !d.work.Grow(int64(n)) {
		return false
	}
	d.derived += int64(n)
	return true
}

// Reset empties the Doc and keeps its memory for the next document.
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

// forget drops all data derived from the text of a source.
func (d *Doc) forget(s Source) {
	d.roots[s], d.duplicates[s], d.yaml[s], d.origins[s] = 0, 0, nil, nil
	d.index[s] = textIndex{}
	if s == Request && d.original != nil {
		d.original.Release()
		d.original, d.finder = nil, nil
	}
}

// Root returns the root of the tree last parsed from the source, or 0.
func (d *Doc) Root(s Source) uint32 { return d.roots[s] }

// SetSource sets the text that nodes of the source refer to, without parsing it. It is used for defaults, whose
// Fragments are grafted later.
func (d *Doc) SetSource(s Source, text []byte) { d.Src[s] = text }
