package openapi

import (
	"bytes"
	"iter"
	"maps"
	"slices"

	"github.com/crdeval/crdeval/engine/value"
)

// Part is the contribution of one version of one CRD to the documents of a form. It is immutable.
type Part struct {
	form  Form
	paths []entry
	// definitions holds the kind and its list.
	definitions []entry
	// parameters holds the v2 parameters that operations share.
	parameters []entry
	// shared lists the names of the shared definitions that this part needs.
	shared []string
}

// entry is a member of one of a document's maps: a name and JSON.
type entry struct {
	name string
	text []byte
}

// Build returns the part of a resource.
func Build(r *Resource, f Form) (*Part, error) {
	w := &writer{form: f, d: value.Acquire()} // no defer: after a panic it must not be reused
	p := &Part{form: f, shared: needed(r)}
	noted := map[string][]byte{}
	text := func(write func()) []byte {
		w.out = w.out[:0]
		write()
		return bytes.Clone(w.out)
	}
	for _, path := range r.paths() {
		p.paths = append(p.paths, entry{name: path.text, text: text(func() { w.item(r, &path, noted) })})
	}
	p.definitions = []entry{
		{name: r.model(r.Kind), text: text(func() { w.kind(r) })},
		{name: r.model(r.ListKind), text: text(func() { w.list(r) })},
	}
	for _, name := range slices.Sorted(maps.Keys(noted)) {
		p.parameters = append(p.parameters, entry{name: name, text: noted[name]})
	}
	w.d.Release()
	return p, w.err
}

// sections yields the entries of each map.
func (p *Part) sections() iter.Seq2[section, []entry] {
	return func(yield func(section, []entry) bool) {
		_ = yield(paths, p.paths) && yield(definitions, p.definitions) && yield(parameters, p.parameters)
	}
}

// Size returns the approximate number of bytes that the part retains.
func (p *Part) Size() int64 {
	const each = 64 // overhead of an entry
	size := int64(each)
	for _, list := range [][]entry{p.paths, p.definitions, p.parameters} {
		for _, e := range list {
			size += int64(len(e.name)+cap(e.text)) + each
		}
	}
	return size
}

// needed returns the shared definitions that the documents of a resource refer to, directly or indirectly.
func needed(r *Resource) []string {
	found := map[string]bool{}
	var add func(name string)
	add = func(name string) {
		if found[name] {
			return
		}
		found[name] = true
		for _, d := range static().Definitions[name].Dependencies {
			add(d)
		}
	}
	for _, name := range []string{objectMeta, status, patch, deleteOptions} {
		add(name)
	}
	if r.HasScale {
		add(scale)
	}
	return slices.Sorted(maps.Keys(found))
}
