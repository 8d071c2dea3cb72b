package apiserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/value"
)

// tableConvertor prints the objects of a version.
type tableConvertor struct {
	definition Definition
	version    string
	fields     columnFields
}

func newTableConvertor(d Definition, crd *apiextensionsv1.CustomResourceDefinition, version string) tableConvertor {
	c := tableConvertor{definition: d, version: version}
	for _, v := range crd.Spec.Versions {
		if v.Name == version {
			c.fields = newColumnFields(v.AdditionalPrinterColumns)
		}
	}
	return c
}

func (c tableConvertor) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	var objects []runtime.Object
	o := engine.TableOptions{}
	switch list := obj.(type) {
	case *unstructured.UnstructuredList:
		o.ResourceVersion, o.Continue, o.RemainingItemCount = list.GetResourceVersion(), list.GetContinue(), list.GetRemainingItemCount()
		for i := range list.Items {
			objects = append(objects, &list.Items[i])
		}
	case *unstructured.Unstructured:
		o.ResourceVersion = list.GetResourceVersion()
		objects = append(objects, list)
	default:
		return nil, fmt.Errorf("cannot print a %T", obj)
	}
	own, ok := options.(*metav1.TableOptions)
	if !ok || own == nil {
		own = &metav1.TableOptions{}
	}
	o.NoHeaders, o.Object = own.NoHeaders, engine.RowNone
	_, isList := obj.(*unstructured.UnstructuredList)
	printed := isList && printsRows(ctx) && (own.IncludeObject == "" || own.IncludeObject == metav1.IncludeMetadata)
	if printed {
		o.Object = engine.RowMetadata
	}
	documents := make([]engine.Document, len(objects))
	for i := range objects {
		text, err := marshal(&unstructured.Unstructured{Object: c.fields.of(objects[i].(*unstructured.Unstructured).Object)})
		if err != nil {
			return nil, err
		}
		documents[i] = engine.JSON(text)
	}
	table, err := c.definition.PrintTable(ctx, c.version, documents, o)
	if err != nil {
		return nil, unevaluated(err)
	}
	if printed { // upstream's handler removes the objects, and keeps the printed metadata
		own.IncludeObject = metav1.IncludeNone
	}
	for i := range table.Rows {
		if table.Rows[i].Object.Object = objects[i]; printed {
			table.Rows[i].Object.Object = emptyMetadata
		}
	}
	return table, nil
}

// emptyMetadata is the object of a row whose metadata is printed. Upstream's handler requires an object.
var emptyMetadata = &metav1.PartialObjectMetadata{}

type printsRowsKey struct{}

// withPrintedRows notes in a context whether the response to a request is a table in JSON with the current kind of
// metadata. Then the evaluator prints the metadata of rows, which costs less than to convert and encode them.
func withPrintedRows(ctx context.Context, r *http.Request) context.Context {
	first, _, _ := strings.Cut(r.Header.Get("Accept"), ",")
	return context.WithValue(ctx, printsRowsKey{}, first == "application/json;as=Table;v=v1;g=meta.k8s.io")
}

func printsRows(ctx context.Context) bool {
	prints, _ := ctx.Value(printsRowsKey{}).(bool)
	return prints
}

// DecodeTable decodes a table that the engine has printed. The objects of rows stay JSON.
func DecodeTable(text []byte) (*metav1.Table, error) {
	d := value.Acquire()
	defer d.Release()
	table := &metav1.Table{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "Table"}, Rows: []metav1.TableRow{}}
	root, err := d.ParseJSON(text, value.Limits{MaxBytes: len(text)})
	if err != nil {
		return nil, err
	}
	for name, into := range map[string]any{"metadata": &table.ListMeta, "columnDefinitions": &table.ColumnDefinitions} {
		if field := d.Field(root, name); field != 0 {
			if err := json.Unmarshal(d.Raw(field), into); err != nil {
				return nil, err
			}
		}
	}
	rows := d.Field(root, "rows")
	for r := d.Nodes[rows].First; r != 0; r = d.Nodes[r].Next {
		row := metav1.TableRow{}
		row.Cells, _ = d.Any(d.Field(r, "cells")).([]any)
		if object := d.Field(r, "object"); object != 0 {
			row.Object.Raw = bytes.Clone(d.Raw(object))
		}
		table.Rows = append(table.Rows, row)
	}
	return table, nil
}
