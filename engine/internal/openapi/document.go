// Package openapi builds the OpenAPI documents in which an API server publishes custom resources: one v3 document for
// each group and version, and one v2 document for all. The JSON of v3, and so its ETag, is identical to that of
// Kubernetes 1.37.
//
// A Document collects resources, which are versions of CRDs, in one Form. static.json holds the definitions that all
// custom resources share. `make generate` extracts it from upstream's packages, which are too large to link.
//
// Package engine selects the established CRDs and caches the documents.
//
// (k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder, .../openapi/v2, .../openapiv3;
// k8s.io/kube-openapi/pkg/builder and builder3)
package openapi

import (
	"bytes"
	"crypto/sha512"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Form is the OpenAPI version of a document.
type Form int

// The forms.
const (
	// V3Form includes everything in the schema: defaults, logical operators and nullable.
	V3Form Form = iota
	// V2Form omits everything that OpenAPI v2 and old versions of kubectl do not support.
	V2Form
)

// prefix returns the prefix of a definition's name in a $ref.
func (f Form) prefix() string {
	if f == V2Form {
		return "#/definitions/"
	}
	return "#/components/schemas/"
}

// reference returns the $ref of a definition, a URL whose fragment is escaped: a kind can contain U+0130 and U+212A,
// which have ASCII letters as their lower case.
func (f Form) reference(name string) string {
	return "#" + (&url.URL{Fragment: f.prefix()[1:] + name}).EscapedFragment()
}

// ConflictError reports that two CRDs define the same kind in one group and version. The names controller of an API
// server prevents this.
type ConflictError struct{ Definition string }

// Error returns upstream's text.
func (e *ConflictError) Error() string { return "OpenAPI V3 merge schema conflict on " + e.Definition }

// Document is an OpenAPI document while it is built. A v3 document has resources of one group and version. In a v2
// document, which may have any resources, the later of two with the same kind counts.
type Document struct {
	form     Form
	maxBytes int64
	reserve  func(bytes int64) error
	bytes    int64
	sections [sections]map[string][]byte
	shared   map[string]bool // names of the static definitions that the resources need
}

// section identifies one of a document's maps.
type section int

const (
	paths section = iota
	definitions
	parameters // of v2: the parameters that operations share
	sections
)

// New returns an empty document of at most maxBytes. If reserve is not nil, it is called before memory is retained; the
// sum of its arguments is about the size of the document.
func New(form Form, maxBytes int64, reserve func(bytes int64) error) *Document {
	d := &Document{form: form, maxBytes: maxBytes, reserve: reserve, shared: map[string]bool{}}
	for s := range d.sections {
		d.sections[s] = map[string][]byte{}
	}
	return d
}

// Add adds a resource. The error is a *ConflictError, a *tree.LimitError if the document is too large, or the error of
// reserve. The document must not be used after an error.
// (k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder/merge.go, MergeSpecs and MergeSpecsV3)
func (d *Document) Add(r *Resource) error {
	w := &writer{form: d.form, d: tree.Acquire(), shared: map[string][]byte{}} // no defer: after a panic it must not be reused
	var failed error
	put := func(s section, name string, write func()) {
		if failed != nil {
			return
		}
		before := d.bytes
		w.out = w.out[:0]
		write()
		old, known := d.sections[s][name]
		if known {
			d.bytes -= int64(len(old))
		} else {
			d.bytes += int64(len(name) + len(`"":,`))
		}
		if known && d.form == V3Form && s == definitions {
			failed = &ConflictError{Definition: name}
			return
		}
		d.bytes += int64(len(w.out))
		if failed = d.fits(before); failed == nil {
			d.sections[s][name] = bytes.Clone(w.out)
		}
	}
	put(definitions, r.model(r.Kind), func() { w.kind(r) })
	put(definitions, r.model(r.ListKind), func() { w.list(r) })
	for _, path := range r.paths() {
		put(paths, path.text, func() { w.item(r, &path) })
	}
	for name, text := range w.shared {
		put(parameters, name, func() { w.raw(text) })
	}
	w.d.Release()
	if failed != nil {
		return failed
	}
	before := d.bytes
	for _, name := range []string{objectMeta, status, patch, deleteOptions} {
		d.need(name)
	}
	if r.HasScale {
		d.need(scale)
	}
	return d.fits(before)
}

// fits checks the size of the document and reserves what it has grown by.
func (d *Document) fits(before int64) error {
	switch {
	case d.bytes > d.maxBytes:
		return TooLarge(d.bytes, d.maxBytes)
	case d.reserve != nil && d.bytes > before:
		return d.reserve(d.bytes - before)
	}
	return nil
}

// need adds a static definition and those that it refers to.
func (d *Document) need(name string) {
	if d.shared[name] {
		return
	}
	d.shared[name] = true
	one := static().Definitions[name]
	d.bytes += int64(len(name) + len(`"":,`) + len(one.text(d.form)))
	for _, dependency := range one.Dependencies {
		d.need(dependency)
	}
}

// JSON returns the document.
func (d *Document) JSON() []byte {
	for name := range d.shared {
		if _, known := d.sections[definitions][name]; !known {
			d.sections[definitions][name] = static().Definitions[name].text(d.form)
		}
	}
	const info = `"info":{"title":"Kubernetes CRD Swagger","version":"v0.1.0"}`
	w := &writer{out: make([]byte, 0, d.bytes+256)}
	write := func(name string, s section) {
		w.key(name).open('{')
		for _, name := range slices.Sorted(maps.Keys(d.sections[s])) {
			w.key(name).raw(d.sections[s][name])
		}
		w.close('}')
	}
	if d.form == V2Form { // an API server also adds its built-in resources
		w.raw([]byte(`{"swagger":"2.0",` + info))
		write("paths", paths)
		if len(d.sections[definitions]) > 0 {
			write("definitions", definitions)
			write("parameters", parameters)
		}
	} else {
		w.raw([]byte(`{"openapi":"3.0.0",` + info))
		write("paths", paths)
		w.key("components").open('{')
		write("schemas", definitions)
		w.close('}')
	}
	w.close('}')
	return w.out
}

// IndexEntry is the entry of a v3 document in the index.
type IndexEntry struct{ Group, Version, ETag string }

// Index returns the index of the documents. root is the part of their URLs before /openapi/v3.
// (k8s.io/kube-openapi/pkg/handler3/handler.go, buildDiscoveryCacheLocked)
func Index(root string, entries []IndexEntry) []byte {
	urls := map[string]string{}
	for _, e := range entries {
		name := "apis/" + e.Group + "/" + e.Version
		urls[name] = root + "/openapi/v3/" + name + "?hash=" + e.ETag
	}
	w := writer{out: []byte(`{"paths":{`)}
	for _, name := range slices.Sorted(maps.Keys(urls)) {
		w.key(name).open('{')
		w.key("serverRelativeURL").text(urls[name])
		w.close('}')
	}
	w.raw([]byte("}}"))
	return w.out
}

// ETag returns the ETag that an API server gives a document, without quotes: its SHA-512 in upper-case hex.
// (handler3/handler.go, computeETag)
func ETag(document []byte) string { return fmt.Sprintf("%X", sha512.Sum512(document)) }

// TooLarge returns the error for a document of more than maxBytes.
func TooLarge(size, maxBytes int64) *tree.LimitError {
	return &tree.LimitError{
		Name: "max_openapi_bytes", Limit: "OpenAPI document", Unit: "bytes", Maximum: maxBytes, Actual: size, AtLeast: true,
		Advice: "ask for the documents of fewer CRDs",
	}
}
