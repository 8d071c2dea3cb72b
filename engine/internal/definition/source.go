package definition

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/hint"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// Source is the tree of a manifest. Root is 0 if the text has no tree.
type Source struct {
	Doc  *tree.Doc
	Root uint32
	Text []byte // as it was sent
	YAML bool
	// Unread is the position of the first number beyond float64. The tree has another value there.
	Unread tree.Position

	hints *hint.Finder
}

// finder returns the Finder for hints about a manifest.
func (s *Source) finder(beta bool) *hint.Finder {
	if s.hints == nil {
		s.hints = hint.ForCRD(s.Doc, s.Root, shape(beta), s.Text, s.YAML)
	}
	return s.hints
}

// shape returns the type that a manifest is decoded into.
func shape(beta bool) schema.Shape {
	if beta {
		return schema.ShapeOf(reflect.TypeFor[apiextensionsv1beta1.CustomResourceDefinition]())
	}
	return schema.ShapeOf(reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]())
}

// warning returns a warning about the value at a path, with upstream's notation of the field.
func (s *Source) warning(of field.ErrorType, text string, path tree.Path) violation.Warning {
	w := violation.Warning{Type: of, Text: text, Field: path.Dotted(), Path: path.Detach()}
	if s.Root != 0 {
		w.Position = s.Doc.PositionAt(path)
	}
	return w
}

// The bounds of a walk.
const (
	mostWarnings = 1000
	mostSegments = 1 << 17 // of all paths
)

// walk compares a manifest with the Go type that upstream decodes it into.
type walk struct {
	d       *tree.Doc
	path    tree.Path
	wrong   []misfit
	unknown []misfit
	left    int // segments
}

// misfit is a value that its type does not read, or an unknown field.
type misfit struct {
	path   tree.Path
	shape  schema.Shape
	node   uint32
	hidden bool // upstream's strict decoder does not look at it
}

// misfits returns the values of a manifest that do not fit its type.
func (s *Source) misfits(beta bool) (wrong, unknown []misfit) {
	if s.Root == 0 {
		return nil, nil
	}
	w := walk{d: s.Doc, left: mostSegments}
	w.value(shape(beta), s.Root, false)
	return w.wrong, w.unknown
}

func (w *walk) value(of schema.Shape, i uint32, hidden bool) {
	n := &w.d.Nodes[i]
	types := of.Types()
	switch {
	case n.Kind == tree.Null || types == nil && of.Reads(w.d.Raw(i)):
		return
	case !slices.Contains(types, n.Kind.String()) && (n.Kind != tree.Int || !slices.Contains(types, "number")):
		if !of.Separate() || !of.Reads(w.d.Raw(i)) { // some types ignore wrong values
			w.add(&w.wrong, of, i, hidden)
		}
		return
	case n.Kind == tree.Object:
		hidden = hidden || of.Separate()
		for c := n.First; c != 0; c = w.d.Nodes[c].Next {
			key := w.d.Key(c)
			child, step := of.Child(key), tree.Entry(key)
			if of.HasFields() {
				step = tree.Name(key)
			}
			w.path = append(w.path, step)
			if child.Known() {
				w.value(child, c, hidden)
			} else if of.HasFields() {
				w.add(&w.unknown, of, c, hidden)
			}
			w.path = w.path[:len(w.path)-1]
		}
	case n.Kind == tree.Array:
		hidden = hidden || of.Separate()
		for c := n.First; c != 0; c = w.d.Nodes[c].Next {
			w.path = append(w.path, tree.At(int(w.d.Nodes[c].Key)))
			w.value(of.Items(), c, hidden)
			w.path = w.path[:len(w.path)-1]
		}
	case !of.Reads(w.d.Raw(i)): // a number out of range, or text that is not base64
		w.add(&w.wrong, of, i, hidden)
	}
}

func (w *walk) add(list *[]misfit, of schema.Shape, i uint32, hidden bool) {
	if w.left -= len(w.path); w.left >= 0 && len(*list) < mostWarnings {
		*list = append(*list, misfit{w.path.Clone(), of, i, hidden})
	}
}

// Undecodable returns the values because of which a manifest could not be decoded, at least one.
func (s *Source) Undecodable(e *DecodeError) (found []violation.Violation) {
	wrong, _ := s.misfits(e.beta)
	for i := range wrong {
		m := &wrong[i]
		v := violation.Reason(violation.Decode, violation.TypeDecode, m.path.Bracketed(), wrongText(s.Doc, m), m.path.Detach())
		v.Position = s.Doc.PositionAt(m.path)
		v.Hint = s.finder(e.beta).Violation(&v)
		found = append(found, v)
	}
	if found != nil {
		return found
	}
	v := violation.Reason(violation.Decode, violation.TypeDecode, "", "a value cannot be read", nil)
	switch {
	case s.Unread != (tree.Position{}):
		v.Detail, v.Position = "a number is out of range", s.Unread
	case s.Root != 0:
		v.Position = s.Doc.PositionAt(nil)
	}
	return []violation.Violation{v}
}

// UnreadableType says why apiVersion and kind of a manifest cannot be read, with the position of the value. The text is
// empty if the reason is another one.
func (s *Source) UnreadableType() (text string, at tree.Position) {
	if s.Root == 0 {
		return "", at
	}
	if kind := s.Doc.Nodes[s.Root].Kind; kind != tree.Object {
		return "must be an object, not " + kindText(kind.String()), s.Doc.PositionAt(nil)
	}
	for _, name := range []string{"apiVersion", "kind"} {
		c := s.Doc.Field(s.Root, name)
		if kind := s.Doc.Nodes[c].Kind; c != 0 && kind != tree.String && kind != tree.Null {
			at = s.Doc.PositionAt(tree.Path{tree.Name(name)})
			return name + " must be a string, not " + kindText(kind.String()), at
		}
	}
	return "", at
}

