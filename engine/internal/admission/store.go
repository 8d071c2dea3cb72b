package admission

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"strconv"

	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// Admit evaluates a whole write: a creation, or an update if there is an old object, and its effect on the storage. The
// error is a *Fault.
func (d *Definition) Admit(ctx context.Context, r *Request) (Outcome, error) {
	if d.Storage == nil {
		return Outcome{}, &Fault{Code: VersionNotFound,
			Text: d.Name + " has no storage version: no object of it can be stored, and API servers answer none of its requests"}
	}
	return d.run(ctx, r, func(p *pass) error {
		p.storing = true
		return p.write()
	})
}

// respond sets the outcome of a write without violations. The tree is the object as the strategy leaves it.
func (p *pass) respond(v *Version) error {
	switch {
	case !p.storing:
		p.out.ReadsAsWritten = p.out.Rejection == nil && p.readsAsWritten(v)
		p.object()
		return nil
	case p.out.Rejection != nil:
		return nil
	}
	items := p.d.Field(p.root, "items")
	asList := !p.r.Scale && items != 0 && p.d.Nodes[items].Kind == tree.Array
	err := p.written(v)
	if asList && p.out.Rejection == nil {
		p.warnAbout(violation.TypeNotice, Notice+takenForList, "items", tree.Path{tree.Name("items")})
	}
	return err
}

// written sets the outcome of a write that continues to the storage.
func (p *pass) written(v *Version) error {
	switch {
	case p.hasRevision():
		p.reject(statusless("resourceVersion should not be set on objects to be created"),
			p.about(violation.Request, "must not be set on an object that is created", "metadata", "resourceVersion"))
		return nil
	case p.deletes():
		p.out.Deletes = true
		p.removeCompleted()
		p.present(v)
		return nil
	}
	for _, key := range setByStorage {
		p.remove(key)
	}
	p.compareOld(v)
	switch {
	case p.readsAsWritten(v):
		p.present(v)
		p.compareStored(p.out.Object)
		return nil
	case p.out.Exact || p.lossy() || !p.def.renames():
		return p.store(v)
	case p.storeFast(v):
		return nil
	}
	return p.restartExact()
}

// setByStorage are the fields of metadata that the storage sets when it reads an object, and does not keep.
//
// Upstream: storage/api_object_versioner.go, PrepareObjectForStorage.
var setByStorage = []string{"resourceVersion", "selfLink"}

// compareOld sets Outcome.Unchanged of an update, or old.byText if only the stored texts can tell. Without a new
// generation, only an update of the status has changed more than metadata.
func (p *pass) compareOld(v *Version) {
	d, old := p.d, &p.old
	if old.root == 0 || !p.sameGeneration() {
		return
	}
	old.byText = !p.r.OldDecoded &&
		(v != p.def.Storage || p.lossy() || d.Nodes[old.root].Flags&(tree.Dirty|tree.Lossy) != 0)
	p.out.Unchanged = !old.byText && same(d, p.root, d, old.root, partKept) &&
		(!p.r.Status || same(d, p.root, d, old.root, partContent))
}

// compareStored sets Outcome.Unchanged if compareOld could not. text is what is stored, nil if it was not printed yet.
func (p *pass) compareStored(text []byte) {
	if !p.old.byText {
		return
	}
	if text == nil {
		text = p.printed()
	}
	p.out.Unchanged = sameText(text, p.reader.json, partStored)
}

// takenForList warns of an object that API servers take for a list in their answer.
//
// Upstream: apimachinery, unstructured.go, IsList; endpoints/handlers/response.go, transformResponseObject.
const takenForList = `an object with a list "items" at its root is stored, but API servers answer the write, ` +
	"and each GET of the object, with 500 *unstructured.Unstructured is not a list: no Items field in this object"

// deletes reports whether the update removes the last finalizer of an object that is being deleted.
//
// Upstream: registry/generic/registry/store.go, ShouldDeleteDuringUpdate.
func (p *pass) deletes() bool {
	d := p.d
	if p.old.root == 0 || d.Nodes[p.finalizerList(p.root)].First != 0 {
		return false
	}
	old := d.Field(p.old.root, "metadata")
	if d.Field(old, "deletionTimestamp") == 0 {
		return false
	}
	grace := d.Field(old, "deletionGracePeriodSeconds")
	return grace == 0 || d.Nodes[grace].Kind == tree.Int && d.Int(grace) == 0
}

// hasRevision reports whether an object that is created has a resourceVersion other than 0. A dry run does not check
// this.
//
// Upstream: storage/etcd3/store.go, Create.
func (p *pass) hasRevision() bool {
	text, _ := p.metaString(p.root, "resourceVersion")
	revision, err := strconv.ParseUint(cmp.Or(text, "0"), 10, 64)
	return p.old.root == 0 && err == nil && revision != 0
}

// readsAsWritten reports whether reading the object back from storage leaves it unchanged. An accepted object is
// pruned, defaulted and normalized. It can change if a status with a default was dropped, or taken from an old object
// of another version.
func (p *pass) readsAsWritten(v *Version) bool {
	creating := p.old.root == 0
	if p.out.Exact || v != p.def.Storage || p.def.unreviewed() || p.old.converted || creating && v.HasStatus && v.Plan.DefaultsStatus() {
		return false
	}
	return !p.lossy()
}

// lossy reports whether a value is printed differently than it was read: storage returns -0.0 as 0.
func (p *pass) lossy() bool {
	flags := p.d.Nodes[p.root].Flags
	if status := p.d.Field(p.root, "status"); status != 0 {
		flags |= p.d.Nodes[status].Flags
	}
	return flags&tree.Lossy != 0
}

