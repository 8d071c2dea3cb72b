package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statusv1 "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/value"
	"github.com/crdeval/crdeval/engine/workspace"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/api"
)

// A body of RegisterCrds may be manifests, a List or YAML documents, instead of the request, which has no `kind`.

// takeManifests reads a body of manifests. It returns false for a body that is the request itself.
func (b *body) takeManifests(into *crdevalv1.RegisterCrdsRequest) (taken bool, err error) {
	if b.yaml {
		return b.takeYAMLManifests(into)
	}
	s := scanner{src: b.data}
	if s.peek() != '{' {
		return false, nil
	}
	members, err := s.members("kind", "items")
	if err == nil {
		err = s.end()
	}
	kind, items := string(members["kind"]), members["items"]
	switch {
	case kind == "":
		return false, nil // with an error as well: decoding the request reports it
	case err != nil:
		return true, err
	case items != nil && (kind == `"List"` || kind == `"`+workspace.CRDKind+`List"`):
		s.pos = sliceOffset(b.data, items)
		return true, s.elements('[', ']', "items: an array", func(int) error {
			item, err := s.value()
			if err == nil {
				err = b.addEntry(into, api.JSON(item))
			}
			return err
		})
	}
	document, err := decodeDocument(b.data)
	if err == nil {
		err = b.addEntry(into, document)
	}
	return true, err
}

func (b *body) addEntry(into *crdevalv1.RegisterCrdsRequest, manifest *crdevalv1.Document) error {
	if limit, limited := b.lists["entries"]; limited && len(into.GetEntries()) == limit.Maximum {
		return &listError{"entries", limit}
	}
	into.Entries = append(into.Entries, &crdevalv1.RegisterCrdsEntry{Manifest: manifest})
	return nil
}

// listInYAML matches what may be a List in YAML, which has to be converted as a whole.
var listInYAML = regexp.MustCompile(`\bkind["']?\s*:\s*["']?(` + workspace.CRDKind + `)?List\b`)

// takeYAMLManifests is takeManifests for YAML.
func (b *body) takeYAMLManifests(into *crdevalv1.RegisterCrdsRequest) (taken bool, err error) {
	documents := workspace.Read(b.data)
	if len(documents) == 0 {
		return true, errEmptyBody
	}
	if len(documents) == 1 && !b.isManifest() {
		return false, nil // decoding the request reports the error
	}
	if listInYAML.Match(b.data) {
		if err := b.reserveNodes(); err != nil {
			return true, err
		}
	}
	b.manifests = []*workspace.Manifest{}
	for _, m := range documents {
		document := yamlDocument(m.Document.YAML)
		if m.Document.JSON != nil {
			document = api.JSON(m.Document.JSON)
		}
		if err := b.addEntry(into, document); err != nil {
			return true, err
		}
		b.manifests = append(b.manifests, m)
	}
	return true, nil
}

// kindInYAML matches a manifest in its usual form: its kind begins a line.
var kindInYAML = regexp.MustCompile(`(?m)^["']?kind["']?\s*:`)

// isManifest reports whether a body of one YAML document has a kind.
func (b *body) isManifest() bool {
	if kindInYAML.Match(b.data) {
		return true
	}
	if s := (scanner{src: b.data}); s.peek() != '{' {
		return false
	}
	_, kind, err := engine.TypeMetaOf(engine.YAML(b.data), b.limits)
	return err == nil && kind != ""
}

// restoreManifests is restorePositions for a YAML body of manifests.
func (b *body) restoreManifests(answer proto.Message) {
	a, ok := answer.(*crdevalv1.RegisterCrdsResponse)
	if !ok || len(a.GetResults()) != len(b.manifests) {
		return
	}
	for i, result := range a.GetResults() {
		m := b.manifests[i]
		movePositions(positionsIn(result.ProtoReflect(), "position"), m)
		restoreManifestError(result.GetError(), m)
	}
}

// restoreManifestError makes an error about a manifest that cannot be read name the line in the body.
func restoreManifestError(st *statusv1.Status, m *workspace.Manifest) {
	info := api.ErrorInfoOf(st)
	if info.GetReason() != "MANIFEST_UNREADABLE" {
		return
	}
	text, line, _ := m.Describe(errors.New(st.GetMessage()))
	st.Message = text
	if n, err := strconv.Atoi(info.GetMetadata()["line"]); err == nil && line > 0 {
		info.Metadata["line"] = strconv.Itoa(m.Position("", engine.Position{Line: n}).Line)
		setErrorInfo(st, info)
	}
	moveViolations(st, func(positions []located) { movePositions(positions, m) })
}

// movePositions makes positions in a manifest those in the body.
func movePositions(positions []located, m *workspace.Manifest) {
	for _, p := range positions {
		at := m.Position(p.pointer, engine.Position{Line: int(p.GetLine()), Column: int(p.GetColumn()), Offset: int(p.GetOffset())})
		p.Line, p.Column, p.Offset = int32(at.Line), int32(at.Column), int64(at.Offset)
	}
}

// moveViolations changes the positions of the violations in the details of a status.
func moveViolations(st *statusv1.Status, move func([]located)) {
	for i, detail := range st.GetDetails() {
		list := &crdevalv1.ViolationList{}
		if !detail.MessageIs(list) || detail.UnmarshalTo(list) != nil {
			continue
		}
		move(positionsIn(list.ProtoReflect(), "position"))
		if moved, err := anypb.New(list); err == nil {
			st.Details[i] = moved
		}
	}
}

// setErrorInfo replaces the first detail of a status.
func setErrorInfo(st *statusv1.Status, info *errdetails.ErrorInfo) {
	if detail, err := anypb.New(info); err == nil {
		st.Details[0] = detail
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
	if b.held == nil {
		return nil
	}
	return b.held.take(int64(nodes) * yamlNodeBytes)
}

// decodeYAML converts the body to JSON and reads that into v.
func (b *body) decodeYAML(v any) error {
	if err := b.reserveNodes(); err != nil {
		return err
	}
	converted, source, err := value.YAMLToJSON(b.data, b.limits)
	if syntax, ok := errors.AsType[*value.SyntaxError](err); ok &&
		strings.Contains(syntax.Text, "unsupported map key of type: %!s(<nil>)") {
		return &value.SyntaxError{
			Offset: -1, Line: syntax.Line, Column: syntax.Column, Text: "yaml: a key is null: keys are strings, so quote it", Cause: err,
		}
	}
	if err != nil {
		return err
	}
	if strict := source.StrictError(); strict != nil { // JSON has each key once, so it must be reported here
		text := strings.TrimPrefix(strict.Error(), "yaml: unmarshal errors:\n  ")
		return fmt.Errorf("the body has duplicate keys: %s", strings.ReplaceAll(text, "\n  ", "; "))
	}
	b.source = source
	return withHint(unmarshal(converted, v, b.lists), v, converted)
}