// wrongText says what a value must be and what it is.
func wrongText(d *tree.Doc, m *misfit) string {
	n := &d.Nodes[m.node]
	var wanted []string
	for _, t := range m.shape.Types() {
		wanted = append(wanted, kindText(t))
	}
	must := "must be " + strings.Join(wanted, " or ")
	switch bits := m.shape.Bits(); {
	case len(wanted) == 0:
		return "has a wrong format"
	case bits > 0 && n.Kind == tree.Float:
		return must + ", not " + shortText(d, m.node)
	case bits > 0 && n.Kind == tree.Int:
		return fmt.Sprintf("%s of %d bits", must, bits)
	case n.Kind == tree.String && m.shape.Bytes():
		return "must be text in base64"
	case n.Kind == tree.String && slices.Contains(wanted, "a string"):
		return must + " of another format: " + shortText(d, m.node) + " cannot be read"
	}
	return must + ", not " + kindText(n.Kind.String())
}

// kindText names a JSON type.
func kindText(t string) string {
	switch t {
	case "array":
		return "a list"
	case "object", "integer":
		return "an " + t
	}
	return "a " + t
}

// shortText returns the text of a value, shortened.
func shortText(d *tree.Doc, node uint32) string {
	const longest = 40
	if text := string(d.AppendJSON(nil, node)); len(text) <= longest {
		return text
	}
	return "this value"
}

// strict returns the errors of upstream's strict decoder, in its order, and the unknown and duplicate fields
// that it does not see.
func (s *Source) strict(m *Manifest) (strict, unseen []violation.Warning) {
	if m.plain || s.Root == 0 && len(m.Strict) == 0 {
		return nil, nil
	}
	hints := s.finder(m.beta)
	fields := map[string][]violation.Warning{} // by text
	_, unknown := s.misfits(m.beta)
	for _, f := range unknown {
		r := s.warning(violation.TypeUnknownField, `unknown field "`+f.path.Dotted()+`"`, f.path)
		r.Position = s.Doc.KeyPosition(f.node, f.path)
		v := r.Violation(violation.Decode)
		r.Hint = hints.Violation(&v)
		if f.hidden {
			unseen = append(unseen, r)
		} else {
			fields[r.Text] = append(fields[r.Text], r)
		}
	}
	reported := map[string]bool{}
	for _, text := range m.Strict {
		reported[text] = true
	}
	for _, r := range s.duplicates() {
		switch {
		case reported[r.Text]: // also of a manifest in YAML, which is converted to JSON
			fields[r.Text] = append(fields[r.Text], r)
		case s.YAML:
			strict = append(strict, r)
		case len(m.Strict) < mostStrict:
			unseen = append(unseen, r)
		}
	}
	for _, text := range m.Strict {
		if known := fields[text]; len(known) > 0 {
			strict, fields[text] = append(strict, known[0]), known[1:]
			continue
		}
		of := violation.TypeUnknownField
		if strings.HasPrefix(text, "duplicate") {
			of = violation.TypeDuplicateField
		}
		strict = append(strict, violation.Warning{Type: of, Text: text})
	}
	for i := range unseen {
		r := &unseen[i]
		r.Type = violation.TypeNotice
		r.Text = notice(r.Text + ": API servers drop it, and strict validation does not report it here")
	}
	return strict, unseen
}

// StrictError returns the error with which an API server rejects the unknown and duplicate fields of a manifest if the
// request asks for strict validation. It is nil without such fields.
func (m *Manifest) StrictError(s *Source) error {
	var errs []error
	for duplicate := range s.Doc.Duplicates(tree.Request) {
		if s.YAML && !slices.Contains(m.Strict, duplicate.Text) { // m.Strict has the duplicates of JSON
			errs = append(errs, errors.New(duplicate.Text))
		}
	}
	for _, text := range m.Strict {
		errs = append(errs, errors.New(text))
	}
	if errs == nil {
		return nil
	}
	version := versionV1
	if m.beta {
		version = versionB1
	}
	return errors.New(unhandled(version, runtime.NewStrictDecodingError(errs)))
}

// mostStrict is how many errors upstream's strict decoder returns.
const mostStrict = 100

// duplicates returns a warning for each key that is set again.
func (s *Source) duplicates() (all []violation.Warning) {
	for d := range s.Doc.Duplicates(tree.Request) {
		texts := strings.Split(d.Text, "\n")
		if len(texts) > 1 { // of the YAML decoder: a line for each key after the first one
			texts = texts[1:]
		}
		for i, text := range texts {
			var at tree.DuplicatePlace
			if i < len(d.Places) {
				at = d.Places[i]
			}
			all = append(all, s.duplicate(strings.TrimSpace(text), &at))
		}
	}
	return all
}

// duplicate returns the warning for a key that is set again.
func (s *Source) duplicate(text string, at *tree.DuplicatePlace) violation.Warning {
	r := violation.Warning{Type: violation.TypeDuplicateField, Text: text, Position: at.Position}
	if at.Path == nil {
		return r
	}
	r.Field, r.Path, r.Hint = at.Path.Dotted(), at.Path.Detach(), hint.Repeated(at)
	return r
}
