package definition

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// notice marks a text as a note of crdeval.
func notice(text string) string { return admission.Notice + text }

// notices returns notes about parts of a CRD that API servers accept and that probably have another effect than
// intended.
func (s *Source) notices(m *Manifest) (list []violation.Warning) {
	if s.Root == 0 {
		return nil
	}
	note := func(path tree.Path, h *violation.Hint, format string, args ...any) {
		if len(list) < mostWarnings {
			r := s.warning(violation.TypeNotice, notice(fmt.Sprintf(format, args...)), path)
			r.Hint = h
			list = append(list, r)
		}
	}
	if m.beta {
		note(tree.Path{tree.Name("apiVersion")}, &violation.Hint{Text: "convert the manifest to " + apiVersionV1},
			"Kubernetes 1.22 and later do not serve %s: kubectl cannot apply this manifest", apiVersionB1)
	}
	if size := s.annotationsApplied(); size > validation.TotalAnnotationSizeLimitB {
		note(tree.Path{tree.Name("metadata")}, &violation.Hint{Text: "use kubectl apply --server-side, or shorten descriptions"},
			"kubectl apply fails: it stores the manifest in an annotation, and the annotations would have %d bytes, "+
				"more than %d", size, validation.TotalAnnotationSizeLimitB)
	}
	d := s.Doc
	enums := enumNotes{s, m, note, mostWarnings}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.Kind < tree.Array || n.Src != tree.Request {
			continue
		}
		switch key := d.Key(uint32(i)); {
		case n.Kind == tree.Array && n.Live > 1 && listKeys[key] != nil:
			s.noteRepeated(uint32(i), m, note)
		case n.Kind == tree.Object:
			if s.YAML && key == "properties" {
				s.noteKeys(uint32(i), m, note)
			}
			enums.add(uint32(i)) // also of a property with the name properties
		}
	}
	return list
}

type noteFunc func(path tree.Path, h *violation.Hint, format string, args ...any)

// annotationsApplied returns the size of the annotations that kubectl apply without --server-side would send. It can
// return 0 if they are small.
// (k8s.io/kubectl/pkg/util/apply.go; k8s.io/apimachinery/pkg/api/validation/objectmeta.go)
func (s *Source) annotationsApplied() int {
	d := s.Doc
	metadata := d.Field(s.Root, "metadata")
	if len(d.Src[tree.Request]) < validation.TotalAnnotationSizeLimitB/longestEscape || d.Nodes[metadata].Kind != tree.Object {
		return 0
	}
	// The new annotation has the manifest with its other annotations, and a line break.
	m := measure{d: d}
	size := len(corev1.LastAppliedConfigAnnotation) + m.value(s.Root) + len("\n")
	annotations := d.Field(metadata, "annotations")
	switch {
	case annotations == 0:
		return size + len(`"annotations":{},`)
	case d.Nodes[annotations].Kind != tree.Object: // null
		return size + len("{}") - len("null")
	}
	for c := d.Nodes[annotations].First; c != 0; c = d.Nodes[c].Next {
		key := d.Key(c)
		switch {
		case key != corev1.LastAppliedConfigAnnotation:
			size += len(key)
			if d.Nodes[c].Kind == tree.String {
				size += len(d.Str(c))
			}
		case d.Nodes[annotations].Live > 1:
			size -= m.member(c) + len(",")
		default:
			size -= m.member(c)
		}
	}
	return size
}

// measure returns the lengths of values as json.Marshal prints them, without printing all of them at once.
type measure struct {
	d    *tree.Doc
	text []byte // of the last scalar or key
}

func (m *measure) value(i uint32) int {
	n := &m.d.Nodes[i]
	if n.Kind < tree.Array {
		m.text = m.d.AppendCanonical(m.text[:0], i)
		return len(m.text)
	}
	size := len("{}")
	for c := n.First; c != 0; c = m.d.Nodes[c].Next {
		if n.Kind == tree.Object {
			size += m.member(c)
		} else {
			size += m.value(c)
		}
		if m.d.Nodes[c].Next != 0 {
			size += len(",")
		}
	}
	return size
}

// member returns the length of a member of an object: its key, a colon and its value.
func (m *measure) member(i uint32) int {
	m.text = tree.AppendCanonicalString(m.text[:0], m.d.Key(i))
	return len(m.text) + len(":") + m.value(i)
}

// longestEscape is how many bytes a byte of JSON can take in the text of kubectl: \u003c.
const longestEscape = 6

// listKeys are the types of the elements of lists that server-side apply merges by a key, and their keys. The lists of
// kind "" are sets.
var listKeys = map[string]map[reflect.Type]string{
	"x-kubernetes-validations": {reflect.TypeFor[apiextensionsv1.ValidationRule](): "rule"},
	"conditions":               {reflect.TypeFor[apiextensionsv1.CustomResourceDefinitionCondition](): "type"},
	"finalizers":               {reflect.TypeFor[string](): ""},
}

