package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/internal/value"
)

// embedded judges in this process.
type embedded struct {
	command     *admitCommand
	catalog     *catalog
	definitions map[groupKind]*engine.Definition
	refused     map[groupKind]string // CRDs that were refused, by where they stand
}

type groupKind struct{ group, kind string }

func newEmbedded(c *admitCommand) *embedded {
	return &embedded{
		command: c, catalog: newCatalog(engine.Options{KubernetesMinor: c.KubernetesMinor}),
		definitions: map[groupKind]*engine.Definition{}, refused: map[groupKind]string{},
	}
}

// register takes a CRD that is established as it stands, and judges any other.
func (e *embedded) register(ctx context.Context, crd *source) (judgement, error) {
	j := judgement{File: crd.file, Document: crd.document, Item: crd.item, Violations: []violation{}, Warnings: []string{}, where: crd.where()}
	if established(crd) {
		return e.take(ctx, crd, j), nil
	}
	options := e.catalog.options()
	if known := e.catalog.existing[crd.identity().Metadata.Name]; known != nil {
		options.Terminating = known.Terminating // an update does not bring it back
	}
	d, report, err := engine.Compile(ctx, crd.Document, options)
	if err != nil {
		j.Error, j.Line, _ = crd.InFile(err)
		return j, nil
	}
	j.report(crd, report)
	if !report.Accepted {
		id := crd.identity()
		e.refused[groupKind{id.Spec.Group, id.Spec.Names.Kind}] = crd.where()
		return j, nil
	}
	j.Names = e.catalog.accepted(d, report)
	e.serve(d)
	return j, nil
}

// take takes a CRD as it stands.
func (e *embedded) take(ctx context.Context, crd *source, j judgement) judgement {
	name, existing, err := engine.ExistingFrom(crd.Document, engine.Limits{})
	var d *engine.Definition
	if err == nil {
		d, err = engine.CompileStored(ctx, existing.Manifest, engine.Options{Terminating: existing.Terminating})
	}
	if err != nil {
		j.Error, j.Line, _ = crd.InFile(err)
		return j
	}
	e.catalog.existing[name] = existing
	e.catalog.claim(d, existing)
	j.Name, j.Accepted = name, true
	e.serve(d)
	return j
}

