package lsp

import (
	"context"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
)

// maxHover bounds the text of kubectl explain in a hover, in bytes.
const maxHover = 8 << 10

// cursor is what an offset of a file refers to.
type cursor struct {
	root    *node // of the object: of the document, or of an item of a list
	object  int   // number of steps of the path to root
	crd     *workspace.CRD
	version string
	schema  *schema // of root; nil: unknown
}

// at returns the innermost node that contains an offset.
func (n *node) at(offset int) *node {
	for {
		i := len(n.children) - 1
		for ; i >= 0; i-- {
			if c := n.children[i]; c.start <= offset && offset <= max(c.end, c.keyEnd) {
				break
			}
		}
		if i < 0 {
			return n
		}
		n = n.children[i]
	}
}

// documentAt returns the document of an offset.
func documentAt(docs []document, offset int) *document {
	for i := range docs {
		if offset >= docs[i].begin && (offset < docs[i].end || i == len(docs)-1) {
			return &docs[i]
		}
	}
	return &docs[len(docs)-1]
}

// cursor returns what an offset refers to. In a List, the object is an item.
func (s *server) cursor(ctx context.Context, f *file, n, root *node) cursor {
	text := f.text
	c := cursor{root: root}
	if items := root.child("items"); items != nil && strings.HasSuffix(root.child("kind").scalarText(text), "List") {
		path := n.path()
		if len(path) > 1 && path[0] == "items" {
			if item := items.child(path[1]); item != nil {
				c.root, c.object = item, 2
			}
		}
	}
	apiVersion := c.root.child("apiVersion").scalarText(text)
	kind := c.root.child("kind").scalarText(text)
	if c.crd = s.workspace.of(apiVersion, kind, f.path); c.crd != nil {
		c.version = workspace.VersionOf(apiVersion)
		c.schema = s.workspace.schema(ctx, c.crd, c.version)
	} else if isCRD(apiVersion, kind) {
		c.schema = schemaOfCRD()
	}
	return c
}

// hover answers textDocument/hover.
func (s *server) hover(ctx context.Context, f *file, p *documentParams) (any, error) {
	lines, docs := newLineIndex(f.text), outline(f.text)
	offset := lines.offset(p.Position)
	root := documentAt(docs, offset).root
	n := root.at(offset)
	for n.index >= 0 && n.kind == scalar { // an item of a list is explained with the list
		n = n.parent
	}
	if n.parent == nil || offset > n.keyEnd && (n.kind != scalar || offset < n.begin) {
		return nil, nil
	}
	c := s.cursor(ctx, f, n, root)
	path := n.path()[c.object:]
	of, fields := c.schema.at(path)
	if of == nil {
		return nil, nil
	}
	var b strings.Builder
	b.WriteString("**" + pathText(path) + "** `" + of.typeText() + "`\n\n")
	for _, detail := range of.details() {
		b.WriteString("- " + detail + "\n")
	}
	text, err := s.explain(ctx, c, fields)
	if err != nil {
		text = of.props.Description
	}
	if len(text) > maxHover {
		text = strings.ToValidUTF8(text[:maxHover], "") + "\n…"
	}
	if text = strings.TrimSpace(text); text != "" {
		b.WriteString("\n```text\n" + strings.ReplaceAll(text, "```", "'''") + "\n```\n")
	}
	r := lines.rangeOf(n.start, n.keyEnd)
	return hover{Contents: markupContent{"markdown", b.String()}, Range: &r}, nil
}

// pathText returns a path as API servers write it.
func pathText(path []string) string {
	var b strings.Builder
	for i, step := range path {
		switch _, err := strconv.Atoi(step); {
		case err == nil:
			step = "[" + step + "]"
		case i > 0:
			step = "." + step
		}
		b.WriteString(step)
	}
	return b.String()
}

// explain returns what kubectl explain prints about a field.
func (s *server) explain(ctx context.Context, c cursor, fields []string) (string, error) {
	d := s.workspace.definition(ctx, c.crd)
	if d == nil {
		return "", context.Canceled
	}
	request := d.Plural() + "." + d.Group()
	for _, name := range fields {
		request += "." + strings.NewReplacer(`\`, `\\`, ".", `\.`).Replace(name)
	}
	return engine.Explain(ctx, request, engine.ExplainOptions{APIVersion: d.Group() + "/" + c.version}, d.CRD(engine.Status{}))
}
