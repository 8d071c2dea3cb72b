package gateway

import (
	"bytes"
	"errors"
	"regexp"
	"strconv"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statusv1 "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/manifests"
)

// A body of RegisterCrds may be manifests instead of the request: what somebody has who has a directory of files, or a cluster. It is told by
// `kind`, which manifests have and the request has not, and by the markers between YAML documents.

// takeManifests makes a request of a body of manifests. It is false for a body that is the request itself.
func (b *body) takeManifests(into *crdevalv1.RegisterCrdsRequest) (taken bool, err error) {
	if b.yaml {
		return b.takeYAMLManifests(into)
	}
	s := scanner{src: b.data}
	if s.peek() != '{' {
		return false, nil
	}
	kind, items, err := s.kindAndItems()
	switch {
	case kind == nil:
		return false, nil // also where there is an error: the request's own reader tells of it
	case err != nil:
		return true, err
	case isList(kind) && items >= 0:
		s.pos = items
		err = s.elements(func(item []byte) error { return b.take(into, newDocument(item)) })
		return true, err
	}
	document, err := decodeDocument(b.data)
	if err != nil {
		return true, err
	}
	return true, b.take(into, document)
}

// take adds an entry.
func (b *body) take(into *crdevalv1.RegisterCrdsRequest, manifest *crdevalv1.Document) error {
	if limit, limited := b.lists["entries"]; limited && len(into.GetEntries()) == limit.Maximum {
		return &listError{"entries", limit}
	}
	into.Entries = append(into.Entries, &crdevalv1.RegisterCrdsEntry{Manifest: manifest})
	return nil
}

// isList says whether a kind, as JSON, is that of a list of CRDs.
func isList(kind []byte) bool {
	return string(kind) == `"List"` || string(kind) == `"`+manifests.CRDKind+`List"`
}

// kindAndItems finds the value of `kind` in an object, nil if it has none, and where that of `items` begins, negative if it has none.
func (s *scanner) kindAndItems() (kind []byte, items int, err error) {
	items = -1
	s.pos++ // the brace
	if s.peek() == '}' {
		return nil, items, nil
	}
	for {
		name, err := s.string()
		if err != nil {
			return kind, items, err
		}
		if s.peek() != ':' {
			return kind, items, s.fail("a colon is expected after %q", name)
		}
		s.pos++
		s.space()
		start := s.pos
		value, err := s.value()
		if err != nil {
			return kind, items, err
		}
		switch name {
		case "kind":
			kind = value
		case "items":
			items = start
		}
		switch s.peek() {
		case ',':
			s.pos++
		case '}':
			s.pos++
			return kind, items, s.end()
		default:
			return kind, items, s.fail("a comma or a closing brace is expected")
		}
	}
}

// elements tells of each element of an array.
func (s *scanner) elements(tell func([]byte) error) error {
	if s.peek() != '[' {
		return s.fail("items: an array is expected")
	}
	s.pos++
	if s.peek() == ']' {
		return nil
	}
	for {
		s.space()
		element, err := s.value()
		if err == nil {
			err = tell(element)
		}
		if err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.pos++
		case ']':
			return nil
		default:
			return s.fail("a comma or a closing bracket is expected")
		}
	}
}

// listInYAML finds what may be a list in YAML, which has to be turned into JSON as a whole.
var listInYAML = regexp.MustCompile(`\bkind["']?\s*:\s*["']?(` + manifests.CRDKind + `)?List\b`)

// kindInYAML finds a manifest in its usual form: its kind stands at the margin.
var kindInYAML = regexp.MustCompile(`(?m)^["']?kind["']?\s*:`)

// takeYAMLManifests is takeManifests for YAML.
func (b *body) takeYAMLManifests(into *crdevalv1.RegisterCrdsRequest) (taken bool, err error) {
	documents, err := manifests.Split(b.data)
	if errors.Is(err, manifests.ErrEmpty) {
		return true, errEmptyBody
	}
	if err != nil || len(documents) == 1 && !b.isManifest() {
		return false, nil // the request's own reader tells of the error
	}
	if listInYAML.Match(b.data) {
		if err := b.boundNodes(); err != nil {
			return true, err
		}
	}
	b.listed = []manifests.Manifest{}
	for _, d := range documents {
		for _, m := range d.Manifests() {
			document := &crdevalv1.Document{Content: &crdevalv1.Document_Yaml{Yaml: m.Document.YAML}}
			if m.Document.JSON != nil {
				document = newDocument(m.Document.JSON)
			}
			if err := b.take(into, document); err != nil {
				return true, err
			}
			b.listed = append(b.listed, m)
		}
	}
	return true, nil
}

// isManifest says whether a body of one YAML document has a kind.
func (b *body) isManifest() bool {
	if kindInYAML.Match(b.data) {
		return true
	}
	if trimmed := bytes.TrimLeft(b.data, " \t\r\n-"); len(trimmed) == 0 || trimmed[0] != '{' {
		return false
	}
	_, kind, err := engine.TypeMetaOf(engine.YAML(b.data), b.limits)
	return err == nil && kind != ""
}

// pointIntoManifests is pointIntoBody for a YAML body of manifests.
func (b *body) pointIntoManifests(answer proto.Message) {
	a, ok := answer.(*crdevalv1.RegisterCrdsResponse)
	if !ok || len(a.GetResults()) != len(b.listed) {
		return
	}
	for i, result := range a.GetResults() {
		m := &b.listed[i]
		for _, p := range placesOf(result.GetRegistration().GetReport().GetViolations()) {
			at := m.Position(p.pointer, engine.Position{Line: int(p.at.GetLine()), Column: int(p.at.GetColumn()), Offset: int(p.at.GetOffset())})
			p.at.Line, p.at.Column, p.at.Offset = int32(at.Line), int32(at.Column), int64(at.Offset)
		}
		if e := result.GetError(); e != nil {
			inBody(e, m)
		}
	}
}

// inBody words an error about a manifest that cannot be read for who looks at the body.
func inBody(st *statusv1.Status, m *manifests.Manifest) {
	if len(st.GetDetails()) == 0 {
		return
	}
	info := &errdetails.ErrorInfo{}
	if st.GetDetails()[0].UnmarshalTo(info) != nil || info.GetReason() != "MANIFEST_UNREADABLE" {
		return
	}
	text, line, _ := m.Describe(errors.New(st.GetMessage()))
	st.Message = text
	if told := info.GetMetadata()["line"]; told != "" && line > 0 {
		n, _ := strconv.Atoi(told)
		info.Metadata["line"] = strconv.Itoa(m.Position("", engine.Position{Line: n}).Line)
		if detail, err := anypb.New(info); err == nil {
			st.Details[0] = detail
		}
	}
}
