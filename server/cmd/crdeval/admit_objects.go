package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/crdeval/crdeval/engine/publish"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/output"
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

// object prints the warnings of an admitted object, and everything about another one.
func (p *objectsPrinter) object(o *outcome) error {
	if o.allowed() {
		p.admitted = append(p.admitted, o)
	}
	return p.messages.object(o)
}

func (p *objectsPrinter) close(t *tally) (err error) {
	if _, err := io.WriteString(p.messages.w, t.skippedLines(p.command.Verbose)); err != nil {
		return err
	}
	if p.command.FieldSelector != "" {
		if err := p.selectObjects(); err != nil {
			return err
		}
	}
	if p.command.Output == "table" || p.command.Output == "wide" {
		return p.tables()
	}
	for i, o := range p.admitted {
		object := o.object()
		if stored := o.verdict().StoredObject; p.command.Output == "stored" && stored != nil {
			object = stored
		}
		text, err := output.YAML(object)
		if err != nil {
			return fmt.Errorf("%s: %w", where(o.write.Manifest), err)
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
func (p *objectsPrinter) tables() error {
	rows, namespaces := map[typeMeta][]*outcome{}, map[string]bool{}
	var order []typeMeta
	for _, o := range p.admitted {
		of := typeMeta{o.write.apiVersion, o.Kind}
		if rows[of] == nil {
			order = append(order, of)
		}
		rows[of] = append(rows[of], o)
		stored := workspace.New(engine.JSON(o.object())) // the manifest may have no namespace
		if stored.Namespace != "" {
			namespaces[stored.Namespace] = true
		}
	}
	options := publish.TextOptions{
		Wide: p.command.Output == "wide", NoHeaders: p.command.NoHeaders, Namespaces: len(namespaces) > 1, ShowKind: len(order) > 1,
	}
	for i, of := range order {
		text, err := p.table(of, rows[of], options)
		if err != nil {
			return err
		}
		if i > 0 {
			text = append([]byte("\n"), text...)
		}
		if _, err := p.w.Write(printable(text)); err != nil {
			return err
		}
	}
	return nil
}

// table returns the table of objects of one kind and version.
func (p *objectsPrinter) table(of typeMeta, list []*outcome, options publish.TextOptions) ([]byte, error) {
	creation := fmt.Appendf(nil, `{"metadata":{"creationTimestamp":%q}}`, p.command.now.UTC().Format("2006-01-02T15:04:05Z"))
	objects := make([][]byte, len(list))
	for i, o := range list {
		objects[i] = o.object()
		var stored struct {
			Metadata struct{ CreationTimestamp string }
		}
		if _ = json.Unmarshal(objects[i], &stored); stored.Metadata.CreationTimestamp != "" {
			continue
		}
		var err error
		if objects[i], err = jsonpatch.MergePatch(objects[i], creation); err != nil { // these have an age, too
			return nil, fmt.Errorf("%s: %w", where(o.write.Manifest), err)
		}
	}
	table, err := p.a.table(p.ctx, list[0].crd(), workspace.VersionOf(of.apiVersion), objects, p.command.now)
	if err != nil {
		return nil, err
	}
	return publish.TableText(p.ctx, table, of.kind+"."+workspace.GroupOf(of.apiVersion), options)
}

// selectObjects removes the admitted objects that do not match the field selector.
func (p *objectsPrinter) selectObjects() error {
	var selected []*outcome
	for rest := p.admitted; len(rest) > 0; {
		first, n := rest[0], 0
		var objects [][]byte // of one CRD and version
		for ; n < len(rest) && rest[n].crd() == first.crd() && rest[n].write.apiVersion == first.write.apiVersion &&
			rest[n].write.kind == first.write.kind; n++ {
			objects = append(objects, rest[n].object())
		}
		matches, err := p.a.matching(p.ctx, first.crd(), workspace.VersionOf(first.write.apiVersion), p.command.FieldSelector, objects)
		if err != nil {
			return fmt.Errorf("%s: %w", where(first.write.Manifest), err)
		}
		for i, match := range matches {
			if match {
				selected = append(selected, rest[i])
			}
		}
		rest = rest[n:]
	}
	p.admitted = selected
	return nil
}
