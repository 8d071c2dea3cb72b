package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine/conversionwebhook"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// convertByRules converts the object by declared rules, in place. The error is a Fault, and has the text of an API server
// that calls crdeval as the webhook. A webhook receives the object as an API server prints it: 1.0 as the integer 1.
func (p *pass) convertByRules(to *Version) error {
	if p.lossy() {
		text := p.printed()
		root, err := p.d.Parse(text, tree.Arena, tree.Limits{MaxBytes: len(text), MaxDepth: p.r.Limits.WithDefaults().MaxDepth})
		if err != nil {
			return internal(fmt.Errorf("what was printed cannot be read: %w", err))
		}
		p.d.Replace(p.root, root)
		p.d.MarkDirty(p.root)
	}
	var err *Fault
	if p.matches() {
		err = p.def.Rewrite(p.ctx, p.d, p.root, p.of.Version, to.Name, true)
	} else {
		err = p.def.unconverted(ConversionFailed, p.of.Version, to.Name,
			fmt.Errorf("the kind %q of the object is not that of %s", p.of.Kind, p.def.Name))
	}
	if late := expired(p.ctx); err == nil || late != nil {
		return late
	}
	if errors.As(err, new(*tree.LimitError)) {
		return exceeded(err)
	}
	if c := (*conversionwebhook.Error)(nil); errors.As(err, &c) {
		c.Preamble = webhookFailed(p.of)
		err.Text = c.Preamble + err.Text
	}
	return err
}

// Rewrite converts a tree by the declared rules, in place. whole says that it is not a partial object of server-side
// apply. The error names the object, the rule and the value. Its code is ConversionUnavailable if the rules do not fit
// the schemas, otherwise ConversionFailed. The cause can be a *tree.LimitError or the error of the context. After an
// error the tree is unusable.
func (d *Definition) Rewrite(ctx context.Context, doc *tree.Doc, root uint32, from, to string, whole bool) *Fault {
	if d.Lenses == nil {
		return d.unconverted(ConversionUnavailable, from, to,
			fmt.Errorf("%s has conversion rules that do not fit its schemas: correct them with SetConversion, or in their file of --crds", d.Name))
	}
	if err := d.Lenses.Convert(ctx, doc, root, from, to, whole); err != nil {
		return d.unconverted(ConversionFailed, from, to,
			fmt.Errorf("%s %s: from %s to %s: %w", d.Kind, nameOf(doc, root), from, to, err))
	}
	return nil
}

// nameOf returns namespace and name of an object.
func nameOf(d *tree.Doc, root uint32) string {
	metadata := d.Field(root, "metadata")
	text := func(name string) string {
		if c := d.Field(metadata, name); c != 0 && d.Nodes[c].Kind == tree.String {
			return strings.Clone(d.Str(c))
		}
		return ""
	}
	if namespace := text("namespace"); namespace != "" {
		return namespace + "/" + text("name")
	}
	return text("name")
}
