package gateway

import (
	"sync"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/document"
	"github.com/crdeval/crdeval/engine/workspace"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/call"
)

// bodyOrigins are the origins of the documents of a body. They are complete before the call.
type bodyOrigins struct {
	text      *document.Text                        // the body
	converted *document.YAML                        // the body as YAML that was converted to JSON, else nil
	manifests map[call.Document]*workspace.Manifest // of a YAML body of manifests
}

var _ call.Origins = (*bodyOrigins)(nil)

// Origin implements call.Origins. Most documents of a body are slices of it, or of the JSON to which it was converted.
func (b *bodyOrigins) Origin(d call.Document) (*document.Origin, error) {
	if m := b.manifests[d]; m != nil {
		return originOf(m)
	}
	if b.converted != nil {
		at := sliceOffset(b.converted.JSON(), d.GetJson())
		if at < 0 {
			return nil, nil
		}
		return b.converted.At(at), nil
	}
	text := d.GetJson()
	if text == nil {
		text = d.GetRawYaml()
	}
	at := sliceOffset(b.text.Bytes(), text)
	if at < 0 {
		return nil, nil
	}
	return b.text.At(at), nil
}

// Warnings implements call.Origins.
func (b *bodyOrigins) Warnings(d call.Document) []engine.Warning {
	if m := b.manifests[d]; m != nil {
		return m.Warnings
	}
	return nil
}

// originOf returns the origin of a manifest, or why it cannot be read.
func originOf(m *workspace.Manifest) (*document.Origin, error) {
	if m.Err != nil {
		return nil, m.Err
	}
	return m.Document.Origin, nil
}

// documentOf returns the message of a manifest.
func documentOf(m *workspace.Manifest) *crdevalv1.Document {
	if m.Document.JSON != nil {
		return api.JSON(m.Document.JSON)
	}
	return yamlDocument(m.Document.YAML)
}

func yamlDocument(text []byte) *crdevalv1.Document {
	return &crdevalv1.Document{Content: &crdevalv1.Document_RawYaml{RawYaml: text}}
}

// streamOrigins are the origins of the documents of a streamed body whose results have not arrived. They are safe for
// concurrent use.
type streamOrigins struct {
	mu  sync.Mutex
	all map[call.Document]streamOrigin
}

type streamOrigin struct {
	origin   *document.Origin
	err      error
	warnings []engine.Warning
}

var _ call.Origins = (*streamOrigins)(nil)

// Origin implements call.Origins.
func (s *streamOrigins) Origin(d call.Document) (*document.Origin, error) {
	o := s.of(d)
	return o.origin, o.err
}

// Warnings implements call.Origins.
func (s *streamOrigins) Warnings(d call.Document) []engine.Warning { return s.of(d).warnings }

func (s *streamOrigins) of(d call.Document) streamOrigin {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[d]
}

func (s *streamOrigins) set(d *crdevalv1.Document, o streamOrigin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[call.Document]streamOrigin{}
	}
	s.all[d] = o
}

// remove forgets documents.
func (s *streamOrigins) remove(documents ...*crdevalv1.Document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range documents {
		delete(s.all, d)
	}
}

// sliceOffset returns the offset of a part in a text, -1 if it is not a slice of the text.
func sliceOffset(text, part []byte) int {
	at := cap(text) - cap(part) // both end where their memory ends
	if len(part) == 0 || at < 0 || at+len(part) > len(text) || &text[at] != &part[0] {
		return -1
	}
	return at
}