// noteRepeated notes elements of a list whose key another one has: API servers create such a CRD, but cannot apply it.
func (s *Source) noteRepeated(list uint32, m *Manifest, note noteFunc) {
	d, known := s.Doc, map[string]int{}
	for c := d.Nodes[list].First; c != 0; c = d.Nodes[c].Next {
		key := c
		for _, name := range listKeys[d.Key(list)] {
			if name != "" {
				key = d.Field(c, name)
			}
		}
		if d.Nodes[key].Kind != tree.String {
			continue
		}
		first, repeated := known[d.Str(key)]
		if !repeated {
			known[d.Str(key)] = int(d.Nodes[c].Key)
			continue
		}
		path := s.pathTo(key)
		at, separate := s.shapeAt(m, s.pathTo(list))
		if path == nil || separate {
			return // server-side apply does not look below values with an UnmarshalJSON of their own
		}
		for of, name := range listKeys[d.Key(list)] {
			if at.Items().Is(of) {
				same := "value"
				if name != "" {
					same = name
				}
				note(path, &violation.Hint{Text: "remove one of the two"}, "kubectl apply --server-side fails: %s[%d] has the same %s",
					d.Key(list), first, same)
			}
		}
	}
}

// noteKeys notes properties whose names YAML 1.1 reads as something else: y is true, and 1.50 is 1.5.
func (s *Source) noteKeys(properties uint32, m *Manifest, note noteFunc) {
	d := s.Doc
	for c := d.Nodes[properties].First; c != 0; c = d.Nodes[c].Next {
		key := d.Key(c)
		if !isTyped(key) {
			continue
		}
		path := s.pathTo(c)
		if path == nil {
			return
		}
		plain := d.PlainKey(path)
		if at, _ := s.shapeAt(m, path[:len(path)-1]); plain == "" || plain == key || at.HasFields() {
			continue
		}
		note(path, &violation.Hint{Text: "did you mean " + strconv.Quote(plain) + ", in quotes?"},
			"YAML 1.1 reads the property name %s as %s", plain, key)
	}
}

// isTyped reports whether a key is a boolean, null or a number, which YAML 1.1 can write in several ways.
func isTyped(key string) bool {
	if key == "true" || key == "false" || key == "null" {
		return true
	}
	if key == "" || !strings.ContainsRune("+-.0123456789N", rune(key[0])) { // a failing ParseFloat allocates
		return false
	}
	_, err := strconv.ParseFloat(key, 64)
	return err == nil
}

// pathTo returns the path of a node. It is nil for the root and for a node that a duplicate key replaces.
func (s *Source) pathTo(node uint32) (p tree.Path) {
	d, off := s.Doc, s.Doc.Nodes[node].Off
	for at := s.Root; at != node; {
		next := d.Nodes[at].First
		for next != 0 && (off < d.Nodes[next].Off || off >= d.Nodes[next].End) {
			next = d.Nodes[next].Next
		}
		switch {
		case next == 0:
			return nil
		case d.Nodes[at].Kind == tree.Array:
			p = append(p, tree.At(int(d.Nodes[next].Key)))
		default:
			p = append(p, tree.Name(d.Key(next)))
		}
		at = next
	}
	return p
}

// shapeAt returns the shape of the values at a path, and whether they are below a type with its own UnmarshalJSON.
func (s *Source) shapeAt(m *Manifest, path tree.Path) (at schema.Shape, separate bool) {
	at = shape(m.beta)
	for _, step := range path {
		separate = separate || at.Separate()
		if step.IsIndex() {
			at = at.Items()
		} else {
			at = at.Child(step.Key())
		}
	}
	return at, separate
}

// locate returns a warning of validation with its place. It looks for the first keyword with its value.
func (s *Source) locate(w *Warning) violation.Warning {
	found := violation.Warning{Type: violation.TypeWarning, Text: w.Text}
	d := s.Doc
	for i := range d.Nodes {
		node := uint32(i)
		if s.Root == 0 || d.Nodes[node].Src != tree.Request || d.Key(node) != w.keyword {
			continue
		}
		path := s.pathTo(node)
		if len(path) == 0 {
			continue
		}
		up := path[:len(path)-1]
		switch around := d.Finder().Lookup(s.Root, up); w.keyword {
		case "format":
			if d.Nodes[node].Kind != tree.String || d.Str(node) != w.value {
				continue
			}
		case "x-kubernetes-list-type":
			if of := d.Field(d.Field(around, "items"), "type"); d.Nodes[of].Kind != tree.String || d.Str(of) != w.value {
				continue
			}
		}
		return s.warning(violation.TypeWarning, w.Text, path)
	}
	return found
}
