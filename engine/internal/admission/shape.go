package admission

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// shaping has the options of shape.
type shaping struct {
	metadata.Options
	keepNulls bool
	changes   bool // record removed fields in Outcome.Pruned
	nulls     bool // record dropped nulls there too
}

// undecoded is upstream's error about an object that shape cannot decode, with its reasons.
type undecoded struct {
	error
	reasons []violation.Violation
}

// shape does what upstream's coercing decoder does: it coerces metadata, and for an object of the CRD's type removes
// unknown fields and nulls, and coerces embedded metadata. unknown holds the unknown fields in upstream's order, if o
// asks for them or for changes. err is a Fault.
//
// Upstream: customresource_handler.go, unstructuredSchemaCoercer.apply.
func (p *pass) shape(o shaping) (unknown []plan.Change, failed *undecoded, err error) {
	o.Track = o.Track || o.changes
	var own []string // of the object's own metadata
	if quirk.On(quirk.MetadataRoundTrip) {
		whole := o.Options
		whole.RepairGeneration = o.Lenient && p.matches()
		_, fields, cause := metadata.Coerce(p.d, p.root, whole)
		if cause != nil {
			at := tree.Path{tree.Name("metadata")}
			return nil, &undecoded{cause, p.malformed(p.d.Field(p.root, "metadata"), at, cause)}, nil
		}
		own = fields
	}
	if o.changes {
		p.unknownMetadata(own)
	}
	unknown = appendUnknown(nil, own)
	if !p.matches() && quirk.On(quirk.PruneNullsDefaultOrder) {
		return unknown, nil, nil
	}
	compiled := nothing()
	if p.own != nil {
		compiled = p.own.Plan
	}
	if !p.def.PreserveUnknown {
		pruned, err := compiled.Prune(p.d, p.root, o.Track)
		if err != nil {
			return nil, nil, exceeded(err)
		}
		unknown = append(unknown, pruned...)
		if o.changes {
			p.out.Pruned = append(p.out.Pruned, p.changes(pruned)...)
		}
		if !o.keepNulls {
			nulls, err := compiled.DropNulls(p.d, p.root, o.nulls)
			if err != nil {
				return nil, nil, exceeded(err)
			}
			p.out.Pruned = append(p.out.Pruned, p.changes(nulls)...)
		}
	}
	embedded, found, err := compiled.CoerceEmbedded(p.d, p.root, o.Options)
	switch {
	case err != nil:
		return nil, nil, exceeded(err)
	case found != nil:
		return nil, &undecoded{found.Error, p.malformedEmbedded(found)}, nil
	}
	if o.changes {
		p.unknownMetadata(embedded)
	}
	if compiled.Root.Has(plan.Embedded) {
		// Upstream coerces the metadata of such a root twice, and reports its unknown fields twice.
		embedded = append(embedded, own...)
		slices.Sort(embedded)
	}
	return appendUnknown(unknown, embedded), nil, nil
}

// malformedEmbedded returns the reasons of a violation by apiVersion, kind or metadata of an embedded resource.
func (p *pass) malformedEmbedded(found *violation.Violation) []violation.Violation {
	if found.Path[len(found.Path)-1] == tree.Name("metadata") {
		return p.malformed(found.Node, found.Path, found.Error)
	}
	text := violation.WrongType("string", p.d.Nodes[found.Node].Kind)
	v := violation.Reason(violation.Decode, violation.TypeDecode, found.Field, text, found.Path)
	v.Node, v.Want = found.Node, "string"
	return []violation.Violation{v}
}

// appendUnknown appends the unknown fields with these texts, whose paths are not known.
func appendUnknown(list []plan.Change, texts []string) []plan.Change {
	list = slices.Grow(list, len(texts))
	for _, text := range texts {
		list = append(list, plan.Change{Text: text})
	}
	return list
}

// nothing returns the plan of a version that the CRD does not have. Upstream prunes such objects completely.
var nothing = sync.OnceValue(func() *plan.Plan {
	p, err := plan.Compile(nil, plan.Options{})
	if err != nil {
		panic(err) // an empty schema compiles
	}
	return p
})

// fill fills in the defaults of the object's own version. The error is a Fault.
func (p *pass) fill() error {
	if !p.matches() || p.own == nil {
		return nil
	}
	defaulted, err := p.own.Plan.Default(p.d, p.root, p.r.WantChanges, p.r.Limits)
	if err != nil {
		return exceeded(err)
	}
	p.out.Defaulted = p.changes(defaulted)
	return nil
}

