package document

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// unbounded are limits for objects that were evaluated before.
var unbounded = Limits{MaxBytes: 1 << 30}

// JSONPatch returns the JSON Patch (RFC 6902) that turns one object into another, nil if they are equal. 1.0 equals 1, as
// an API server prints it. The operations are add, remove and replace. It replaces a container if that is shorter
// than the operations within it, so that a patch is not much larger than the object. The error is that of a text that is
// not an object in JSON, or that is larger than 1 GiB.
func JSONPatch(from, to []byte) (patch []byte, err error) {
	err = Read(from, unbounded, func(a Value) error {
		return Read(to, unbounded, func(b Value) error {
			for _, kind := range []tree.Kind{a.kind(), b.kind()} {
				if kind != tree.Object {
					return fmt.Errorf("the type is %s", kind)
				}
			}
			d := differ{from: a.doc, to: b.doc, had: a.doc.Finder(), has: b.doc.Finder()}
			d.members(a.node, b.node, unlimited)
			if len(d.out) > 0 {
				d.out = append(d.out, ']')
			}
			patch = d.out
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("compare two objects: %w", err)
	}
	return patch, nil
}

// differ walks two trees side by side.
type differ struct {
	from, to *tree.Doc
	had, has *tree.Finder
	path     []byte // a JSON pointer
	out      []byte // the operations so far, without the bracket that closes the list
}

// unlimited is the bound of the whole object, which is never replaced.
const unlimited = math.MaxInt

// members compares two objects, until the operations reach most bytes.
func (d *differ) members(a, b uint32, most int) {
	above := len(d.path)
	for c := d.from.Nodes[a].First; c != 0 && len(d.out) <= most; c = d.from.Nodes[c].Next {
		d.enter(d.from.Key(c))
		if e := d.has.Field(b, d.from.Key(c)); e != 0 {
			d.values(c, e)
		} else {
			d.operation("remove", 0)
		}
		d.path = d.path[:above]
	}
	for e := d.to.Nodes[b].First; e != 0 && len(d.out) <= most; e = d.to.Nodes[e].Next {
		if d.had.Field(a, d.to.Key(e)) == 0 {
			d.enter(d.to.Key(e))
			d.operation("add", e)
			d.path = d.path[:above]
		}
	}
}

// elements compares two arrays of the same length, until the operations reach most bytes.
func (d *differ) elements(a, b uint32, most int) {
	above := len(d.path)
	for c, e, i := d.from.Nodes[a].First, d.to.Nodes[b].First, 0; c != 0 && e != 0 && len(d.out) <= most; c, e, i = d.from.Nodes[c].Next, d.to.Nodes[e].Next, i+1 {
		d.path = strconv.AppendInt(append(d.path, '/'), int64(i), 10)
		d.values(c, e)
		d.path = d.path[:above]
	}
}

// values compares the values of one path.
func (d *differ) values(a, b uint32) {
	m, n := &d.from.Nodes[a], &d.to.Nodes[b]
	before := len(d.out)
	most := before + len(d.path) + len(d.to.Raw(b)) + len(`{"op":"replace","path":"","value":},`)
	switch {
	case m.Kind == tree.Object && n.Kind == tree.Object:
		d.members(a, b, most)
	case m.Kind == tree.Array && n.Kind == tree.Array && m.Live == n.Live:
		d.elements(a, b, most)
	case m.Kind == tree.Array || n.Kind == tree.Array || m.Kind == tree.Object || n.Kind == tree.Object:
		d.operation("replace", b)
		return
	default:
		if string(d.from.AppendCanonical(nil, a)) != string(d.to.AppendCanonical(nil, b)) {
			d.operation("replace", b)
		}
		return
	}
	if len(d.out) > most {
		d.out = d.out[:before]
		d.operation("replace", b)
	}
}

func (d *differ) enter(key string) {
	d.path = append(d.path, '/')
	if strings.ContainsAny(key, "~/") {
		key = tree.EscapePointer(key)
	}
	d.path = append(d.path, key...)
}

// operation adds an operation at the current path, with a value of the new tree unless that is 0.
func (d *differ) operation(op string, with uint32) {
	begin := byte(',')
	if len(d.out) == 0 {
		begin = '['
	}
	d.out = append(append(append(d.out, begin), `{"op":"`...), op...)
	d.out = tree.AppendCanonicalString(append(d.out, `","path":`...), string(d.path))
	if with != 0 {
		d.out = d.to.AppendJSON(append(d.out, `,"value":`...), with)
	}
	d.out = append(d.out, '}')
}
