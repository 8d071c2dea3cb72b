package page

import (
	"context"

	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/editor/assist"
)

// forCRDs completes and explains CRDs. It needs no CRD, because package editor has their schema.
var forCRDs = &assist.Assistant{CRDs: &workspace.Workspace{}}

// Complete returns the completions at a position. It does not panic.
func (e *Evaluator) Complete(ctx context.Context, in CursorInput) (out Completions) {
	out.Items = []assist.Item{}
	out.Error = e.assist(ctx, &in, func(ctx context.Context, a *assist.Assistant, at *positions, offset int) {
		c := a.Complete(ctx, "", []byte(at.text), offset)
		if len(c.Items) > 0 {
			out.Items, out.Range = c.Items, at.span(c.Begin, c.End)
		}
	})
	return out
}

// Hover describes the field at a position. It does not panic.
func (e *Evaluator) Hover(ctx context.Context, in CursorInput) (out Hover) {
	out.Error = e.assist(ctx, &in, func(ctx context.Context, a *assist.Assistant, at *positions, offset int) {
		if h := a.Hover(ctx, "", []byte(at.text), offset); h != nil {
			out.Field = &Field{
				Range: at.span(h.Begin, h.End), Path: h.Path, Type: h.Type, Details: h.Details, Text: h.Text,
			}
			if out.Field.Details == nil {
				out.Field.Details = []assist.Detail{}
			}
		}
	})
	return out
}

// assist calls a function with what knows the CRDs of the document with the position, its text, and the offset in
// bytes. The CRD is compiled only for objects, unless it is the last one.
func (e *Evaluator) assist(ctx context.Context, in *CursorInput,
	answer func(context.Context, *assist.Assistant, *positions, int)) (failed *Error) {
	defer func() {
		if p := recover(); p != nil {
			err := panicked(p)
			failed = &err
		}
	}()
	whole := Input{CRD: in.CRD, Object: in.Object, OldObject: in.OldObject}
	if err := whole.check(); err != nil {
		return err
	}
	ctx, cancel := e.bound(ctx)
	defer cancel()
	a, text := forCRDs, in.CRD
	switch in.Document {
	case DocumentCRD:
	case DocumentObject, DocumentOldObject:
		c, err := e.compile(ctx, in.CRD, in.Minor)
		if err != nil {
			return err
		}
		if a, text = c.assistant, in.Object; in.Document == DocumentOldObject {
			text = in.OldObject
		}
	default:
		return invalid("unknown document %q: use %s, %s or %s", in.Document, DocumentCRD, DocumentObject,
			DocumentOldObject)
	}
	at := newPositions(text)
	answer(ctx, a, at, at.offset(in.Offset))
	return nil
}