// changes returns what the caller sees of a list. It counts the changes beyond the limits in Outcome.OmittedChanges.
func (p *pass) changes(list []plan.Change) []Change {
	size, fits := 0, 0
	for fits < len(list) {
		c := &list[fits]
		n := &p.d.Nodes[c.Node]
		bytes := len(c.Text) + int(n.End-n.Off) + 2 // a pointer is usually longer than upstream's text
		if !p.takeChange(bytes + len(c.Text)) {
			break
		}
		size, fits = size+bytes, fits+1
	}
	if omitted := len(list) - fits; omitted > 0 {
		p.out.OmittedChanges += omitted
		size *= 2 // the texts are copied, because each one keeps those of all omitted changes in memory
	}
	if fits == 0 || p.grow(int64(size+fits*int(unsafe.Sizeof(Change{})))) != nil {
		return nil
	}
	texts := tree.NewSlab(size)
	all := make([]Change, fits)
	for i, c := range list[:fits] {
		if fits < len(list) {
			c.Text = texts.Clone(c.Text)
		}
		all[i] = Change{Path: c.Path, Text: c.Text, Pointer: texts.Text(c.Path.AppendPointer),
			Value:    texts.Bytes(func(dst []byte) []byte { return p.d.AppendJSON(dst, c.Node) }),
			Position: p.keyPosition(p.d, c.Node, c.Path)}
	}
	return all
}

// takeChange counts a change with texts of some bytes. It returns false for changes beyond the limits.
func (p *pass) takeChange(bytes int) bool {
	l := p.r.Limits.WithDefaults()
	p.changeCount, p.changeBytes = p.changeCount+1, p.changeBytes+bytes
	return p.changeCount <= l.MaxViolations && p.changeBytes <= l.MaxViolationBytes
}

// keyPosition returns the position of a removed field in the body, or the zero Position for one that was filled in.
func (p *pass) keyPosition(d *tree.Doc, node uint32, path tree.Path) tree.Position {
	if p.text != tree.Request || p.r.Patch != 0 || d.Nodes[node].Src != tree.Request {
		return tree.Position{}
	}
	return d.KeyPosition(node, path)
}

// unknownMetadata records the unknown fields of metadata. Coercion returns only their paths, so their values are read
// from the body again.
func (p *pass) unknownMetadata(paths []string) {
	if len(paths) == 0 {
		return
	}
	fields := p.sent()
	if fields == nil {
		return
	}
	for i, text := range paths {
		if !p.takeChange(2 * len(text)) {
			p.out.OmittedChanges += len(paths) - i
			return
		}
		if i%64 == 63 && p.stop.Stopped() {
			return // the caller checks for the deadline
		}
		c := Change{Text: text}
		if path, node := fields.find(fields.root, text, nil); node != 0 {
			c.Path, c.Pointer, c.Value = path.Detach(), path.Pointer(), fields.d.AppendJSON(nil, node)
			c.Position = p.keyPosition(fields.d, node, path)
		}
		p.out.Pruned = append(p.out.Pruned, c)
	}
}

// sent returns the locator of the body as it was sent. It cannot be nil, since the body was read before.
func (p *pass) sent() *locator {
	if p.original == nil {
		d := p.acquire()
		root, err := p.parseAgain(d, tree.Limits{MaxBytes: len(p.json)})
		if err != nil {
			d.Release()
			return nil
		}
		p.original = &locator{d: d, root: root, finder: d.Finder(), stop: p.stop, steps: maxTried}
	}
	return p.original
}

// locator finds the nodes of upstream's path texts.
type locator struct {
	d      *tree.Doc
	root   uint32
	finder *tree.Finder
	stop   *interrupt.Signal
	steps  int // how many keys may still be tried
}

// maxTried bounds the keys that are tried for the paths of one answer.
const maxTried = 1 << 20

// find returns the node of a path text below a node and its path, or 0. at is the path of the node. A key may have dots
// and brackets, which make the text ambiguous: shorter keys are tried first.
func (l *locator) find(node uint32, text string, at tree.Path) (tree.Path, uint32) {
	if text == "" {
		return at, node
	}
	if l.d.Nodes[node].Kind == tree.Array {
		inner, rest, ok := strings.Cut(strings.TrimPrefix(text, "["), "]")
		if i, err := strconv.Atoi(inner); ok && err == nil && text[0] == '[' {
			if c := l.finder.Child(node, tree.At(i)); c != 0 {
				return l.find(c, rest, at.With(tree.At(i)))
			}
		}
		return nil, 0
	}
	if text[0] == '[' { // a key of a map
		if path, found := l.member(node, text[1:], "]", at); found != 0 {
			return path, found
		}
	}
	return l.member(node, strings.TrimPrefix(text, "."), ".[", at)
}

// member is find below a member of an object, whose key is followed by one of some characters. A bracket is a part of
// the key's notation, not of the rest.
func (l *locator) member(node uint32, text, ends string, at tree.Path) (tree.Path, uint32) {
	for end := range len(text) + 1 {
		closed := ends == "]" && end < len(text) && text[end] == ']'
		if end == len(text) && ends == "]" || end < len(text) && strings.IndexByte(ends, text[end]) < 0 {
			continue
		}
		if l.steps--; l.steps < 0 || l.steps&1023 == 0 && l.stop.Stopped() {
			break
		}
		c := l.finder.Field(node, text[:end])
		if c == 0 {
			continue
		}
		rest, step := text[end:], tree.Name(text[:end])
		if closed {
			rest, step = rest[1:], tree.Entry(text[:end])
		}
		if path, found := l.find(c, rest, at.With(step)); found != 0 {
			return path, found
		}
	}
	return nil, 0
}
