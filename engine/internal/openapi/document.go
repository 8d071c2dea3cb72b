package openapi

import (
	"crypto/sha512"
	"fmt"
	"maps"
	"slices"

	"github.com/crdeval/crdeval/engine/value"
)

// info is the same in every document.
const info = `"info":{"title":"Kubernetes CRD Swagger","version":"v0.1.0"}`

// ConflictError reports that two CRDs define the same kind in one group and version. The names controller of an API
// server prevents this.
type ConflictError struct{ Definition string }

// Error returns upstream's text.
func (e *ConflictError) Error() string { return "OpenAPI V3 merge schema conflict on " + e.Definition }

// V3 assembles the parts of one group and version. The error is a *ConflictError, a *value.LimitError if the document
// is too large, or an error of Parts.Make or Room.Take.
// (k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder/merge.go, MergeSpecsV3)
func V3(parts Parts, room Room) ([]byte, error) {
	l, err := lay(parts, V3Form, room.MaxBytes)
	if err != nil {
		return nil, err
	}
	if l.conflict != "" {
		return nil, &ConflictError{Definition: l.conflict}
	}
	w, err := l.begin(room)
	if err != nil {
		return nil, err
	}
	w.raw([]byte(`{"openapi":"3.0.0",` + info))
	w.key("paths")
	l.outline(w, paths)
	w.key("components").open('{')
	w.key("schemas")
	l.outline(w, definitions)
	w.close('}')
	w.close('}')
	return l.fill(w, parts)
}

// V2 assembles parts of any groups and versions. If two define the same kind, the later one counts. The errors are
// those of V3 without *ConflictError.
// (merge.go, MergeSpecs; an API server also adds its built-in resources)
func V2(parts Parts, room Room) ([]byte, error) {
	l, err := lay(parts, V2Form, room.MaxBytes)
	if err != nil {
		return nil, err
	}
	w, err := l.begin(room)
	if err != nil {
		return nil, err
	}
	w.raw([]byte(`{"swagger":"2.0",` + info))
	w.key("paths")
	l.outline(w, paths)
	if len(l.members[definitions]) > 0 {
		w.key("definitions")
		l.outline(w, definitions)
		w.key("parameters")
		l.outline(w, parameters)
	}
	w.close('}')
	return l.fill(w, parts)
}

// Place is the index entry of a v3 document.
type Place struct{ Group, Version, ETag string }

// Index returns the index of the documents. root is the part of their URLs before /openapi/v3.
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
	w.key("paths").open('{')
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		w.key(name).raw(texts[name])
	}
	w.close('}')
	w.close('}')
	return w.out
}

// ETag returns the ETag that an API server gives a document, without quotes: its SHA-512 in upper-case hex.
// (handler3/handler.go, computeETag)
func ETag(document []byte) string { return fmt.Sprintf("%X", sha512.Sum512(document)) }

// TooLarge returns the error for a document of more than maxBytes.
func TooLarge(size, maxBytes int64) *value.LimitError {
	return &value.LimitError{Name: "max_openapi_bytes", Limit: "OpenAPI document", Unit: "bytes", Maximum: maxBytes, Actual: size, AtLeast: true, Advice: "ask for the documents of fewer CRDs"}
}
