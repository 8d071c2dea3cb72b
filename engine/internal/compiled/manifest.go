package compiled

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// DecodeManifest parses a manifest into the tree of source and decodes it. Errors are a *admission.Fault, or for
// Undecodable.
func DecodeManifest(source *definition.Source, manifest Document, l tree.Limits) (m *definition.Manifest, err error) {
	if manifest.Absent() {
		return nil, Invalid("there is no manifest: send a CustomResourceDefinition as JSON or YAML")
	}
	if source.Text, source.YAML, err = manifest.Text("manifest"); err != nil {
		return nil, err
	}
	d, text := source.Doc, source.Text
	if source.YAML {
		text, _, source.Root, err = d.ConvertYAML(text, tree.Request, manifest.Origin, l)
	} else {
		source.Root, err = d.ParseAt(text, tree.Request, manifest.Origin, l)
		if errors.As(err, new(*tree.SyntaxError)) && json.Valid(text) {
			source.Root, err = parseWithoutLargeNumbers(source, manifest.Origin, err, l)
		}
	}
	root := source.Root
	if source.Unread != (tree.Position{}) {
		root = 0 // the tree has other values
	}
	var unread *admission.Fault
	if err != nil {
		unread, source.Root = UnreadableManifest("manifest", err), 0
		if text == nil || unread.Code != admission.ManifestUnreadable {
			return nil, unread
		}
	}
	if !d.Grow(CompilationMemory(d, text)) {
		return nil, tree.ErrStopped
	}
	if m, err = definition.DecodeTree(text, d, root); err != nil {
		if unread != nil {
			err = unread
		}
		return nil, err
	}
	for i := range m.CRD.Spec.Versions {
		if err := plan.Fits(schema.Of(&m.CRD.Spec.Versions[i])); err != nil {
			return nil, UnreadableManifest("manifest", err)
		}
	}
	return m, nil
}

// parseWithoutLargeNumbers parses a JSON text in which numbers are beyond float64. Upstream ignores them in fields that it
// does not know. The tree has other values at these places, of the same length, so that it can find positions. located is
// the first error, with its position in the Text of the Origin.
func parseWithoutLargeNumbers(source *definition.Source, o *tree.Origin, located error, l tree.Limits) (root uint32, _ error) {
	const most = 100
	text := bytes.Clone(source.Text)
	if first, ok := errors.AsType[*tree.SyntaxError](located); ok {
		source.Unread = first.Position()
	}
	for range most {
		source.Doc.Reset()
		_, err := source.Doc.ParseJSON(text, l)
		if err == nil {
			source.Doc.Reset()
			return source.Doc.ParseAt(text, tree.Request, o, l)
		}
		syntax, ok := errors.AsType[*tree.SyntaxError](err)
		if !ok || syntax.Offset < 0 {
			break
		}
		for i := syntax.Offset; i < len(text) && bytes.IndexByte([]byte("0123456789.eE+-"), text[i]) >= 0; i++ {
			text[i] = ' '
		}
		text[syntax.Offset] = '1'
	}
	source.Doc.Reset()
	return 0, nil
}

// The memory that parts of a manifest take while it is decoded, checked and compiled, in bytes. Measured with eleven
// generated manifests of up to 2.4 MB, such as 30,000 fields with 14,000 rules. The most costly rules are those of
// different schemas.
const (
	memoryPerByte     = 8
	memoryPerNode     = 128
	memoryPerObject   = 1 << 10 // such as a schema
	memoryPerRule     = 10 << 10
	memoryPerRuleByte = 12
)

// CompilationMemory estimates the memory that decoding, checking and compiling a manifest takes. d has its tree.
func CompilationMemory(d *tree.Doc, text []byte) int {
	size := len(text)*memoryPerByte + len(d.Nodes)*memoryPerNode
	for i := range d.Nodes {
		n := &d.Nodes[i]
		switch {
		case n.Kind == tree.Object:
			size += memoryPerObject
		case n.Kind == tree.String && d.Key(uint32(i)) == "rule":
			size += memoryPerRule + int(n.End-n.Off)*memoryPerRuleByte
		}
	}
	return size
}

// Undecodable separates the errors of DecodeManifest: for a manifest that an API server can read but rejects, it returns
// the error of decoding, otherwise the error that says why there is no answer.
func Undecodable(source *definition.Source, err error) (*definition.DecodeError, error) {
	if errors.As(err, new(*admission.Fault)) {
		return nil, err
	}
	if errors.As(err, new(*tree.LimitError)) {
		return nil, UnreadableManifest("manifest", err)
	}
	var decode *definition.DecodeError
	if !errors.As(err, &decode) {
		return nil, err
	}
	switch decode.Reason {
	case definition.NotCRD:
		return nil, Failed(admission.NotACRD, "manifest", err)
	case definition.Unreadable:
		if text, at := source.UnreadableType(); text != "" {
			return nil, &admission.Fault{Code: admission.ManifestUnreadable, Text: "manifest: " + text, Position: at, Cause: err}
		}
		return nil, Failed(admission.ManifestUnreadable, "manifest", err)
	}
	return decode, nil
}
