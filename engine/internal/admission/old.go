package admission

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/value"
)

// oldObject is the old object of an update in the Doc.
type oldObject struct {
	root uint32
	// converted says that it was read at another version, so that it lacks defaults of the request's version. Only the
	// fast path sets it.
	converted bool
	// The nodes of its tree, and the copies of some of them. They have no position in the text of the new object.
	from, to, copies, end uint32
	// taken is the copy that belongs to the new object.
	taken uint32
}

// has reports whether a node belongs to the old object.
func (o *oldObject) has(node uint32) bool {
	return o.root != 0 && (node >= o.from && node < o.to || node >= o.copies && node < o.end && node != o.taken)
}

// readOld reads the old object into the Doc as API servers read it from storage. The error is a Fault.
func (p *pass) readOld(v *Version) error {
	d, q := p.d, p.oldReader()
	defaults := d.Src[value.Defaults]
	if err := p.openOld(q); err != nil {
		return err
	}
	if d.Nodes[d.Field(q.root, "metadata")].Kind != value.Object {
		return ofOld(&Fault{Code: InvalidArgument, Text: "it has no metadata: no storage holds such an object"})
	}
	if !p.r.AsGiven || q.own != v {
		if err := q.fromStore(v.Name); err != nil {
			return ofOld(err)
		}
	}
	p.completeOld(q)
	p.old.root, p.old.to = q.root, uint32(len(d.Nodes))
	if q.out.Version != v || p.own != v { // a patch can change the version of the new object
		d.Own(p.old.from, p.old.to)
	}
	if defaults != nil {
		d.SetSource(value.Defaults, defaults)
	}
	return p.fitsOld()
}

// oldReader returns the pass that reads the old object into the Doc.
func (p *pass) oldReader() *pass {
	q := p.reader
	*q = pass{
		request: Request{Body: p.r.Old, YAML: p.r.OldYAML, Limits: p.r.Limits},
		ctx:     p.ctx, def: p.def, stop: p.stop, d: p.d, text: value.Old, source: fromStorage,
	}
	q.r, q.out = &q.request, &q.outcome
	p.old = oldObject{from: uint32(len(p.d.Nodes))}
	return q
}

// openOld parses the old object and reads its kind and apiVersion.
func (p *pass) openOld(q *pass) error {
	if err := q.readOther(); err != nil {
		return ofOld(err)
	}
	if !q.matches {
		return ofOld(&Fault{Code: InvalidArgument, Text: fmt.Sprintf("it is of %s, and the request is about %s.%s",
			q.of.GroupKind().String(), p.def.Kind, p.def.Group)})
	}
	return nil
}

// ofOld returns a Fault about the old object.
func ofOld(err error) error {
	var f *Fault
	if !errors.As(err, &f) {
		return internal(err)
	}
	if f.Code == Deadline || f.Code == Internal {
		return f
	}
	return about(f, "old object: ")
}

// fitsOld returns a Fault if the old object cannot be that of the request: API servers find it by name and namespace.
func (p *pass) fitsOld() error {
	if err := metadata.Fits(p.d, p.d.Field(p.old.root, "metadata")); err != nil {
		return ofOld(exceeded(err))
	}
	for _, part := range [...]struct{ key, want string }{{"name", p.r.Name}, {"namespace", p.r.Namespace}} {
		got, _ := p.metaString(p.old.root, part.key)
		if part.want != "" && got != part.want && (part.key == "name" || p.def.Namespaced) {
			return &Fault{Code: InvalidArgument, Text: fmt.Sprintf("old object: its %s is %q, that of the request %q",
				part.key, got, part.want)}
		}
	}
	return nil
}

// addressOld finds the endpoint of a request whose body does not name a version.
func (p *pass) addressOld() (*Version, error) {
	if p.r.Version == "" {
		if err := p.peekOld(func(q *pass) { p.r.Version = q.of.Version }); err != nil {
			return nil, err
		}
	}
	v, err := p.def.endpoint("version", p.r.Version)
	if err != nil {
		return nil, err
	}
	p.out.Version, p.out.Explained = v, true
	if p.unserved() {
		return v, nil
	}
	p.out.Warnings = slices.Clip(v.Warnings)
	if p.r.Status && !v.HasStatus || p.r.Scale && v.Scale == nil {
		name := p.r.Name
		if name == "" {
			err = p.peekOld(func(q *pass) { name = q.nameOf(q.root) })
		}
		p.out.Rejection = p.def.notFound(name)
	}
	return v, err
}

// peekOld calls use with the old object, and forgets it.
func (p *pass) peekOld(use func(*pass)) error {
	q := p.oldReader()
	if err := p.openOld(q); err != nil {
		return err
	}
	use(q)
	p.d.Reset()
	p.old = oldObject{}
	return nil
}

// setKnown makes the new object one of the endpoint's version, and the request one about the old object.
func (p *pass) setKnown(v *Version) {
	p.of.Group, p.of.Version, p.of.Kind = p.def.Group, v.Name, p.def.Kind
	p.matches, p.own = true, v
	p.addressAsOld()
}

// addressAsOld takes the name and the namespace of the request from the old object, unless the request has them.
func (p *pass) addressAsOld() {
	if p.r.Name == "" {
		p.r.Name = p.nameOf(p.old.root)
	}
	if p.r.Namespace == "" && p.def.Namespaced {
		namespace, _ := p.metaString(p.old.root, "namespace")
		p.r.Namespace = strings.Clone(namespace)
	}
}
