package publish

import (
	"context"
	"encoding/json"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/table"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// scaleColumns are the columns of a Scale. The scale subresource requires both paths of replicas, so they never differ.
//
// Upstream: apiextensions-apiserver pkg/apiserver/helpers.go getScaleColumnsForVersion.
var scaleColumns = table.CompileColumns([]apiextensionsv1.CustomResourceColumnDefinition{
	{Name: "Desired", Type: "integer", Description: "Number of desired replicas", JSONPath: ".spec.replicas"},
	{Name: "Available", Type: "integer", Description: "Number of actual replicas", JSONPath: ".status.replicas"},
	table.AgeColumn,
})

// ScaleTable returns the Scale of a stored object as a table with one row, as an API server returns it for `kubectl get
// --subresource=scale`. The object is read as engine.Definition.Read does, and its Scale is that of GetScale. RowWhole is the Scale. The
// default of ResourceVersion is that of the object. Errors are those of TableOf and GetScale.
func ScaleTable(ctx context.Context, d *engine.Definition, version string, object engine.Document, o TableOptions) (
	_ *Table, err error) {
	defer host.Recover(&err)
	c := compiled.Of(d)
	v, err := c.Served(version)
	switch {
	case err != nil:
		return nil, compiled.Error(err)
	case v.Scale == nil:
		return nil, noScale(d.Name(), v)
	case o.Object > RowWhole:
		return nil, invalid("unknown object of a row: it is Metadata, None or Whole")
	case o.Now.IsZero():
		o.Now = time.Now()
	}
	text, err := readScale(ctx, c, v, object)
	if err != nil {
		return nil, err
	}
	var scale autoscalingv1.Scale
	if err := json.Unmarshal(text, &scale); err != nil {
		return nil, err
	}
	if o.ResourceVersion == "" {
		o.ResourceVersion = scale.ResourceVersion
	}
	t := &Table{columns: scaleColumns.Headers(), scope: c.Scope, kind: "Scale." + autoscalingv1.GroupName}
	if err := t.begin(&o); err != nil {
		return nil, err
	}
	doc := tree.Acquire()
	root, err := doc.ParseJSON(text, c.Limits)
	if err != nil {
		return nil, err
	}
	rows := scaleColumns.NewRows(table.Target{}, o.Now)
	if t.json, t.ends, err = rows.AppendRows(t.json, t.ends, doc, root, o.Object, nil); err != nil {
		return nil, compiled.Error(compiled.TableFault(err))
	}
	rows.Release()
	doc.Release()
	t.json = append(t.json, "]}"...)
	return t, nil
}

// readScale reads a stored object and returns its Scale as JSON.
func readScale(
	ctx context.Context, c *compiled.Definition, v *admission.Version, object engine.Document,
) (text []byte, err error) {
	r := admission.Request{Limits: c.Limits, Target: v.Name, Handler: true}
	if r.Body, r.YAML, err = compiled.Document(object).Text("object"); err != nil {
		return nil, compiled.Error(err)
	}
	var failed error
	r.Show = func(_ *admission.Version, tree admission.Tree) { text, failed = v.Scale.Get(tree.Doc, tree.Root) }
	if _, err := c.Inner.Read(ctx, &r); err != nil {
		return nil, compiled.Error(compiled.TableFault(err))
	}
	return text, scaleError(failed)
}
