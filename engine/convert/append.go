package convert

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Append converts a JSON object to a version by the rules of a CRD and appends it to dst. Like a
// conversion webhook, it neither coerces the object to the schema of the version nor validates it. If whole is false,
// the object can be a partial object of server-side apply. Constants and defaults of expressions are then omitted,
// unless metadata.managedFields shows that the object is whole. If the rules do not convert the object, the error is
// an *engine.Error with ReasonConversionFailed, and names the object, the rule and the value.
func Append(ctx context.Context, d *engine.Definition, dst, object []byte, version string, whole bool) (
	_ []byte, err error) {
	defer host.Recover(&err)
	c := compiled.Of(d)
	if c.Conversion == nil {
		return nil, &engine.Error{Reason: engine.ReasonConversionUnavailable, Message: d.Name() + " has no conversion rules: compile it with Options.Conversion"}
	}
	if c.Inner.Find(version) == nil {
		return nil, &engine.Error{Reason: engine.ReasonVersionNotFound, Message: fmt.Sprintf("%s has no version %q", d.Name(), version)}
	}
	doc := tree.Acquire() // not released by defer: after a panic it must not return to the pool
	doc.StopOn(interrupt.Of(ctx))
	root, err := compiled.Document{JSON: object}.Parse(doc, "object", c.Limits)
	if err == nil {
		if dst, err = appendConverted(ctx, c, dst, doc, root, version, whole); err != nil && ctx.Err() != nil {
			err = compiled.TooLate(ctx.Err())
		}
	}
	doc.Release()
	return dst, compiled.Error(err)
}

func appendConverted(
	ctx context.Context, c *compiled.Definition, dst []byte, doc *tree.Doc, root uint32, version string, whole bool,
) ([]byte, error) {
	group, from, _ := strings.Cut(compiled.StringField(doc, root, "apiVersion"), "/")
	switch {
	case group != c.Inner.Group || c.Inner.Find(from) == nil:
		return nil, &engine.Error{Reason: engine.ReasonVersionNotFound, Message: fmt.Sprintf(
			"the apiVersion %q of the object is not one of %s", group+"/"+from, c.Inner.Name)}
	case compiled.StringField(doc, root, "kind") != c.Inner.Kind:
		return nil, &engine.Error{Reason: engine.ReasonObjectUnreadable, Message: fmt.Sprintf(
			"the kind %q of the object is not that of %s", compiled.StringField(doc, root, "kind"), c.Inner.Name)}
	case from != version:
		if err := c.Inner.Rewrite(ctx, doc, root, from, version, whole); err != nil {
			var limit *tree.LimitError
			if errors.As(err, &limit) {
				return nil, compiled.LimitExceeded(err.Error(), limit, err)
			}
			return nil, err
		}
	}
	return doc.AppendDecoded(dst, root), nil
}
