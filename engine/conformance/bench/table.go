package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"time"

	"github.com/crdeval/crdeval/engine/publish"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	schemaobjectmeta "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	structuralpruning "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/crdeval/crdeval/engine"
	printed "github.com/crdeval/crdeval/engine/internal/table"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// tableRows is the number of objects in a table. Objects above largeObject bytes have a tenth of it, because upstream
// keeps all of them as maps.
const (
	tableRows   = 10_000
	largeObject = 4 << 10
)

// tableRounds is lower, because one operation prints thousands of rows.
const tableRounds = 5

// table compares tables of 10,000 objects on one core, from the stored bytes to the bytes of the Table with the
// metadata of each object: what an API server does for `kubectl get`.
func table(o Options, name string, obj *object) (string, error) {
	t, err := newTables(obj)
	if err != nil {
		return "", err
	}
	if err := t.same(); err != nil {
		return "", err
	}
	o.Rounds = min(o.Rounds, tableRounds)
	a, b, err := compare(o, func() error {
		_, err := t.ours()
		return err
	}, func() error {
		_, err := t.upstream()
		return err
	})
	return timeLine(name, a, b, runtime.GOMAXPROCS(0)), err
}

// tableRow compares the converters alone: from 10,000 parsed objects, as trees and as maps, to rows. Ours are printed,
// upstream's are not.
func tableRow(o Options, name string, obj *object) (string, error) {
	t, err := newTables(obj)
	if err != nil {
		return "", err
	}
	list := &unstructured.UnstructuredList{Object: map[string]any{}}
	for i := range t.documents {
		u, err := t.read(t.documents[i].JSON)
		if err != nil {
			return "", err
		}
		list.Items = append(list.Items, *u)
	}
	d := tree.Acquire()
	defer d.Release()
	root, err := d.ParseJSON(t.documents[0].JSON, tree.Limits{})
	if err != nil {
		return "", err
	}
	columns := printed.CompileColumns(t.columns)
	o.Rounds = min(o.Rounds, tableRounds)
	var buffer []byte
	a, b, err := compare(o, func() (err error) {
		buffer = buffer[:0]
		now := time.Now()
		for range t.documents {
			if buffer, err = columns.AppendRow(buffer, d, root, now, nil); err != nil {
				return err
			}
		}
		return nil
	}, func() error {
		_, err := t.converter.ConvertToTable(context.Background(), list, &metav1.TableOptions{})
		return err
	})
	return timeLine(name, a, b, runtime.GOMAXPROCS(0)), err
}

// tables is one object, many times, on both sides.
type tables struct {
	them       *upstream
	columns    []apiextensionsv1.CustomResourceColumnDefinition
	converter  rest.TableConvertor
	definition *engine.Definition
	documents  []engine.Document
	version    string
}

func newTables(obj *object) (*tables, error) {
	them, err := newUpstream(obj)
	if err != nil {
		return nil, err
	}
	v, err := obj.version()
	if err != nil {
		return nil, err
	}
	stored, _, err := obj.versions()
	if err != nil {
		return nil, err
	}
	var u unstructured.Unstructured
	if err := u.UnmarshalJSON(stored); err != nil {
		return nil, err
	}
	u.SetCreationTimestamp(metav1.NewTime(time.Now().Add(-30*24*time.Hour - time.Hour))) // the age stays the same for hours
	if stored, err = u.MarshalJSON(); err != nil {
		return nil, err
	}
	manifest, err := obj.manifest()
	if err != nil {
		return nil, err
	}
	t := &tables{them: them, columns: v.AdditionalPrinterColumns, version: v.Name}
	if len(t.columns) == 0 { // apiserver.serveDefaultColumnsIfEmpty
		t.columns = []apiextensionsv1.CustomResourceColumnDefinition{
			{Name: "Age", Type: "date", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"], JSONPath: ".metadata.creationTimestamp"},
		}
	}
	if t.converter, err = tableconvertor.New(t.columns); err != nil {
		return nil, err
	}
	var report *engine.Report
	if t.definition, report, err = engine.Compile(context.Background(), engine.JSON(manifest), engine.Options{}); err != nil || t.definition == nil {
		return nil, fmt.Errorf("bench: %+v %w", report, err)
	}
	rows := tableRows
	if len(stored) > largeObject {
		rows /= 10
	}
	for range rows {
		t.documents = append(t.documents, engine.JSON(stored))
	}
	return t, nil
}

func (t *tables) ours() ([]byte, error) {
	made, err := publish.TableOf(context.Background(), t.definition, t.version, t.documents, publish.TableOptions{})
	if err != nil {
		return nil, err
	}
	return made.JSON(), nil
}

// read reads a stored object as crdConversionRESTOptionsGetter does: decode, coerce, default.
func (t *tables) read(text []byte) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	objectMeta, found, err := schemaobjectmeta.GetObjectMeta(u.Object, true)
	if err != nil {
		return nil, err
	}
	structuralpruning.Prune(u.Object, t.them.schema, true)
	structuraldefaulting.PruneNonNullableNullsWithoutDefaults(u.Object, t.them.schema)
	if err := schemaobjectmeta.Coerce(nil, u.Object, t.them.schema, false, true); err != nil {
		return nil, err
	}
	if found {
		if err := schemaobjectmeta.SetObjectMeta(u.Object, objectMeta); err != nil {
			return nil, err
		}
	}
	structuraldefaulting.Default(u.Object, t.them.schema)
	return u, nil
}

// upstream reads, converts, extracts each object's metadata and prints, as handlers.transformResponseObject does.
func (t *tables) upstream() ([]byte, error) {
	list := &unstructured.UnstructuredList{Object: map[string]any{}}
	for i := range t.documents {
		u, err := t.read(t.documents[i].JSON)
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, *u)
	}
	made, err := t.converter.ConvertToTable(context.Background(), list, &metav1.TableOptions{})
	if err != nil {
		return nil, err
	}
	for i := range made.Rows {
		accessor, err := meta.Accessor(made.Rows[i].Object.Object)
		if err != nil {
			return nil, err
		}
		partial := meta.AsPartialObjectMetadata(accessor)
		partial.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))
		made.Rows[i].Object.Object = partial
	}
	made.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("Table"))
	var out bytes.Buffer
	err = json.NewEncoder(&out).Encode(made)
	return out.Bytes(), err
}

// same compares both tables.
func (t *tables) same() error {
	ours, err := t.ours()
	if err != nil {
		return fmt.Errorf("ours: %w", err)
	}
	upstream, err := t.upstream()
	if err != nil {
		return fmt.Errorf("upstream: %w", err)
	}
	var a, b any
	if err := json.Unmarshal(ours, &a); err != nil {
		return err
	}
	if err := json.Unmarshal(upstream, &b); err != nil {
		return err
	}
	if !reflect.DeepEqual(a, b) {
		return fmt.Errorf("bench: the tables differ: ours %.600s, upstream %.600s", ours, upstream)
	}
	return nil
}
