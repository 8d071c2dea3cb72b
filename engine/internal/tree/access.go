package tree

import (
	"math"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Key returns the key of an object member without copying it. It is "" for an array element and for a root.
func (d *Doc) Key(i uint32) string {
	n := &d.Nodes[i]
	if n.KeyLen == 0 {
		return ""
	}
	text := d.Src[n.KeySrc][n.Key : n.Key+n.KeyLen]
	return unsafe.String(&text[0], len(text))
}

// Str returns the content of a String without copying it.
func (d *Doc) Str(i uint32) string { return d.str(&d.Nodes[i]) }

func (d *Doc) str(n *Node) string {
	text := d.content(n)
	return unsafe.String(unsafe.SliceData(text), len(text))
}

func (d *Doc) content(n *Node) []byte {
	if n.Flags&Escaped != 0 {
		off, length := uint32(n.Val>>32), uint32(n.Val)
		return d.Src[Arena][off : off+length]
	}
	return d.Src[n.Src][n.Off+1 : n.End-1]
}

// Runes returns the length of a String in code points, which minLength and maxLength count.
func (d *Doc) Runes(i uint32) int {
	n := &d.Nodes[i]
	text := d.content(n)
	if n.Flags&Wide == 0 {
		return len(text)
	}
	return utf8.RuneCount(text)
}

// Int returns the value of an Int.
func (d *Doc) Int(i uint32) int64 { return int64(d.Nodes[i].Val) }

// Float returns the value of a Float.
func (d *Doc) Float(i uint32) float64 { return math.Float64frombits(d.Nodes[i].Val) }

// Number returns the value of an Int or a Float as a float64.
func (d *Doc) Number(i uint32) float64 {
	if d.Nodes[i].Kind == Int {
		return float64(int64(d.Nodes[i].Val))
	}
	return math.Float64frombits(d.Nodes[i].Val)
}

// Len returns the current number of members of an Array or Object.
func (d *Doc) Len(i uint32) int { return int(d.Nodes[i].Live) }

// Field returns the member of an Object with the given key, or 0. It is a linear search; the slots of
// a compiled plan are faster.
func (d *Doc) Field(object uint32, name string) uint32 {
	if d.Nodes[object].Kind != Object {
		return 0
	}
	for c := d.Nodes[object].First; c != 0; c = d.Nodes[c].Next {
		if int(d.Nodes[c].KeyLen) == len(name) && d.Key(c) == name {
			return c
		}
	}
	return 0
}

// Index returns the k-th element of an Array, counted from 0, or node 0.
func (d *Doc) Index(array uint32, k int) uint32 {
	if d.Nodes[array].Kind != Array || k < 0 {
		return 0
	}
	c := d.Nodes[array].First
	for ; c != 0 && k > 0; k-- {
		c = d.Nodes[c].Next
	}
	return c
}

// Raw returns the source text of the node without later edits below it. AppendJSON includes edits.
func (d *Doc) Raw(i uint32) []byte {
	n := &d.Nodes[i]
	return d.Src[n.Src][n.Off:n.End]
}

// Any returns the value as upstream stores it in an unstructured object: map[string]any, []any, int64, float64, string,
// bool or nil. It shares no memory with the Doc. The strings share their memory with each other, because many small
// allocations cost time when they are made and in each garbage collection.
func (d *Doc) Any(i uint32) any {
	var text strings.Builder
	text.Grow(d.textBytes(i))
	return d.any(i, &text)
}

// textBytes returns the length of all strings and keys of a value.
func (d *Doc) textBytes(i uint32) int {
	n := &d.Nodes[i]
	switch n.Kind {
	case String:
		return len(d.content(n))
	case Array, Object:
		length := 0
		for c := n.First; c != 0; c = d.Nodes[c].Next {
			length += int(d.Nodes[c].KeyLen) + d.textBytes(c)
		}
		return length
	}
	return 0
}

// any returns a value whose strings are parts of text. The text has the capacity for all of them.
func (d *Doc) any(i uint32, text *strings.Builder) any {
	n := &d.Nodes[i]
	switch n.Kind {
	case False:
		return false
	case True:
		return true
	case Int:
		return int64(n.Val)
	case Float:
		return math.Float64frombits(n.Val)
	case String:
		return appended(text, d.Str(i))
	case Array:
		list := make([]any, 0, n.Live)
		for c := n.First; c != 0; c = d.Nodes[c].Next {
			list = append(list, d.any(c, text))
		}
		return list
	case Object:
		object := make(map[string]any, n.Live)
		for c := n.First; c != 0; c = d.Nodes[c].Next {
			object[appended(text, d.Key(c))] = d.any(c, text)
		}
		return object
	}
	return nil
}

// appended appends a string to a text and returns the copy.
func appended(text *strings.Builder, s string) string {
	from := text.Len()
	text.WriteString(s)
	return text.String()[from:]
}
