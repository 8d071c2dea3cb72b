package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine/value"
)

// convertByRules converts the object by declared rules, in place. The error is a Fault with ConversionUnavailable and has
// the text of an API server that calls crdeval as the webhook. A webhook receives the object as an API server prints it:
// 1.0 as the integer 1.
func (p *pass) convertByRules(to *Version) error {
	if p.lossy() {
		text := p.printed()
		root, err := p.d.Parse(text, value.Arena, value.Limits{MaxBytes: len(text), MaxDepth: p.r.Limits.WithDefaults().MaxDepth})
		if err != nil {
			return internal(fmt.Errorf("what was printed cannot be read: %w", err))
		}
		p.d.Replace(p.root, root)
		p.d.MarkDirty(p.root)
	}
	var err error
	if p.matches {
		err = p.def.Rewrite(p.ctx, p.d, p.root, p.of.Version, to.Name, true)
	} else {
		err = fmt.Errorf("the kind %q of the object is not that of %s", p.of.Kind, p.def.Name)
	}
	if late := expired(p.ctx); err == nil || late != nil {
		return late
	}
	if errors.As(err, new(*value.LimitError)) {
		return exceeded(err)
	}
	return &Fault{Code: ConversionUnavailable, Text: fmt.Sprintf("conversion webhook for %v failed: %v", p.of, err), Cause: err}
}

// Rewrite converts a tree by the declared rules, in place. whole says that it is not a partial object of server-side
// apply. The error names the object, the rule and the value. After an
// error the tree is unusable.
func (d *Definition) Rewrite(ctx context.Context, doc *value.Doc, root uint32, from, to string, whole bool) error {
	if d.Lenses == nil {
		return fmt.Errorf("%s has conversion rules that do not fit its schemas: correct them with SetConversion", d.Name)
	}
	if err := d.Lenses.Convert(ctx, doc, root, from, to, whole); err != nil {
		return fmt.Errorf("%s %s: from %s to %s: %w", d.Kind, nameOf(doc, root), from, to, err)
	}
	return nil
}

// nameOf returns namespace and name of an object.
func nameOf(d *value.Doc, root uint32) string {
	metadata := d.Field(root, "metadata")
	text := func(name string) string {
		if c := d.Field(metadata, name); c != 0 && d.Nodes[c].Kind == value.String {
			return strings.Clone(d.Str(c))
		}
		return ""
	}
	if namespace := text("namespace"); namespace != "" {
		return namespace + "/" + text("name")
	}
	return text("name")
}