// established says whether a CRD has a status in which it is established, as one from a cluster has.
func established(crd *source) bool {
	var m struct {
		Status engine.Status `json:"status"`
	}
	text := crd.Document.JSON
	if crd.Document.YAML != nil {
		var err error
		if text, _, err = value.YAMLToJSON(crd.Document.YAML, engine.Limits{}); err != nil {
			return false
		}
	}
	return json.Unmarshal(text, &m) == nil && slices.ContainsFunc(m.Status.Conditions, func(c engine.Condition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}

// serve has the definition judge the objects of its kind, unless another one has the name.
func (e *embedded) serve(d *engine.Definition) {
	at := groupKind{d.Group(), d.Kind()}
	if other := e.definitions[at]; other == nil || other.Name() == d.Name() {
		e.definitions[at] = d
	}
}

// judged is what became of a write, before it is told. Telling looks up places in files, which is not for several at a time.
type judged struct {
	crd     string
	verdict *engine.Verdict
	err     error
}

// admit judges with as many goroutines as there are processors, and tells in order. What is ready waits for what is before it, up to a bound.
func (e *embedded) admit(ctx context.Context, writes []write, tell func(*outcome) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer cancel()
	workers := runtime.GOMAXPROCS(0)
	type job struct {
		write *write
		done  chan judged
	}
	jobs, ordered := make(chan job), make(chan job, 64*workers)
	for range workers {
		wait.Go(func() {
			for j := range jobs {
				j.done <- e.one(ctx, j.write)
			}
		})
	}
	wait.Go(func() {
		defer close(jobs)
		defer close(ordered)
		for i := range writes {
			j := job{&writes[i], make(chan judged, 1)}
			select {
			case ordered <- j:
			case <-ctx.Done():
				return
			}
			jobs <- j
		}
	})
	for j := range ordered {
		o, result := newOutcome(j.write), <-j.done
		if o.crd = result.crd; result.err != nil {
			o.fail(result.err)
		} else {
			o.take(result.verdict)
		}
		if err := tell(o); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return nil
}

// one judges one object.
func (e *embedded) one(ctx context.Context, w *write) (j judged) {
	d, err := e.definition(w)
	if err != nil {
		return judged{err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, e.command.ItemTimeout)
	defer cancel()
	item := engine.Item{Object: w.Document, Subresource: e.command.Subresource, Patch: w.patch, Namespace: e.command.key(&w.id).namespace}
	if w.old != nil {
		item.OldObject = w.old.Document
	}
	if w.patch != nil {
		item.Object = engine.Document{}
	}
	options := engine.EvaluationOptions{FieldValidation: fieldValidations[e.command.FieldValidation], CompleteMetadata: true}
	if e.command.Explain {
		options.Trace = engine.TraceFailed
	}
	j.crd = d.Name()
	j.verdict, j.err = d.Admit(ctx, item, options)
	return j
}

// definition finds the CRD of an object.
func (e *embedded) definition(w *write) (*engine.Definition, error) {
	if e.command.Subresource != "" && w.old == nil {
		return nil, fmt.Errorf("no object of its kind, namespace and name is among those of --old, so there is no %s to write to", e.command.Subresource)
	}
	if err := w.untyped(); err != nil {
		return nil, err
	}
	group, _, _ := cutAPIVersion(w.id.APIVersion)
	at := groupKind{group, w.id.Kind}
	if d := e.definitions[at]; d != nil {
		return d, nil
	}
	if where := e.refused[at]; where != "" {
		return nil, fmt.Errorf("its CRD in %s was refused", where)
	}
	return nil, otherKindError(fmt.Sprintf("there is no CRD for %s of %s: give it with --crds, or among the files", w.id.Kind, w.id.APIVersion))
}

func (e *embedded) selects(ctx context.Context, objects []*outcome, selector string) (selected []*outcome, err error) {
	for _, o := range objects {
		d, version := e.of(o.apiVersion, o.Kind)
		is, err := d.MatchFields(ctx, version, selector, engine.JSON(o.Object))
		if err != nil {
			return nil, fmt.Errorf("%s: --field-selector: %w", o.source.where(), err)
		}
		if is {
			selected = append(selected, o)
		}
	}
	return selected, nil
}

// of is the definition of a kind, and the version that an apiVersion names.
func (e *embedded) of(apiVersion, kind string) (*engine.Definition, string) {
	group, version, _ := cutAPIVersion(apiVersion)
	return e.definitions[groupKind{group, kind}], version
}

// registered registers the CRDs of files. Those that are refused are told on stderr.
func registered(ctx context.Context, env environment, files []string, minor int) (e *embedded, refused bool, err error) {
	e = newEmbedded(&admitCommand{KubernetesMinor: minor})
	for _, name := range files {
		list, err := crds(name, env)
		if err != nil {
			return nil, false, err
		}
		for i := range list {
			j, err := e.register(ctx, &list[i].source)
			if err != nil {
				return nil, false, err
			}
			if j.Accepted {
				continue
			}
			if refused = true; j.Error != "" {
				return nil, true, fmt.Errorf("%s: %s", j.where, j.Error)
			}
			if err := printJudgement(env.stderr, &j); err != nil {
				return nil, true, err
			}
		}
	}
	return e, refused, nil
}

// inOrder are the definitions by their names.
func (e *embedded) inOrder() []*engine.Definition {
	return slices.SortedFunc(maps.Values(e.definitions), func(a, b *engine.Definition) int { return strings.Compare(a.Name(), b.Name()) })
}

func (e *embedded) table(ctx context.Context, of tableKey, objects []*outcome, o tableOptions) (string, error) {
	d, version := e.of(of.apiVersion, of.kind)
	documents := make([]engine.Document, len(objects))
	for i, object := range objects {
		documents[i] = engine.JSON(created(object.Object, o.now))
	}
	table, err := d.Table(ctx, version, documents, engine.TableOptions{Now: o.now})
	if err != nil {
		return "", err
	}
	text, err := table.Text(ctx, engine.TextOptions{Wide: o.wide, NoHeaders: o.noHeaders, Namespaces: o.namespaces, ShowKind: o.kinds})
	return string(text), err
}
