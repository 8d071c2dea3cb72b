package admission

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/patch"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// patching is a patch while it is applied. It exists as long as the request: messages show the patched object, and
// violations have positions in the patch.
type patching struct {
	doc   *tree.Doc // of the patch
	held  *tree.Doc // of the object that is patched
	patch patch.Document
	tree  *patch.Tree

	// The errors of strict decoding about the patch itself: unknown fields, and why it is malformed.
	unknown   []StrictError
	malformed error
}

// release returns the Docs to their pool. After a panic they are left to the garbage collector.
func (q *patching) release() {
	q.doc.Release()
	if q.held != nil {
		q.held.Release()
	}
}

// updatePatched applies the patch to the old object at the request's version, and continues with the result like with
// the body of an update. Request.Patched marks the differences.
//
// Upstream: endpoints/handlers/patch.go, PatchResource, patchResource and applyPatch.
func (p *pass) updatePatched() error {
	v, err := p.addressOld()
	if err != nil || p.out.Rejection != nil {
		return err
	}
	if rejected, err := p.readPatch(); rejected || err != nil {
		return err
	}
	if err := p.readOld(v); err != nil {
		return err
	}
	p.addressAsOld()
	q := p.patching
	q.held, p.d = p.d, p.acquire()
	rejected, err := p.apply(p.old.root, false)
	if rejected || err != nil {
		return err
	}
	p.r.Body, p.r.YAML, p.r.Origin, p.r.Patched, p.r.Whole = q.tree.AppendJSON(nil), false, nil, true, true
	p.r.Exact = p.r.Exact || len(q.unknown) > 0
	p.document, p.attempt = document{d: p.d}, attempt{}
	if err := p.conclude(p.writeBody()); err != nil {
		if f := new(Fault); errors.As(err, &f) && f.Code == LimitExceeded {
			return about(f, "patched object: ")
		}
		return err
	}
	p.positionInPatch(q.puts())
	p.out.Changed = true // the body is a patch and not an object
	return nil
}

// readPatch reads the patch.
//
// Upstream: endpoints/handlers/patch.go, validateAndTranscodePatch.
func (p *pass) readPatch() (rejected bool, err error) {
	q := &patching{doc: p.acquire()}
	p.patching = q
	q.patch = patch.Document{Type: p.r.Patch, Doc: q.doc, Text: p.r.Body}
	if p.r.YAML {
		q.patch.Text, _, q.patch.Root, err = q.doc.ConvertYAML(p.r.Body, tree.Request, p.r.Origin, p.r.Limits)
	} else {
		q.patch.Root, err = q.doc.ParseAt(q.patch.Text, tree.Request, p.r.Origin, p.r.Limits)
	}
	limit := new(tree.LimitError)
	switch {
	case err == nil:
	case errors.As(err, &limit):
		return false, about(exceeded(err), "patch: ")
	default:
		if late := expired(p.ctx); late != nil {
			return false, late
		}
		text := "invalid JSON patch"
		if json.Valid(q.patch.Text) { // a number outside of float64
			text = q.patch.OutOfRange(err, p.r.FieldValidation != Ignore)
		}
		p.reject(badRequest(text, text), SyntaxReason(err))
		p.note("the patch cannot be read: " + err.Error())
		return true, nil
	}
	if p.r.FieldValidation != Ignore {
		var list []patch.Unknown
		list, q.malformed = q.patch.Decode()
		q.unknown = q.strictErrors(list)
	}
	return false, nil
}

// strictErrors returns the errors of strict decoding about the patch itself.
func (q *patching) strictErrors(list []patch.Unknown) (all []StrictError) {
	fields := &locator{d: q.doc, root: q.patch.Root, finder: q.doc.Finder(), steps: maxTried}
	var repeats map[string][]tree.DuplicatePlace
	for _, u := range list {
		s := StrictError{Text: u.Text, of: violation.TypeUnknownField, field: u.Field}
		if u.Duplicate {
			if repeats == nil {
				repeats = map[string][]tree.DuplicatePlace{}
				for duplicate := range q.doc.Duplicates(tree.Request) {
					repeats[duplicate.Path] = duplicate.Places
				}
			}
			s.of, s.repeats = violation.TypeDuplicateField, repeats[u.Field]
			for i := range s.repeats {
				if q.patch.Type == patch.JSON {
					s.repeats[i].Path = nil // it leads to a part of the patch and not of the object
				}
			}
		} else if path, node := fields.find(fields.root, u.Field, nil); node != 0 {
			s.at = q.doc.KeyPosition(node, path)
		}
		all = append(all, s)
	}
	return all
}

