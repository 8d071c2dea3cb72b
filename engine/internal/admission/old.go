package admission

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/tree"
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
	// byText says that only a comparison of the stored texts can tell whether the update changes anything.
	byText bool
}

// has reports whether a node belongs to the old object.
func (o *oldObject) has(node uint32) bool {
	return o.root != 0 && (node >= o.from && node < o.to || node >= o.copies && node < o.end && node != o.taken)
}

// readOld reads the old object into the Doc as API servers read it from storage. The error is a Fault.
func (p *pass) readOld(v *Version) error {
	d, q := p.d, p.oldReader()
	defaults := d.Src[tree.Defaults]
	if err := p.openOld(q); err != nil {
		return err
	}
	if d.Nodes[d.Field(q.root, "metadata")].Kind != tree.Object {
		return ofOld(&Fault{Code: InvalidArgument, Text: "it has no metadata: no storage holds such an object"})
	}
	switch {
	case p.r.OldDecoded && q.own != v:
		return ofOld(&Fault{Code: InvalidArgument, Text: fmt.Sprintf(
			"it is of %s, and one that is decoded must be of the version of the request, %s", q.of.GroupVersion(), v.APIVersion)})
	case !p.r.OldDecoded && (!p.r.AsGiven || q.own != v):
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
		d.SetSource(tree.Defaults, defaults)
	}
	return p.fitsOld()
}

// oldReader returns the pass that reads the old object into the Doc.
func (p *pass) oldReader() *pass {
	q := &p.reader
	*q = pass{
		call: call{
			ctx: p.ctx, stop: p.stop, def: p.def,
			r: Request{Body: p.r.Old, YAML: p.r.OldYAML, Origin: p.r.OldOrigin, Limits: p.r.Limits},
		},
		document: document{d: p.d, text: tree.Old, source: fromStorage},
	}
	p.old = oldObject{from: uint32(len(p.d.Nodes))}
	return q
}

// openOld parses the old object and reads its kind and apiVersion.
func (p *pass) openOld(q *pass) error {
	if err := q.readOther(); err != nil {
		return ofOld(err)
	}
	if !q.matches() {
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
	p.out.Version, p.out.Exact = v, true
	if p.unserved() {
		return v, nil
	}
	p.warnDeprecated(v)
	if p.r.Status && !v.HasStatus || p.r.Scale && v.Scale == nil {
		name := p.r.Name
		if name == "" {
			err = p.peekOld(func(q *pass) { name = q.nameOf(q.root) })
		}
		p.reject(p.def.notFound(name))
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
	p.declare(v)
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

// complete fills in what a server or a client would have set, if the request asks for it: the namespace and a generated
// name; for an update, the old object's name, namespace and resourceVersion. A patched object has those already.
func (p *pass) complete() {
	if !p.r.CompleteMetadata || p.r.Patched {
		return
	}
	meta := p.d.Field(p.root, "metadata")
	if meta != 0 && p.d.Nodes[meta].Kind != tree.Object {
		return
	}
	if p.old.root != 0 {
		for _, key := range [...]string{"name", "namespace", "resourceVersion"} {
			before, _ := p.metaString(p.old.root, key)
			p.fillIn(key, before)
		}
		p.fillRevision()
		return
	}
	if p.def.Namespaced {
		p.fillIn("namespace", cmp.Or(p.r.Namespace, metav1.NamespaceDefault))
	}
	base, _ := p.metaString(p.root, "generateName")
	switch {
	case p.r.GeneratedName != "" && base != "": // generateName sets it
	case p.r.Name != "":
		p.fillIn("name", p.r.Name)
	case base != "":
		p.fillIn("name", metadata.GeneratedName(base))
	}
}

// fillIn sets an absent field of metadata for the time of the evaluation, unless the text is empty or the request
// handler sets the field.
func (p *pass) fillIn(key, text string) {
	present, ok := p.metaString(p.root, key)
	ok = ok || key == "name" // a server generates a name if that of mutating admission is not a string
	if !ok || present != "" || text == "" || key == "namespace" && p.r.Namespace != "" && p.r.Handler && !p.r.AsGiven {
		return
	}
	p.set(key, text)
	p.completed = append(p.completed, key)
}

// fillRevision fills in a resourceVersion if neither the body nor the old object has one.
func (p *pass) fillRevision() {
	if before, _ := p.metaString(p.old.root, "resourceVersion"); before == "" {
		p.fillIn("resourceVersion", "1")
	}
}

// generateName gives an object that is created with a generateName and no name the generated name of the request.
//
// Upstream: registry/generic/registry/store.go, create.
func (p *pass) generateName() {
	if p.r.GeneratedName == "" {
		return
	}
	name, _ := p.metaString(p.root, "name")
	base, _ := p.metaString(p.root, "generateName")
	if name == "" && base != "" {
		p.set("name", p.r.GeneratedName)
		p.generated = true
	}
}

// completeOld fills in the namespace of an old object that comes from a file: that of the request or of the new object.
func (p *pass) completeOld(q *pass) {
	if !p.r.CompleteMetadata || !p.def.Namespaced {
		return
	}
	before, ok := q.metaString(q.root, "namespace")
	if !ok || before != "" {
		return
	}
	namespace := p.r.Namespace
	if namespace == "" {
		p.borrowedNamespace = true // also of the patched object, which is evaluated with the old one read again
		namespace, _ = p.metaString(p.root, "namespace")
		namespace = cmp.Or(namespace, metav1.NamespaceDefault)
	}
	q.set("namespace", namespace)
	if p.borrowedNamespace && (p.r.Patched || p.r.Scale) { // the new object takes it from the old one
		p.completed = append(p.completed, "namespace")
	}
}

// removeCompleted removes the fields that fillIn set.
func (p *pass) removeCompleted() {
	for _, key := range p.completed {
		p.remove(key)
	}
}
