package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/convert"
	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/value"
)

// Update evaluates an update of r.Old or of its status up to the storage. It does not compare the resourceVersion with
// that of the storage. by calls the CRD's webhook if the old object is of another version. The error is a *Fault.
//
// Upstream: registry/rest/update.go, BeforeUpdate.
func (d *Definition) Update(ctx context.Context, r *Request, by convert.Converter) (Outcome, error) {
	return d.run(ctx, r, func(p *pass) error { return p.update(by) })
}

func (p *pass) update(by convert.Converter) error {
	p.by = by
	switch {
	case p.r.Scale:
		return p.updateScale()
	case p.r.Patch != 0:
		return p.updatePatched()
	}
	return p.updateBody(by)
}

func (p *pass) updateBody(by convert.Converter) error {
	endpoint, err := p.address()
	switch {
	case err != nil || p.out.Rejection != nil:
		return err
	case p.r.AsGiven:
		return p.judgeUpdateAsGiven(endpoint, by)
	case p.r.Stage == StageFinish:
		return p.resumeUpdate(endpoint)
	case p.r.Stage == StageDecode && p.acceptDecoded(endpoint):
		return p.decoded()
	case p.r.Stage == StageWhole && p.acceptUpdate(endpoint):
		return p.respond(endpoint)
	}
	if err := expired(p.ctx); err != nil {
		return err
	}
	return p.explainUpdate(endpoint, by)
}

// explainUpdate evaluates an update on the exact path.
func (p *pass) explainUpdate(v *Version, by convert.Converter) error {
	if rejected, err := p.decode(v); rejected || err != nil {
		return err
	}
	early := p.r.CompleteMetadata && !p.r.Patched
	if early {
		if err := p.readOld(v, by); err != nil {
			return err
		}
		p.complete()
	}
	if p.r.Handler && p.handle() {
		return nil
	}
	if !early { // API servers read the stored object last
		if err := p.readOld(v, by); err != nil {
			return err
		}
	}
	if err := expired(p.ctx); err != nil {
		return err
	}
	switch {
	case p.checkUID():
		return nil
	case p.r.Stage == StageDecode:
		return p.decoded()
	}
	if p.r.Patched {
		p.finishPatched()
	}
	return p.change(v)
}

// change validates the new object against the old one: the steps after mutating admission.
func (p *pass) change(v *Version) error {
	if p.r.Whole && (p.checkRevision() || p.requireRevision() || p.requireAPIVersion()) {
		return nil
	}
	if p.r.Status {
		p.prepareStatus()
	} else {
		p.prepareUpdate(v)
	}
	return p.judge(v, p.validateUpdate)
}

// judgeUpdateAsGiven validates both trees as they were parsed. An old object of another version is converted.
func (p *pass) judgeUpdateAsGiven(v *Version, by convert.Converter) error {
	if rejected, err := p.takeAsGiven(); rejected || err != nil {
		return err
	}
	if err := p.readOld(v, by); err != nil {
		return err
	}
	p.complete()
	return p.judge(v, p.validateUpdate)
}

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
func (p *pass) readOld(v *Version, by convert.Converter) error {
	if err := expired(p.ctx); err != nil {
		return err
	}
	d, q := p.d, p.oldReader()
	defaults := d.Src[value.Defaults]
	if err := p.readStored(q, v, by); err != nil {
		return ofOld(err)
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

func (p *pass) readStored(q *pass, v *Version, by convert.Converter) error {
	if err := q.readOther(); err != nil {
		return err
	}
	if err := expired(p.ctx); err != nil {
		return err
	}
	if !q.matches {
		text := fmt.Sprintf("it is of %s, and the request is about %s.%s", q.of.GroupKind().String(), p.def.Kind,
			p.def.Group)
		return &Fault{Code: InvalidArgument, Text: text}
	}
	if q.d.Nodes[q.d.Field(q.root, "metadata")].Kind != value.Object {
		return &Fault{Code: InvalidArgument, Text: "it has no metadata: no storage holds such an object"}
	}
	if p.r.AsGiven && q.own == v {
		return nil
	}
	return q.fromStore(v.Name, by)
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
	about := *f
	about.Text = "old object: " + strings.TrimPrefix(f.Text, "object: ")
	return &about
}

// fitsOld returns a Fault if the old object cannot be that of the request: API servers find it by name and namespace.
func (p *pass) fitsOld() error {
	meta := p.d.Field(p.old.root, "metadata")
	if err := metadata.Fits(p.d, meta); err != nil {
		return ofOld(exceeded(err))
	}
	for _, part := range [...]struct{ key, want string }{{"name", p.r.Name}, {"namespace", p.r.Namespace}} {
		got, _ := p.metaString(meta, part.key)
		if part.want != "" && got != part.want && (part.key == "name" || p.def.Namespaced) {
			return &Fault{Code: InvalidArgument, Text: fmt.Sprintf("old object: its %s is %q, that of the request %q",
				part.key, got, part.want)}
		}
	}
	return nil
}