// apply applies the patch to the object at a node of patching.held. printed says that upstream printed its text.
func (p *pass) apply(root uint32, printed bool) (rejected bool, err error) {
	q := p.patching
	o := patch.Object{Doc: q.held, Root: root, Printed: printed}
	if err = q.malformed; err == nil {
		q.tree, err = patch.Apply(o, q.patch, p.stop)
	}
	e, limit := new(patch.Error), new(tree.LimitError)
	switch {
	case err == nil:
		return false, nil
	case errors.As(err, &limit):
		return false, about(exceeded(err), "patch: ")
	case !errors.As(err, &e):
		return false, internal(err)
	}
	switch e.Code {
	case http.StatusBadRequest:
		p.out.Rejection = badRequest(e.Text, e.Text)
	case http.StatusUnprocessableEntity:
		p.out.Rejection = rejectionOf(apierrors.NewGenericServerResponse(e.Code, "", schema.GroupResource{}, "",
			e.Detail, 0, false))
	case http.StatusRequestEntityTooLarge:
		p.out.Rejection = rejectionOf(apierrors.NewRequestEntityTooLargeError(e.Text))
	default:
		p.out.Rejection = statusless(e.Text)
	}
	p.out.Violations = q.reasons(e)
	if e.Detail != "" {
		p.note("the patch was not applied: " + e.Detail)
	}
	return true, nil
}

// reasons returns why a patch was not applied. The positions are those of the patch.
func (q *patching) reasons(e *patch.Error) []violation.Violation {
	list := q.patch.Mismatches()
	if e.Operation >= 0 || len(list) == 0 {
		v := violation.Reason(violation.Request, violation.TypeRejected, "", e.Error(), nil)
		v.Node = max(q.doc.Index(q.patch.Root, e.Operation), q.patch.Root)
		list = append(list[:0], v)
	}
	for i := range list {
		v := &list[i]
		v.Position = q.doc.PositionOf(v.Node, v.Path)
		v.Path, v.Node = nil, 0 // they lead to a part of the patch and not of the object
	}
	return list
}

// rejectPatched returns the rejection of a patched object that cannot be decoded, or that has unknown fields where
// these are rejected.
//
// Upstream: endpoints/handlers/patch.go, applyPatchToCurrentObject.
func (p *pass) rejectPatched(cause string) *Rejection {
	if !utf8.ValidString(cause) {
		cause = string([]rune(cause)) // as JSON encodes it in a Status
	}
	e := field.Invalid(field.NewPath("patch"), string(p.patching.tree.Printed()), cause)
	r := rejectionOf(apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{e}))
	r.Cause = cause
	return r
}

// maxPatchSearch bounds the search for positions in a JSON patch: violations times operations.
const maxPatchSearch = 1 << 20

// positionInPatch sets the positions of violations to those of the values in the patch. A violation about a value that
// is not in the patch has no position. If there are too many violations and operations, none has one.
func (p *pass) positionInPatch(puts []put) {
	lists := [...][]violation.Violation{p.out.Violations, p.out.Ratcheted, p.out.Next}
	n := len(p.out.Pruned) + len(p.out.Warnings)
	for _, list := range lists {
		n += len(list)
	}
	if n*len(puts) > maxPatchSearch {
		puts = nil
	}
	var finder *tree.Finder
	if len(puts) > 0 {
		finder = p.patching.doc.Finder()
	}
	searched := 0
	find := func(path tree.Path) (node uint32, at tree.Path) { // of several operations the last one counts
		if searched++; searched%64 == 0 && p.stop.Stopped() {
			puts = nil // the caller checks for the deadline
		}
		if len(puts) == 0 {
			return 0, nil
		}
		own := patch.Keys(path.Pointer())
		for i := len(puts) - 1; i >= 0 && node == 0; i-- {
			if n := len(puts[i].keys); len(own) >= n && slices.Equal(own[:n], puts[i].keys) {
				node, at = finder.Lookup(puts[i].value, path[n:]), puts[i].at.With(path[n:]...)
			}
		}
		return node, at
	}
	position := func(of field.ErrorType, path tree.Path) (_ tree.Position) {
		node, at := find(path)
		switch {
		case node == 0:
			return tree.Position{}
		case of == violation.TypeUnknownField || of == violation.TypeDuplicateField:
			return p.patching.doc.KeyPosition(node, at)
		}
		return p.patching.doc.PositionOf(node, at)
	}
	for _, list := range lists {
		for i := range list {
			if v := &list[i]; len(v.Path) > 0 || v.Type != violation.TypeUnknownField && v.Type != violation.TypeDuplicateField {
				v.Position = position(v.Type, v.Path)
			} // an unknown field without a path is one of the patch itself
		}
	}
	for i := range p.out.Warnings {
		if w := &p.out.Warnings[i]; len(w.Path) > 0 {
			w.Position = position(w.Type, w.Path)
		}
	}
	for i := range p.out.Pruned {
		p.out.Pruned[i].Position = position(violation.TypeUnknownField, p.out.Pruned[i].Path)
	}
}

// put is a part of a patch that sets the value at a path: an operation of a JSON patch, or a merge patch.
type put struct {
	keys  []string
	value uint32
	at    tree.Path // of the value in the patch
}

func (q *patching) puts() (list []put) {
	d, i := q.doc, 0
	if q.patch.Type == patch.Merge {
		return []put{{value: q.patch.Root}}
	}
	for op := d.Nodes[q.patch.Root].First; op != 0; op = d.Nodes[op].Next {
		name, path, given := d.Field(op, "op"), d.Field(op, "path"), d.Field(op, "value")
		if given != 0 && d.Nodes[name].Kind == tree.String && d.Nodes[path].Kind == tree.String &&
			d.Str(name) != "test" {
			list = append(list, put{keys: patch.Keys(d.Str(path)), value: given,
				at: tree.Path{tree.At(i), tree.Name("value")}})
		}
		i++
	}
	return list
}
