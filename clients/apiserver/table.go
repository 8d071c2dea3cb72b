package apiserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/crdeval/crdeval/engine/kubeserver"
	"github.com/crdeval/crdeval/engine/publish"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/document"
)

// tableConvertor prints the objects of a version.
type tableConvertor struct {
	definition Definition
	version    string
	printer    *kubeserver.TablePrinter
	fields     columnFields // that the printer reads
}

func newTableConvertor(d Definition, crd *apiextensionsv1.CustomResourceDefinition, version string) tableConvertor {
	c := tableConvertor{definition: d, version: version}
	for i := range crd.Spec.Versions {
		if v := &crd.Spec.Versions[i]; v.Name == version {
			c.printer, c.fields = kubeserver.NewTablePrinter(v), newColumnFields(v.AdditionalPrinterColumns)
		}
	}
	return c
}

// ConvertToTable implements rest.TableConvertor. The rows have the objects.
func (c tableConvertor) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	var objects []*unstructured.Unstructured
	o := publish.TableOptions{Object: publish.RowNone}
	switch list := obj.(type) {
	case *unstructured.UnstructuredList:
		objects = itemsOf(list, &o)
	case *unstructured.Unstructured:
		o.ResourceVersion = list.GetResourceVersion()
		objects = append(objects, list)
	default:
		return nil, fmt.Errorf("cannot print a %T", obj)
	}
	if own, ok := options.(*metav1.TableOptions); ok && own != nil {
		o.NoHeaders = own.NoHeaders
	}
	nested := areNested(objects)
	if nested {
		o.Object = publish.RowWhole
	}
	table, err := c.printDecoded(ctx, objects, o)
	if err != nil {
		return nil, err
	}
	for i := range table.Rows {
		if !nested {
			table.Rows[i].Object = runtime.RawExtension{Object: objects[i]}
			continue
		}
		object := &unstructured.Unstructured{}
		if err := unmarshal(table.Rows[i].Object.Raw, object); err != nil {
			return nil, err
		}
		table.Rows[i].Object = runtime.RawExtension{Object: object}
	}
	return table, nil
}

// areNested reports whether one of the objects has items at its root. The rows of such an object are its items.
func areNested(objects []*unstructured.Unstructured) bool {
	return slices.ContainsFunc(objects, (*unstructured.Unstructured).IsList)
}

// itemsOf returns the objects of a list, and copies the list's metadata to o.
func itemsOf(list *unstructured.UnstructuredList, o *publish.TableOptions) []*unstructured.Unstructured {
	o.ResourceVersion, o.Continue, o.RemainingItemCount = list.GetResourceVersion(), list.GetContinue(), list.GetRemainingItemCount()
	objects := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		objects[i] = &list.Items[i]
	}
	return objects
}

// printDecoded prints a table and decodes it. The objects of rows stay JSON.
func (c tableConvertor) printDecoded(ctx context.Context, objects []*unstructured.Unstructured, o publish.TableOptions) (*metav1.Table, error) {
	text, err := c.print(ctx, objects, o)
	if err != nil {
		return nil, err
	}
	table := &metav1.Table{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "Table"}, Rows: []metav1.TableRow{}}
	err = document.Read(text, document.Limits{MaxBytes: len(text)}, func(root document.Value) error {
		for name, into := range map[string]any{"metadata": &table.ListMeta, "columnDefinitions": &table.ColumnDefinitions} {
			if field := root.Field(name); field.Exists() {
				if err := json.Unmarshal(field.Raw(), into); err != nil {
					return err
				}
			}
		}
		for r := range root.Field("rows").Elements() {
			row := metav1.TableRow{}
			row.Cells, _ = r.Field("cells").Any().([]any)
			row.Object.Raw = bytes.Clone(r.Field("object").Raw())
			table.Rows = append(table.Rows, row)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return table, nil
}

// selectedBytes is the usual length of the fields of an object that columns read, as JSON.
const selectedBytes = 256

const partialMetadata = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":`

// print returns the JSON of a table of objects that were read from the storage. The evaluator prints nested objects.
func (c tableConvertor) print(ctx context.Context, objects []*unstructured.Unstructured, o publish.TableOptions) ([]byte, error) {
	nested := areNested(objects)
	if nested {
		c.fields = nil
	}
	p := &printer{points: true}
	text := make([]byte, 0, selectedBytes*len(objects))
	var err error
	ends := make([]int, len(objects))
	for i, object := range objects {
		if text, err = p.appendFields(text, object.Object, c.fields); err != nil {
			return nil, err
		}
		ends[i] = len(text)
	}
	documents, from := make([]engine.Document, len(objects)), 0
	for i, end := range ends {
		documents[i], from = engine.JSON(text[from:end:end]), end
	}
	var table []byte
	if nested {
		o.Decoded = true
		table, err = c.definition.PrintTable(ctx, c.version, documents, o)
	} else {
		var metadata func([]byte, int) ([]byte, error)
		if o.Object == publish.RowMetadata {
			metadata = func(text []byte, i int) ([]byte, error) {
				text, err := p.append(append(text, partialMetadata...), objects[i].Object["metadata"])
				return append(text, '}'), err
			}
		}
		table, err = c.printer.Print(ctx, documents, o, metadata)
	}
	if err != nil {
		return nil, unevaluated(err)
	}
	return table, nil
}