// storeFast is store for an object on the fast path. It prints the tree and shapes it again in place. If it returns
// false, the tree is in an undefined state.
func (p *pass) storeFast(v *Version) bool {
	d, s := p.d, p.def.Storage
	mode := plan.Mode{Limits: p.r.Limits, Stop: p.stop}
	if s != v && !p.convertFast(s, mode) || d.Field(d.Field(p.root, "metadata"), "generation") == 0 {
		return false
	}
	if p.r.WantObject {
		p.out.Stored = p.printed()
	}
	p.compareStored(p.out.Stored)
	if !s.Plan.AcceptStored(d, p.root, mode) || s != v && !p.convertFast(v, mode) {
		return false
	}
	if p.present(v); s == v && bytes.Equal(p.out.Stored, p.out.Object) {
		p.out.Stored = nil
	}
	return true
}

// convertFast converts the tree to another version. The conversion must change only apiVersion.
func (p *pass) convertFast(to *Version, mode plan.Mode) bool {
	d := p.d
	if len(d.Src[tree.Defaults]) > 0 {
		d.Own(1, uint32(len(d.Nodes)))
	}
	p.put(p.root, "apiVersion", p.plainText(to.APIVersion))
	return to.Plan.AcceptConverted(d, p.root, mode)
}

// restartExact evaluates the request again on the exact path.
func (p *pass) restartExact() error {
	p.r.Exact, p.attempt = true, attempt{}
	return p.writeBody()
}

// store sets the stored object, and reads it back.
//
// Upstream: storage/etcd3/store.go; customresource_handler.go, crdConversionRESTOptionsGetter: an object of the storage
// version is neither converted nor coerced before it is stored; whatever is read is both.
func (p *pass) store(v *Version) error {
	p.creating = p.old.root == 0
	if p.r.Status { // apiVersion and kind are those of the old object
		p.declare(v)
	}
	if p.def.Storage != v {
		if err := p.convert(p.def.Storage.Name); err != nil {
			return p.failed(err)
		}
	} else if !quirk.On(quirk.StoredWithoutStatusDefaults) {
		p.present(v)
		p.compareStored(p.out.Object)
		return nil
	}
	text := p.printed()
	p.compareStored(text)
	limits := p.r.Limits.WithDefaults()
	limits.MaxBytes = max(limits.MaxBytes, len(text))
	back := Request{Body: text, Limits: limits, Target: v.Name, WantObject: p.r.WantObject, Show: p.r.Show}
	out, err := p.def.run(p.ctx, &back, func(q *pass) error {
		q.completed, q.storing, q.creating = p.completed, true, p.creating
		err := q.readStored()
		if err == nil && p.r.Scale {
			_, _, p.unscaled = v.Scale.read(q.d, q.root)
		}
		return err
	})
	if err != nil || !p.r.WantObject {
		return p.failed(err)
	}
	p.out.Object = out.Object
	p.out.Changed = p.r.WantChanged && !sameText(p.json, out.Object, partStored)
	if len(p.completed) > 0 {
		p.removeCompleted()
		text = p.d.AppendJSON(text[:0], p.root)
	}
	if !sameText(text, out.Object, partWhole) {
		p.out.Stored = text
	}
	return nil
}

// failed turns a Fault into a rejection if API servers answer with an error.
func (p *pass) failed(err error) error {
	var f *Fault
	if err == nil || !errors.As(err, &f) || f.Code != ObjectRejected {
		return err
	}
	p.out.Rejection, p.out.Violations = statusless(f.Rejection.Cause), f.Violations
	return nil
}

// locate sets the positions of violations, which do not depend on the Doc afterwards.
func (p *pass) locate(found []violation.Violation) []violation.Violation {
	if len(found) == 0 {
		return nil
	}
	for i := range found {
		if i%64 == 63 && p.stop.Stopped() {
			break // the caller checks for the deadline
		}
		v := &found[i]
		switch {
		case p.text != tree.Request:
		case !p.old.has(v.Node):
			v.Position = v.Locate(p.d)
		case len(v.Path) == 0: // a write to the status keeps the old object, but is about the request
			v.Position = p.d.PositionAt(nil)
		}
		v.Node = 0
	}
	return found
}

// grown returns an empty buffer for printing an object that was parsed from the text. Objects usually grow by
// metadata.generation and some defaults.
func grown(text []byte) []byte { return make([]byte, 0, len(text)+len(text)/8+128) }

// printed prints the object.
func (p *pass) printed() []byte { return p.d.AppendJSON(grown(p.json), p.root) }

// object prints the object and compares it with the body, as far as the request asks for it. On the fast path, a dirty
// object counts as changed without a comparison.
func (p *pass) object() {
	if !p.r.WantObject && !p.r.WantChanged {
		return
	}
	flags := p.d.Nodes[p.root].Flags
	edited := flags&(tree.Dirty|tree.Lossy) != 0
	object := p.d.Raw(p.root)
	if edited || p.r.WantObject && flags&tree.Spaced != 0 {
		object = p.printed()
	}
	if edited {
		compare := partWhole
		if p.storing && p.r.Stage != StageDecode {
			compare = partStored
		}
		p.out.Changed = p.r.WantChanged && (!p.out.Exact || !sameText(p.json, object, compare))
	}
	if p.r.WantObject {
		p.out.Object = object
	}
}

// present prints the object and passes it to Request.Show.
func (p *pass) present(v *Version) {
	p.object()
	if p.r.Show != nil {
		p.r.Show(v, Tree{p.d, p.root, p.stop})
	}
}
