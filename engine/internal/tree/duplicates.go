package tree

import (
	"errors"
	"hash/maphash"
	"iter"

	kjson "sigs.k8s.io/json"
)

// fewMembers is the number of members up to which keys are compared pairwise. Larger objects use a hash table.
const fewMembers = 16

var seed = maphash.MakeSeed()

// superseded marks a member that a later one with the same key replaces. It is only set during dropDuplicates.
const superseded Flags = 1 << 7

// maxDuplicatePaths bounds the bytes of the paths of all duplicate keys. Upstream's strict decoder builds each of them,
// although it returns 100 at most: a document of 3 MiB with one long path takes it minutes.
const maxDuplicatePaths = 64 << 20

// dropDuplicates unlinks all members of an object but the last of each key. The parser calls it for objects in which
// two keys may be equal. Next of the object and of the containers around it is their parent.
func (d *Doc) dropDuplicates(object uint32, s Source) {
	if d.keepDuplicates {
		return
	}
	if d.Nodes[object].Live <= fewMembers {
		for c := d.Nodes[object].First; c != 0; c = d.Nodes[c].Next {
			for e := d.Nodes[c].Next; e != 0; e = d.Nodes[e].Next {
				if d.Nodes[c].KeyLen == d.Nodes[e].KeyLen && d.Key(c) == d.Key(e) {
					d.Nodes[c].Flags |= superseded
					break
				}
			}
		}
	} else {
		d.markByHash(object)
	}
	p := &d.Nodes[object]
	prev, path := uint32(0), 0
	for c := p.First; c != 0; c = d.Nodes[c].Next {
		if d.Nodes[c].Flags&superseded == 0 {
			prev = c
			continue
		}
		if path == 0 && d.duplicates[s] <= maxDuplicatePaths {
			for at := object; at != 0; at = d.Nodes[at].Next {
				path += 1 + int(d.Nodes[at].KeyLen)
			}
		}
		d.duplicates[s] += path
		d.Nodes[c].Flags &^= superseded
		p.Flags |= Lossy
		p.Live--
		if prev == 0 {
			p.First = d.Nodes[c].Next
		} else {
			d.Nodes[prev].Next = d.Nodes[c].Next
		}
	}
}

func (d *Doc) markByHash(object uint32) {
	size := 64
	for size < 2*int(d.Nodes[object].Live) {
		size *= 2
	}
	if cap(d.table) < size {
		d.table = make([]uint32, size)
	}
	table := d.table[:size]
	clear(table)
	for c := d.Nodes[object].First; c != 0; c = d.Nodes[c].Next {
		key := d.Key(c)
		at := int(maphash.String(seed, key)) & (size - 1)
		for table[at] != 0 && d.Key(table[at]) != key {
			at = (at + 1) & (size - 1)
		}
		if table[at] != 0 {
			d.Nodes[table[at]].Flags |= superseded
		}
		table[at] = c
	}
}

// Duplicate is a key that occurs more than once in an object.
type Duplicate struct {
	// Path is the field as upstream writes it, such as spec.items[0].name. It is ambiguous if keys contain dots or
	// brackets.
	Path string
	// Text is upstream's strict decoding error: duplicate field "spec.items[0].name". For the YAML body of a request, it
	// is the YAML library's text, one for the whole document, and Path is empty.
	Text string
	// Places are those of the second keys: one for JSON and manifests, and for the YAML body of a request one for each
	// line of Text after the first one.
	Places []DuplicatePlace
}

// HasDuplicates reports whether the text last parsed from the source has a duplicate key. It only reads a flag.
func (d *Doc) HasDuplicates(s Source) bool {
	return d.duplicates[s] > 0 || d.yaml[s] != nil && d.yaml[s].strict != nil
}

// Duplicates yields the duplicate keys of the text last parsed from the source as an API server's strict decoder
// reports them: in document order, each path once, at most 100. If there are any, it runs that decoder again. It yields
// nothing for the Arena.
func (d *Doc) Duplicates(s Source) iter.Seq[Duplicate] {
	return func(yield func(Duplicate) bool) {
		if y := d.yaml[s]; y != nil && y.strict != nil && !yield(Duplicate{Text: y.strict.Error(), Places: y.duplicatePlaces()}) {
			return
		}
		if d.duplicates[s] == 0 || s == Arena {
			return
		}
		places := d.duplicatePlaces(s)
		if d.work != nil {
			size := DecodedSize(d.Src[s])
			if !d.work.Grow(size) {
				return
			}
			defer d.work.Grow(-size)
		}
		var v any
		found, err := kjson.UnmarshalStrict(d.Src[s], &v, kjson.DisallowDuplicateFields)
		if err != nil {
			return // it parsed before, so the caller has changed the bytes
		}
		for _, f := range found {
			duplicate := Duplicate{Text: f.Error()}
			if field, ok := errors.AsType[kjson.FieldError](f); ok {
				duplicate.Path = field.FieldPath()
				duplicate.Places = []DuplicatePlace{places[duplicate.Path]}
			}
			if !yield(duplicate) {
				return
			}
		}
	}
}
