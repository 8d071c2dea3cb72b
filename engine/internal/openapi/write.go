package openapi

import (
	"encoding/json"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// writer appends JSON as encoding/json prints it: without white space, with <, > and & escaped.
type writer struct {
	out  []byte
	form Form
	d    *tree.Doc // scratch
	// shared collects the v2 parameters that operations share.
	shared map[string][]byte
}

// comma writes a comma unless an object or array was just opened.
func (w *writer) comma() {
	if last := w.out[len(w.out)-1]; last != '{' && last != '[' {
		w.out = append(w.out, ',')
	}
}

func (w *writer) open(c byte)  { w.out = append(w.out, c) }
func (w *writer) close(c byte) { w.out = append(w.out, c) }

// key writes the key of an object member.
func (w *writer) key(name string) *writer {
	w.comma()
	w.text(name)
	w.out = append(w.out, ':')
	return w
}

func (w *writer) text(s string) { w.out = tree.AppendCanonicalString(w.out, s) }

func (w *writer) raw(text []byte) { w.out = append(w.out, text...) }

// optional writes a text member unless the text is empty.
func (w *writer) optional(name, s string) {
	if s != "" {
		w.key(name).text(s)
	}
}

func (w *writer) bool(b bool) { w.out = strconv.AppendBool(w.out, b) }

func (w *writer) flag(name string, set bool) {
	if set {
		w.key(name).bool(true)
	}
}

func (w *writer) int(name string, n *int64) {
	if n != nil {
		w.key(name)
		w.out = strconv.AppendInt(w.out, *n, 10)
	}
}

func (w *writer) float(name string, f *float64) {
	if f == nil {
		return
	}
	text, err := json.Marshal(*f)
	if err != nil {
		panic(err) // infinity, which a CRD cannot contain
	}
	w.key(name).raw(text)
}

func (w *writer) texts(name string, list []string) {
	if len(list) == 0 {
		return
	}
	w.key(name).open('[')
	for _, s := range list {
		w.comma()
		w.text(s)
	}
	w.close(']')
}

// value writes a JSON value with sorted keys and with numbers as the API server prints them.
func (w *writer) value(j *apiextensionsv1.JSON) {
	if j == nil || len(j.Raw) == 0 {
		w.raw([]byte("null"))
		return
	}
	w.d.Reset()
	root, err := w.d.ParseJSON(j.Raw, tree.Limits{MaxBytes: max(len(j.Raw), 1)})
	if err != nil {
		panic(err) // decoding a CRD checks its values
	}
	w.out = w.d.AppendCanonical(w.out, root)
}

// ref writes a schema that only has a $ref.
func (w *writer) ref(name string) {
	w.open('{')
	w.key("$ref").text(w.form.reference(name))
	w.close('}')
}

// described writes a reference with a description. OpenAPI v3 ignores siblings of $ref, so v3 wraps it in allOf.
// (k8s.io/kube-openapi/pkg/builder3/util, WrapRefs)
func (w *writer) described(name, description string) {
	w.open('{')
	w.key("description").text(description)
	if w.form == V2Form {
		w.key("$ref").text(w.form.reference(name))
	} else {
		w.key("allOf").open('[')
		w.ref(name)
		w.close(']')
	}
	w.close('}')
}
