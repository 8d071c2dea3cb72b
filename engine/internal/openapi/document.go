package openapi

import (
	"crypto/sha512"
	"fmt"
	"maps"
	"slices"

	"github.com/crdeval/crdeval/engine/value"
)

// info is the same in every document, whatever the group.
const info = `"info":{"title":"Kubernetes CRD Swagger","version":"v0.1.0"}`

// ConflictError says that two CRDs of one group and version define the same kind, which the names controller of an API server does not let happen.
type ConflictError struct{ Definition string }

// Error returns upstream's text.
func (e *ConflictError) Error() string { return "OpenAPI V3 merge schema conflict on " + e.Definition }

// V3 puts the parts of one group and version together. The error is a *ConflictError, or a *value.LimitError if there would be more than maxBytes.
// (k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder/merge.go, MergeSpecsV3)
func V3(parts []*Part, maxBytes int64) ([]byte, error) {
	m := merge(parts)
	if m.conflict != "" {
		return nil, &ConflictError{Definition: m.conflict}
	}
	if err := m.fits(maxBytes); err != nil {
		return nil, err
	}
	w := m.begin(V3Form)
	w.raw([]byte(`{"openapi":"3.0.0",` + info))
	w.key("paths").entries(m.paths)
	w.key("components").open('{')
	w.key("schemas").entries(m.definitions)
	w.close('}')
	w.close('}')
	return w.out, nil
}

// V2 puts parts of any groups and versions together; where two define the same kind, the later one counts. The error is a *value.LimitError if
// there would be more than maxBytes.
// (merge.go, MergeSpecs; an API server adds what it serves itself)
func V2(parts []*Part, maxBytes int64) ([]byte, error) {
	m := merge(parts)
	if err := m.fits(maxBytes); err != nil {
		return nil, err
	}
	w := m.begin(V2Form)
	w.raw([]byte(`{"swagger":"2.0",` + info))
	w.key("paths").entries(m.paths)
	if len(m.definitions) > 0 {
		w.key("definitions").entries(m.definitions)
		w.key("parameters").entries(m.parameters)
	}
	w.close('}')
	return w.out, nil
}

// Place is a document of v3 as the index lists it.
type Place struct{ Group, Version, ETag string }

// Index lists documents: root is what stands before /openapi/v3 in their URLs.
// (k8s.io/kube-openapi/pkg/handler3/handler.go, buildDiscoveryCacheLocked)
func Index(root string, places []Place) []byte {
	texts := map[string][]byte{}
	for _, p := range places {
		name := "apis/" + p.Group + "/" + p.Version
		w := writer{}
		w.open('{')
		w.key("serverRelativeURL").text(root + "/openapi/v3/" + name + "?hash=" + p.ETag)
		w.close('}')
		texts[name] = w.out
	}
	w := writer{out: []byte("{")}
	w.key("paths").entries(texts)
	w.close('}')
	return w.out
}

// ETag returns what an API server tags a document with, without quotes: its SHA-512 in capital letters.
// (handler3/handler.go, computeETag)
func ETag(document []byte) string { return fmt.Sprintf("%X", sha512.Sum512(document)) }

// merged are the maps of a document.
type merged struct {
	paths, definitions, parameters map[string][]byte
	conflict                       string
}

func merge(parts []*Part) *merged {
	m := &merged{paths: map[string][]byte{}, definitions: map[string][]byte{}, parameters: map[string][]byte{}}
	for _, p := range parts {
		for _, name := range p.shared {
			m.definitions[name] = static().Definitions[name].text(p.form)
		}
	}
	seen := map[string]bool{}
	for _, p := range parts {
		for _, e := range p.paths {
			m.paths[e.name] = e.text
		}
		for _, e := range p.definitions {
			if seen[e.name] && m.conflict == "" {
				m.conflict = e.name
			}
			seen[e.name] = true
			m.definitions[e.name] = e.text
		}
		for _, e := range p.parameters {
			m.parameters[e.name] = e.text
		}
	}
	return m
}

// size is the length of the document but for the few bytes around its maps.
func (m *merged) size() int64 {
	size := int64(0)
	for _, list := range []map[string][]byte{m.paths, m.definitions, m.parameters} {
		for name, text := range list {
			size += int64(len(name) + len(text) + len(`"":,`))
		}
	}
	return size
}

func (m *merged) fits(maxBytes int64) error {
	if size := m.size(); size > maxBytes {
		return TooLarge(size, maxBytes)
	}
	return nil
}

// TooLarge is the error of a document of more than maxBytes.
func TooLarge(size, maxBytes int64) *value.LimitError {
	return &value.LimitError{Limit: "OpenAPI document", Unit: "bytes", Maximum: maxBytes, Actual: size, AtLeast: true, Advice: "ask for the documents of fewer CRDs"}
}

// begin returns a writer with room for the document.
func (m *merged) begin(f Form) *writer {
	const around = 256
	return &writer{form: f, out: make([]byte, 0, m.size()+around)}
}

// entries writes a map in the order of its keys.
func (w *writer) entries(m map[string][]byte) {
	w.open('{')
	for _, name := range slices.Sorted(maps.Keys(m)) {
		w.key(name).raw(m[name])
	}
	w.close('}')
}
