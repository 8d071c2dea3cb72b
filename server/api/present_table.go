package api

import (
	"context"
	"strings"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Table answers objects as a table.
func (s *presentationService) Table(ctx context.Context, r *crdevalv1.TableRequest) (*crdevalv1.TableResponse, error) {
	answer, err := s.table(ctx, r)
	return answer, s.faults.call(ctx, err)
}

func (s *presentationService) table(ctx context.Context, r *crdevalv1.TableRequest) (*crdevalv1.TableResponse, error) {
	options, err := s.tableOptions(r)
	if err != nil {
		return nil, err
	}
	objects, err := s.documents(r.GetObjects())
	if err != nil {
		return nil, err
	}
	on, err := s.subjectOf(ctx, r, objects)
	if err != nil {
		return nil, err
	}
	if err := s.all(objects, on.definition); err != nil {
		return nil, err
	}
	answer := &crdevalv1.TableResponse{Revision: on.definition.Revision()}
	table, err := on.definition.Table(ctx, on.version, objects, options)
	if err != nil {
		if answer.Rejection = refusedBy(err); answer.Rejection != nil {
			return answer, nil
		}
		return nil, on.aboutVersion(r.GetCatalog(), err)
	}
	if r.GetText() == nil {
		answer.Table = json(table.JSON())
		return answer, s.fits("the table", len(answer.Table.GetJson()))
	}
	text, err := table.Text(ctx, textOptions(r.GetText()))
	if err != nil {
		return nil, err
	}
	answer.Text = valid(string(text))
	return answer, s.fits("the table", len(answer.Text))
}

// all refuses objects of another kind: what an API server lists is of one. Those that cannot be read are left to the table.
func (s *presentationService) all(objects []engine.Document, d *engine.Definition) error {
	for i := range objects {
		apiVersion, kind, err := engine.TypeMetaOf(objects[i], s.limits.Documents)
		if err != nil {
			continue
		}
		if kind != d.Kind() {
			return invalid("objects", "objects[%d]: it is of kind %q, and those of %s are of kind %s", i, bounded(kind, 256), d.Name(), d.Kind())
		}
		if group, _, _ := strings.Cut(apiVersion, "/"); group != d.Group() {
			return invalid("objects", "objects[%d]: its apiVersion %q is of no version of %s", i, bounded(apiVersion, 256), d.Name())
		}
	}
	return nil
}

// maxLabelColumns is how many labels get columns of their own in a text.
const maxLabelColumns = 64

// tableOptions are those of the engine.
func (s *presentationService) tableOptions(r *crdevalv1.TableRequest) (o engine.TableOptions, err error) {
	if o.Now, err = now("now", r.GetNow()); err != nil {
		return o, err
	}
	switch v := r.GetRowObject(); v {
	case crdevalv1.RowObject_ROW_OBJECT_UNSPECIFIED, crdevalv1.RowObject_ROW_OBJECT_METADATA:
		o.Object = engine.RowMetadata
	case crdevalv1.RowObject_ROW_OBJECT_NONE:
		o.Object = engine.RowNone
	case crdevalv1.RowObject_ROW_OBJECT_OBJECT:
		o.Object = engine.RowWhole
	default:
		return o, invalid("row_object", "row_object is %d, which is no RowObject", v)
	}
	switch n := r.GetRemainingItemCount(); {
	case n < 0:
		return o, invalid("remaining_item_count", "remaining_item_count is %d: it is 0 or more", n)
	case n > 0:
		o.RemainingItemCount = &n
	}
	if strings.Count(r.GetText().GetLabelColumns(), ",") >= maxLabelColumns {
		return o, invalid("text.label_columns", "text.label_columns has more than %d labels: that many get columns of their own", maxLabelColumns)
	}
	if r.GetText() != nil {
		o.Object = engine.RowMetadata // texts have labels and namespaces from there
	}
	o.NoHeaders, o.ResourceVersion, o.Continue, o.MaxBytes = r.GetWithoutColumns(), r.GetResourceVersion(), r.GetContinueToken(), s.limits.MaxMessageBytes
	return o, nil
}

func textOptions(t *crdevalv1.TableText) engine.TextOptions {
	o := engine.TextOptions{Wide: t.GetWide(), NoHeaders: t.GetNoHeaders(), Namespaces: t.GetNamespaces(), Labels: t.GetLabels(), ShowKind: t.GetShowKind()}
	if t.GetLabelColumns() != "" {
		o.LabelColumns = strings.Split(t.GetLabelColumns(), ",")
	}
	return o
}
