package assist

import (
	"context"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/publish"
)

// maxHover bounds the text of kubectl explain in a hover, in bytes.
const maxHover = 8 << 10

// Hover describes a field.
type Hover struct {
	// Begin and End are the key of the field.
	Begin, End int
	// Path is the field as API servers write it: spec.jobs[0].name.
	Path string
	// Type is the type as kubectl explain shows it.
	Type    string
	Details []Detail
	// Text is what kubectl explain prints, or the description. It can be empty.
	Text string
}

// Hover describes the field at an offset of a text, or returns nil. file is the workspace.Source.Path of the text.
func (a *Assistant) Hover(ctx context.Context, file string, text []byte, offset int) *Hover {
	root := documentAt(outline(text), offset).root
	n := root.at(offset)
	for n.index >= 0 && n.kind == scalar { // an item of a list is explained with the list
		n = n.parent
	}
	if n.parent == nil || offset > n.keyEnd && (n.kind != scalar || offset < n.begin) {
		return nil
	}
	c := a.cursor(ctx, file, text, n, root)
	path := n.path()[c.object:]
	of, fields := c.schema.at(path)
	if of == nil {
		return nil
	}
	h := &Hover{Begin: n.start, End: n.keyEnd, Path: pathText(path), Type: of.typeText(), Details: of.details()}
	var err error
	if h.Text, err = a.explain(ctx, c, fields); err != nil {
		h.Text = of.props.Description
	}
	if len(h.Text) > maxHover {
		h.Text = strings.ToValidUTF8(h.Text[:maxHover], "") + "\n…"
	}
	h.Text = strings.TrimSpace(h.Text)
	return h
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
func (a *Assistant) explain(ctx context.Context, c cursor, fields []string) (string, error) {
	d := a.definition(ctx, c.crd)
	if d == nil {
		return "", context.Canceled
	}
	request := d.Plural() + "." + d.Group()
	for _, name := range fields {
		request += "." + strings.NewReplacer(`\`, `\\`, ".", `\.`).Replace(name)
	}
	options := publish.ExplainOptions{APIVersion: d.Group() + "/" + c.version}
	return publish.Explain(ctx, request, options, publish.NewCRD(d, apiextensionsv1.CustomResourceDefinitionStatus{}))
}
