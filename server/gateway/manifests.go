package gateway

import (
	"bytes"
	"errors"
	"regexp"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/document"
	"github.com/crdeval/crdeval/engine/workspace"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/gateway/codec"
)

// A body of RegisterCrds may be manifests, a List or YAML documents, instead of the request, which has no `kind`.

// takeManifests reads a body of manifests. It returns false for a body that is the request itself.
func (b *body) takeManifests(into *crdevalv1.RegisterCrdsRequest) (taken bool, err error) {
	if b.yaml {
		return b.takeYAMLManifests(into)
	}
	s := codec.Scanner{JSON: b.data}
	if s.Peek() != '{' {
		return false, nil
	}
	members, err := s.Members("kind", "items")
	if err == nil {
		err = s.End()
	}
	kind, items := string(members["kind"]), members["items"]
	switch {
	case kind == "":
		return false, nil // with an error as well: decoding the request reports it
	case err != nil:
		return true, err
	case items != nil && (kind == `"List"` || kind == `"`+workspace.CRDKind+`List"`):
		s.Pos = sliceOffset(b.data, items)
		return true, s.Elements('[', ']', "items: an array", func(int) error {
			item, err := s.Value()
			if err == nil {
				err = b.addEntry(into, api.JSON(item))
			}
			return err
		})
	}
	document, err := codec.UnmarshalDocument(b.data)
	if err == nil {
		err = b.addEntry(into, document)
	}
	return true, err
}

func (b *body) addEntry(into *crdevalv1.RegisterCrdsRequest, manifest *crdevalv1.Document) error {
	if limit, limited := b.lists["entries"]; limited && len(into.GetEntries()) == limit.Maximum {
		return limit.Exceeded("entries")
	}
	into.Entries = append(into.Entries, &crdevalv1.RegisterCrdsEntry{Manifest: manifest})
	return nil
}

// listInYAML matches what may be a List in YAML, which has to be converted as a whole.
var listInYAML = regexp.MustCompile(`\bkind["']?\s*:\s*["']?\w*List\b`)

// takeYAMLManifests is takeManifests for YAML.
func (b *body) takeYAMLManifests(into *crdevalv1.RegisterCrdsRequest) (taken bool, err error) {
	if listInYAML.Match(b.data) {
		if err := b.reserveNodes(); err != nil {
			return true, err
		}
	}
	documents := workspace.ReadText(b.text)
	if len(documents) == 0 {
		return true, codec.ErrEmpty
	}
	if len(documents) == 1 && documents[0].Kind == "" && !kindInYAML.Match(b.data) {
		return false, nil // decoding the request reports the error
	}
	b.manifests = make(map[call.Document]*workspace.Manifest, len(documents))
	for _, m := range documents {
		document := documentOf(m)
		if err := b.addEntry(into, document); err != nil {
			return true, err
		}
		b.manifests[document] = m
	}
	return true, nil
}

// kindInYAML matches a manifest in its usual form: its kind begins a line.
var kindInYAML = regexp.MustCompile(`(?m)^["']?kind["']?\s*:`)

// takeDocument reads a YAML body that is one document. A List is a document here.
func (b *body) takeDocument(into **crdevalv1.Document) error {
	*into = yamlDocument(b.text.Bytes())
	if !hasMarker(b.text.Bytes()) && !startsAsJSON(b.text.Bytes()) {
		return nil
	}
	if err := b.reserveNodes(); err != nil {
		return err
	}
	list := workspace.ReadText(b.text)
	switch {
	case len(list) == 0 || list[0].Item > 0 && list[len(list)-1].Number == 1:
		return nil
	case list[len(list)-1].Number > 1:
		at := list[0]
		for _, at = range list {
			if at.Number > 1 {
				break
			}
		}
		return b.secondDocument(at.Start())
	}
	if _, err := originOf(list[0]); err != nil {
		return err
	}
	*into = documentOf(list[0])
	b.manifests = map[call.Document]*workspace.Manifest{*into: list[0]}
	return nil
}

// startsAsJSON reports whether a text begins with an object in braces, which is probably JSON.
func startsAsJSON(text []byte) bool {
	s := codec.Scanner{JSON: text}
	return s.Peek() == '{'
}

// hasMarker reports whether a YAML text may have a line that begins or ends a document, or a directive.
func hasMarker(text []byte) bool {
	for _, marker := range []string{"---", "...", "%"} {
		if bytes.HasPrefix(text, []byte(marker)) || bytes.Contains(text, []byte("\n"+marker)) {
			return true
		}
	}
	return false
}

// secondDocument returns the error of a body with several documents.
func (b *body) secondDocument(at document.Position) error {
	return &codec.Error{
		Body: b.text.Bytes(), Offset: at.Offset, Kind: engine.TypeSyntax,
		Text: "a second document begins here; send one document at a time",
	}
}

// yamlNodeBytes is the memory that a node of a YAML body takes while the body is converted to JSON.
const yamlNodeBytes = 256

// reserveNodes rejects a YAML body with too many nodes, and reserves memory for those it has.
func (b *body) reserveNodes() error {
	nodes := 1 // rather too many: each node has a line, a comma, a bracket or an indicator of its own
	for _, sign := range []string{"\n", "\r", ",", "[", "{", "- ", "? "} {
		nodes += bytes.Count(b.data, []byte(sign))
	}
	if nodes > api.MaxYAMLNodes {
		return api.LimitExceeded("max_yaml_nodes", api.MaxYAMLNodes, "the body has about %d YAML nodes (lines and entries of "+
			"flow collections), and the limit max_yaml_nodes is %d: send fewer items in a call, or JSON", nodes, api.MaxYAMLNodes)
	}
	return b.memory.take(int64(nodes) * yamlNodeBytes)
}

// decodeYAML converts the body to JSON, as clients convert manifests, and reads that into v.
func (b *body) decodeYAML(v any) error {
	if err := b.reserveNodes(); err != nil {
		return err
	}
	var err error
	if b.converted, err = document.ReadYAML(b.text, b.limits); err != nil {
		return err
	}
	if hasMarker(b.text.Bytes()) {
		if at, more := b.converted.Ignored(); more {
			return b.secondDocument(at)
		}
	}
	err = codec.Unmarshal(b.converted.JSON(), v, b.lists)
	if at, ok := errors.AsType[*codec.Error](err); ok {
		suggestItems(at, v)
		follow(at, b.text, b.converted)
	}
	return err
}

// follow makes an error about converted JSON one about the YAML text.
func follow(e *codec.Error, text *document.Text, converted *document.YAML) {
	found, _ := converted.Range(e.Pointer)
	e.Body, e.Offset = text.Bytes(), found.Value.Begin
	if e.IsMember {
		e.Offset = found.Key.Begin
	}
}
