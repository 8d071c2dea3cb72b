package sidecar

import (
	"bytes"
	"context"

	"github.com/crdeval/crdeval/engine/publish"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// GetScale implements apiserver.Definition.
func (d *definition) GetScale(ctx context.Context, version string, object engine.Document) ([]byte, error) {
	r, err := call(ctx, d, func(ctx context.Context, at *registration) (*crdevalv1.GetScaleResponse, error) {
		return d.client.Presentation().GetScale(ctx, &crdevalv1.GetScaleRequest{
			Context: d.evaluationContext(at, nil), Crd: d.name, Revision: at.revision, Version: version, Object: document(object),
		})
	})
	if err == nil {
		err = rejected(r.GetRejection())
	}
	return r.GetScale().GetJson(), err
}

// SetScale implements apiserver.Definition.
func (d *definition) SetScale(ctx context.Context, version string, object, scale engine.Document) ([]byte, error) {
	r, err := call(ctx, d, func(ctx context.Context, at *registration) (*crdevalv1.SetScaleResponse, error) {
		return d.client.Presentation().SetScale(ctx, &crdevalv1.SetScaleRequest{
			Context: d.evaluationContext(at, nil), Crd: d.name, Revision: at.revision, Version: version, Object: document(object),
			Scale: document(scale),
		})
	})
	if err == nil {
		err = rejected(r.GetRejection())
	}
	return r.GetObject().GetJson(), err
}

// Models implements apiserver.Definition.
func (d *definition) Models(ctx context.Context) ([]byte, error) {
	r, err := call(ctx, d, func(ctx context.Context, at *registration) (*crdevalv1.GetOpenApiModelsResponse, error) {
		return d.client.APIServer().GetOpenApiModels(ctx, &crdevalv1.GetOpenApiModelsRequest{
			Catalog: d.catalog, Crd: d.name, Revision: at.revision, AtLeast: at.token,
		})
	})
	return r.GetDocument().GetJson(), err
}

var rowObjects = map[publish.RowObject]crdevalv1.RowObject{
	publish.RowMetadata: crdevalv1.RowObject_ROW_OBJECT_METADATA, publish.RowNone: crdevalv1.RowObject_ROW_OBJECT_NONE,
	publish.RowWhole: crdevalv1.RowObject_ROW_OBJECT_OBJECT,
}

// PrintTable implements apiserver.Definition. It prints a long list with several calls.
func (d *definition) PrintTable(
	ctx context.Context, version string, objects []engine.Document, o publish.TableOptions,
) ([]byte, error) {
	limits, err := call(ctx, d, func(ctx context.Context, _ *registration) (*crdevalv1.ServerLimits, error) {
		return d.client.Limits(ctx)
	})
	if err != nil {
		return nil, err
	}
	request := &crdevalv1.TableRequest{
		Crd: d.name, Version: version, RowObject: rowObjects[o.Object], WithoutColumns: o.NoHeaders, Decoded: o.Decoded,
		ResourceVersion: o.ResourceVersion, ContinueToken: o.Continue,
	}
	if o.RemainingItemCount != nil {
		request.RemainingItemCount = *o.RemainingItemCount
	}
	if !o.Now.IsZero() {
		request.Now = timestamppb.New(o.Now)
	}
	table, err := d.printPart(ctx, request, &objects, limits)
	for err == nil && len(objects) > 0 {
		var more []byte
		request.WithoutColumns = true
		if more, err = d.printPart(ctx, request, &objects, limits); err == nil {
			table = appendRows(table, more)
		}
	}
	return table, err
}

// appendRows appends the rows of a table to those of another one.
func appendRows(table, more []byte) []byte {
	_, rows, _ := bytes.Cut(more, []byte(`"rows":[`))
	table = bytes.TrimSuffix(table, []byte("]}"))
	if !bytes.HasSuffix(table, []byte("[")) && string(rows) != "]}" {
		table = append(table, ',')
	}
	return append(table, rows...)
}

// printPart prints as many of the objects as fit in a call, at least one, and removes them from the list.
func (d *definition) printPart(
	ctx context.Context, request *crdevalv1.TableRequest, objects *[]engine.Document, limits *crdevalv1.ServerLimits,
) ([]byte, error) {
	request.Objects = nil
	capacity := int64(limits.GetMaxMessageBytes()) / 2
	for _, o := range *objects {
		capacity -= int64(len(o.JSON))
		if n := len(request.Objects); n > 0 && (n == int(limits.GetMaxBatchItems()) || capacity < 0) {
			break
		}
		request.Objects = append(request.Objects, document(o))
	}
	*objects = (*objects)[len(request.Objects):]
	r, err := call(ctx, d, func(ctx context.Context, at *registration) (*crdevalv1.TableResponse, error) {
		request.Revision, request.Context = at.revision, d.evaluationContext(at, nil)
		return d.client.Presentation().Table(ctx, request)
	})
	if err == nil {
		err = rejected(r.GetRejection())
	}
	if err != nil {
		return nil, err
	}
	return r.GetTable().GetJson(), nil
}
