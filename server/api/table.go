package api

import (
	"context"
	"strings"

	"github.com/crdeval/crdeval/engine/publish"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/conversion"
)

// maxLabelColumns bounds the labels that have columns of their own in a text.
const maxLabelColumns = 64

// Table returns objects as a table.
func (s *presentationService) Table(ctx context.Context, r *crdevalv1.TableRequest) (*crdevalv1.TableResponse, error) {
	options, err := s.tableOptions(r)
	if err != nil {
		return nil, err
	}
	on, err := s.subject(ctx, r, r.GetObjects())
	if err != nil {
		return nil, err
	}
	if err := s.checkKinds(on.objects, on.definition); err != nil {
		return nil, err
	}
	m := &crdevalv1.TableResponse{Revision: on.definition.Revision()}
	reserved, release := conversion.Reserve(ctx)
	defer release()
	var table *publish.Table
	err = s.scheduler.Run(reserved, func(ctx context.Context) error {
		return on.within(ctx, func(ctx context.Context) (err error) {
			if r.GetSubresource() == "scale" {
				table, err = publish.ScaleTable(ctx, on.definition, on.version, on.objects[0], options)
			} else {
				table, err = publish.TableOf(ctx, on.definition, on.version, on.objects, options)
			}
			return err
		})
	})
	if m.Rejection = rejectionIn(err); m.Rejection != nil {
		return m, nil
	}
	if err != nil {
		return nil, on.addVersion(err)
	}
	if r.GetText() == nil {
		m.Table = JSON(table.JSON())
		return m, s.limits.checkResponse("the table", len(m.Table.GetJson()))
	}
	var text []byte
	err = s.scheduler.Run(ctx, func(ctx context.Context) (err error) {
		text, err = table.Text(ctx, textOptions(r.GetText()))
		return err
	})
	m.Text = valid(string(text))
	if err == nil {
		err = s.limits.checkResponse("the table", len(m.Text))
	}
	return m, err
}

// checkKinds returns the error of an object of another kind or group. Table reports objects that cannot be read.
func (s *presentationService) checkKinds(objects []engine.Document, d *engine.Definition) error {
	for i := range objects {
		apiVersion, kind, err := objects[i].TypeMeta(s.limits.Documents)
		if err != nil {
			continue
		}
		if kind != d.Kind() {
			return invalid("objects", "objects[%d]: its kind is %s, but the kind of %s is %s", i, quoted(kind), d.Name(), d.Kind())
		}
		if group, _, _ := strings.Cut(apiVersion, "/"); group != d.Group() {
			return invalid("objects", "objects[%d]: its apiVersion %s is not a version of %s", i, quoted(apiVersion), d.Name())
		}
	}
	return nil
}

func (s *presentationService) tableOptions(r *crdevalv1.TableRequest) (o publish.TableOptions, err error) {
	if o.Now, err = ageReference("now", r.GetNow()); err != nil {
		return o, err
	}
	if o.Object, err = enumValue("row_object", r.GetRowObject(), rowObjects); err != nil {
		return o, err
	}
	if r.GetText() != nil {
		o.Object = publish.RowMetadata // texts show labels and namespaces
	}
	switch r.GetSubresource() {
	case "":
	case "scale":
		if n := len(r.GetObjects()); n != 1 {
			return o, invalid("objects", "there are %d objects: a table of the scale needs exactly one", n)
		}
	default:
		return o, invalid("subresource", "subresource %s has no table: use scale, or leave it empty", quoted(r.GetSubresource()))
	}
	switch n := r.GetRemainingItemCount(); {
	case n < 0:
		return o, invalid("remaining_item_count", "remaining_item_count is %d: it must be 0 or more", n)
	case n > 0:
		o.RemainingItemCount = &n
	}
	if strings.Count(r.GetText().GetLabelColumns(), ",") >= maxLabelColumns {
		return o, invalid("text.label_columns", "text.label_columns has more than %d labels", maxLabelColumns)
	}
	o.NoHeaders, o.Decoded, o.MaxBytes = r.GetWithoutColumns(), r.GetDecoded(), s.limits.MaxMessageBytes
	o.ResourceVersion, o.Continue = r.GetResourceVersion(), r.GetContinueToken()
	return o, nil
}

func textOptions(t *crdevalv1.TableText) publish.TextOptions {
	o := publish.TextOptions{
		Wide: t.GetWide(), NoHeaders: t.GetNoHeaders(), Namespaces: t.GetNamespaces(), Labels: t.GetLabels(), ShowKind: t.GetShowKind(),
	}
	if t.GetLabelColumns() != "" {
		o.LabelColumns = strings.Split(t.GetLabelColumns(), ",")
	}
	return o
}
