package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/yaml"

	crdeval "github.com/crdeval/crdeval/clients/go"
	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/input"
)

// objectsPrinter prints the admitted objects at the end of the run, as YAML or as tables. It prints everything else on
// stderr.
type objectsPrinter struct {
	ctx      context.Context //nolint:containedctx // of the run
	a        *admission
	w        io.Writer
	messages *textPrinter
	command  *admitCommand
	admitted []*outcome
}

func (p *objectsPrinter) crd(j *crdReport) error { return p.messages.crd(j) }

func (p *objectsPrinter) object(o *outcome) error {
	if !o.allowed() {
		return p.messages.object(o)
	}
	p.admitted = append(p.admitted, o)
	return nil
}

func (p *objectsPrinter) close(t *tally) (err error) {
	ctx, a := p.ctx, p.a
	if _, err := io.WriteString(p.messages.w, t.skippedLines(p.command.Verbose)); err != nil {
		return err
	}
	if selector := p.command.FieldSelector; selector != "" {
		if p.admitted, err = a.selected(ctx, p.admitted, selector); err != nil {
			return err
		}
	}
	if p.command.Output == "table" || p.command.Output == "wide" {
		return p.tables(ctx, a)
	}
	for i, o := range p.admitted {
		object := o.Verdict.message.GetObject()
		if p.command.Output == "stored" {
			object = cmp.Or(o.Verdict.message.GetStoredObject(), object)
		}
		text, err := yaml.JSONToYAML(object.GetJson())
		if err != nil {
			return fmt.Errorf("%s: %w", o.write.Where(), err)
		}
		if i > 0 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := p.w.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// typeMeta identifies the objects of a table.
type typeMeta struct{ apiVersion, kind string }

// tables prints a table for each kind and version, in order of their first objects.
func (p *objectsPrinter) tables(ctx context.Context, a *admission) error {
	rows, namespaces := map[typeMeta][]*outcome{}, map[string]bool{}
	var order []typeMeta
	for _, o := range p.admitted {
		of := typeMeta{o.write.apiVersion, o.Kind}
		if rows[of] == nil {
			order = append(order, of)
		}
		rows[of] = append(rows[of], o)
		stored, _ := engine.IdentityOf(engine.JSON(o.object()), engine.Limits{}) // the manifest may have no namespace
		if stored.Namespace != "" {
			namespaces[stored.Namespace] = true
		}
	}
	options := engine.TextOptions{
		Wide: p.command.Output == "wide", NoHeaders: p.command.NoHeaders, Namespaces: len(namespaces) > 1, ShowKind: len(order) > 1,
	}
	for i, of := range order {
		table, err := a.table(ctx, of, rows[of], p.command.now)
		if err != nil {
			return err
		}
		text, err := engine.TableText(ctx, table, of.kind+"."+input.GroupOf(of.apiVersion), options)
		if err != nil {
			return err
		}
		if i > 0 {
			text = append([]byte("\n"), text...)
		}
		if _, err := p.w.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// table returns the table of objects of one kind and version, from as many requests as necessary.
func (a *admission) table(ctx context.Context, of typeMeta, objects []*outcome, now time.Time) ([]byte, error) {
	var whole map[string]json.RawMessage
	rows := []json.RawMessage{}
	creation := fmt.Appendf(nil, `{"metadata":{"creationTimestamp":%q}}`, now.UTC().Format(time.RFC3339))
	limits, err := a.Limits(ctx)
	if err != nil {
		return nil, a.service.fail("", err)
	}
	for len(objects) > 0 {
		request := &crdevalv1.TableRequest{
			Catalog: a.catalog, Version: input.VersionOf(of.apiVersion), Now: timestamppb.New(now),
			RowObject: crdevalv1.RowObject_ROW_OBJECT_METADATA,
		}
		for _, crd := range a.inline {
			request.Crds = append(request.Crds, crdeval.Document(crd))
		}
		capacity := limits.GetMaxMessageBytes()/2 - int64(proto.Size(request))
		for ; len(objects) > 0 && len(request.Objects) < int(limits.GetMaxBatchItems()); objects = objects[1:] {
			text := objects[0].object()
			var stored struct {
				Metadata struct{ CreationTimestamp string }
			}
			if _ = json.Unmarshal(text, &stored); stored.Metadata.CreationTimestamp == "" { // these have an age, too
				if text, err = jsonpatch.MergePatch(text, creation); err != nil {
					return nil, fmt.Errorf("%s: %w", objects[0].write.Where(), err)
				}
			}
			// A table has cells besides the metadata of the objects.
			if capacity -= int64(2 * len(text)); capacity < 0 && len(request.Objects) > 0 {
				break
			}
			request.Objects = append(request.Objects, toDocument(engine.JSON(text)))
		}
		answer, err := a.Presentation().Table(ctx, request)
		if err != nil {
			return nil, a.service.fail("table", err)
		}
		text := answer.GetTable().GetJson()
		var some struct {
			Rows []json.RawMessage `json:"rows"`
		}
		if err := errors.Join(json.Unmarshal(text, &some), json.Unmarshal(text, &whole)); err != nil {
			return nil, fmt.Errorf("table: %w", err)
		}
		rows = append(rows, some.Rows...)
	}
	if whole["rows"], err = json.Marshal(rows); err != nil {
		return nil, err
	}
	return json.Marshal(whole)
}

// selected returns the objects that match a field selector.
func (a *admission) selected(
	ctx context.Context, objects []*outcome, selector string,
) (selected []*outcome, err error) {
	client := a.With(a.inline...)
	for len(objects) > 0 {
		first := objects[0].write
		var texts [][]byte // of objects of one kind and version
		for _, o := range objects {
			if o.write.kind != first.kind || o.write.apiVersion != first.apiVersion {
				break
			}
			texts = append(texts, o.object())
		}
		subject := crdeval.Subject{Version: input.VersionOf(first.apiVersion)}
		results, err := client.SelectFields(ctx, subject, selector, texts...)
		var rejected *crdeval.Rejected
		switch {
		case errors.As(err, &rejected):
			return nil, fmt.Errorf("%s: --field-selector: %w", first.Where(), err)
		case err != nil:
			return nil, a.service.fail("field selector", err)
		}
		for i, r := range results {
			if r.Err != nil {
				return nil, fmt.Errorf("%s: %w", objects[i].write.Where(), callError("", "", r.Err))
			}
			if r.Matches {
				selected = append(selected, objects[i])
			}
		}
		objects = objects[len(texts):]
	}
	return selected, nil
}
