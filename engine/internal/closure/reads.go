package closure

import (
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Reads are the parts of self that programs depend on, unless they read more than which members are present, which of
// some constants a string is and how long a list is. Outcomes and costs are equal for equal parts.
type Reads struct {
	parts    []string // paths of slots, elementStep and textStep
	any      bool     // a program reads more
	closures int
}

const (
	textStep    = 1<<8 - 2 // the content of a string; without it the kind, and the length of a list
	elementStep = 1<<8 - 1 // each element of a list
	maxSize     = 1<<5 - 1 // of paths, lists and strings in a key
	maxKey      = 1 << 8
	minClosures = 6 // that take as long as a part of a key
)

// part is a value of self, for the compiler.
type part struct {
	*Reads
	path string
}

// partOf returns the part that an attribute leads to.
func (c *compiler) partOf(a *attr) *part {
	path, known := c.paths[a.node]
	t := a.typ
	for _, s := range a.steps {
		t = s.to
		step := int32(elementStep)
		if s.member != nil {
			step = s.member.Slot
		}
		known = known && (s.member != nil && step < textStep || s.from != nil && s.from.Kind == List)
		path += string([]byte{byte(step)})
	}
	c.reads.any = c.reads.any || !known || a.base != nil || a.optional || formatted(t.Kind) || len(path) >= maxSize
	c.reads.parts = append(c.reads.parts, path)
	return &part{c.reads, path}
}

// Code returns the parts for AppendKey: the paths with their lengths. It is "" without a key, or if the programs are
// about as fast.
func (r *Reads) Code() string {
	slices.Sort(r.parts)
	var code []byte
	left := r.closures - 2*minClosures
	for i, path := range r.parts {
		if i+1 == len(r.parts) || !strings.HasPrefix(r.parts[i+1], path) { // or else the next one includes it
			code = append(append(code, byte(len(path))), path...)
			left -= minClosures
		}
	}
	if r.any || left < 0 {
		return ""
	}
	return string(code)
}

// AppendKey appends the parts of a node by the Code of Reads. The key is nil if they are too large.
func AppendKey(key []byte, d *tree.Doc, i uint32, code string) []byte {
	for code != "" && key != nil {
		end := 1 + code[0]
		key = appendPart(key, d, i, code[1:end])
		code = code[end:]
	}
	return key
}

func appendPart(key []byte, d *tree.Doc, i uint32, path string) []byte {
	n := &d.Nodes[i]
	size, text := 0, ""
	switch {
	case n.Kind == tree.Null:
		size = len(path)
	case n.Kind == tree.Object && path != "" && path[0] < textStep && n.Flags&tree.Slotted != 0:
		return appendPart(key, d, d.Slots[n.Val+uint64(path[0])], path[1:])
	case n.Kind == tree.Array && (path == "" || path[0] == elementStep):
		size = int(n.Live)
	case n.Kind == tree.String && path != "" && path[0] == textStep:
		text = d.Str(i)
		size = len(text)
	case path != "":
		return nil
	}
	if size > maxSize || len(key)+size > maxKey {
		return nil
	}
	key = append(append(key, byte(n.Kind)<<5|byte(size)), text...)
	for c := n.First; c != 0 && path != "" && key != nil; c = d.Nodes[c].Next {
		key = appendPart(key, d, c, path[1:])
	}
	return key
}
