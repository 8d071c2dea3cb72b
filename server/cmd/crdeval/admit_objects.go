package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/yaml"
)

// objectsPrinter prints the objects that were admitted, when all are judged: as YAML, or as tables. What stands against the others is told on stderr.
type objectsPrinter struct {
	w        io.Writer
	others   *textPrinter
	command  *admitCommand
	admitted []*outcome
}

// tableKey is what the objects of one table have in common: the CRD, by its name as far as it is known, the version they were written at, and
// their kind.
type tableKey struct{ crd, apiVersion, kind string }

// tableOptions say how a table is printed.
type tableOptions struct {
	wide, noHeaders bool
	kinds           bool // names say what they are of, since there are tables of several kinds
	namespaces      bool // there is a column with the namespace
	now             time.Time
}

func (p *objectsPrinter) crd(j *judgement) error { return p.others.crd(j) }

func (p *objectsPrinter) object(o *outcome) error {
	if o.Error != "" || !o.Allowed {
		return p.others.object(o)
	}
	p.admitted = append(p.admitted, o)
	return nil
}

func (p *objectsPrinter) close(ctx context.Context, by admitter, _ *tally) error {
	if selector := p.command.FieldSelector; selector != "" {
		selected, err := by.selects(ctx, p.admitted, selector)
		if err != nil {
			return err
		}
		p.admitted = selected
	}
	if p.command.Output == "table" || p.command.Output == "wide" {
		return p.tables(ctx, by)
	}
	for i, o := range p.admitted {
		object := o.Object
		if p.command.Output == "stored" {
			object = o.Stored
		}
		text, err := yaml.JSONToYAML(object)
		if err != nil {
			return fmt.Errorf("%s: %w", o.source.where(), err)
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

// tables prints a table for each CRD and version, in the order in which they came.
func (p *objectsPrinter) tables(ctx context.Context, by admitter) error {
	rows, namespaces := map[tableKey][]*outcome{}, map[string]bool{}
	var order []tableKey
	for _, o := range p.admitted {
		at := tableKey{o.crd, o.apiVersion, o.Kind}
		if rows[at] == nil {
			order = append(order, at)
		}
		rows[at] = append(rows[at], o)
		if o.Namespace != "" {
			namespaces[o.Namespace] = true
		}
	}
	options := tableOptions{
		wide: p.command.Output == "wide", noHeaders: p.command.NoHeaders, kinds: len(order) > 1, namespaces: len(namespaces) > 1, now: p.command.now,
	}
	for i, at := range order {
		text, err := by.table(ctx, at, rows[at], options)
		if err != nil {
			return err
		}
		if i > 0 {
			text = "\n" + text
		}
		if _, err := io.WriteString(p.w, text); err != nil {
			return err
		}
	}
	return nil
}

// created is an object as it is a moment after its creation: with a creationTimestamp, if it has none yet, so that it has an age.
func created(object []byte, now time.Time) []byte {
	var head struct {
		Metadata struct {
			CreationTimestamp string `json:"creationTimestamp"`
		} `json:"metadata"`
	}
	if json.Unmarshal(object, &head) != nil || head.Metadata.CreationTimestamp != "" {
		return object
	}
	stamp := fmt.Sprintf(`{"metadata":{"creationTimestamp":%q}}`, now.UTC().Format(time.RFC3339))
	stamped, err := jsonpatch.MergePatch(object, []byte(stamp))
	if err != nil {
		return object
	}
	return stamped
}
