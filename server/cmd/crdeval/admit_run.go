package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/rules"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/baseline"
	"github.com/crdeval/crdeval/server/cmd/crdeval/download"
	"github.com/crdeval/crdeval/server/cmd/crdeval/input"
	"github.com/crdeval/crdeval/server/cmd/crdeval/terminal"
)

// admission is one run of crdeval admit.
type admission struct {
	evaluator
	command   *admitCommand
	workspace *workspace.Workspace
	options   engine.AdmitOptions
	given     map[string]bool       // the paths of the files of --crds
	crds      []*workspace.CRD      // in the order of the files
	rules     []*workspace.Manifest // conversion rules of CRDs
	writes    []*write
	base      *baseline.Changes // nil without --base
	total     *tally
}

// admit checks every object of every file once.
func (c *admitCommand) admit(ctx context.Context, env environment) error {
	a := &admission{command: c, workspace: &workspace.Workspace{}, given: map[string]bool{}, total: newTally(c)}
	a.workspace.Options.Kubernetes = string(c.Kubernetes)
	var err error
	if a.evaluator, err = c.evaluator(a.workspace); err != nil {
		return err
	}
	defer a.close()
	a.options = engine.AdmitOptions{FieldValidation: fieldValidations[c.FieldValidation], CompleteMetadata: true}
	if c.Explain {
		a.options.Trace = rules.TraceFailed
	}
	files, err := c.reader(env)
	if err != nil {
		return err
	}
	if c.Base != "" {
		if a.base, err = baseline.Read(ctx, c.Base, c.Namespace, configName); err != nil {
			return err
		}
		if err := a.base.CheckFiles(c.Files); err != nil {
			return err
		}
		a.workspace.Compiler = func(ctx context.Context, crd *workspace.CRD) *workspace.Compiled {
			return crd.Compile(ctx, a.base.CompileOptions(crd, a.workspace.Options))
		}
		a.total.allowEmpty = true // the changes may have no object
	}
	w, err := newWriter(ctx, c, files)
	if err != nil {
		return err
	}
	w.base = a.base
	if err := a.read(ctx, files, w); err != nil {
		return err
	}
	nothing := len(a.writes)+len(a.crds)+len(a.rules)+len(a.total.unreadable) == 0
	if a.base != nil && nothing && (c.Output == "text" || c.Output == "github") {
		_, err := fmt.Fprintf(env.stdout, "no manifest changed since %s\n", a.base.Commit)
		return err
	}
	w.warn(env.stderr)
	meter := terminal.NewMeter(c.Progress, terminal.Unescaped(env.stderr), len(a.writes))
	env.stdout = meter.Above(env.stdout)
	out := c.printer(ctx, env, a)
	for f := range slices.Values(a.total.unreadable) {
		if err := out.object(unreadableFile(f)); err != nil {
			return err
		}
	}
	if err := a.reportDeleted(env); err != nil {
		return err
	}
	for j := range a.reports(ctx) {
		if err := out.crd(j); err != nil {
			return err
		}
	}
	err = a.run(ctx, func(o *outcome) error {
		a.total.object(o)
		meter.Step(a.total.objects.rejected, a.total.objects.errors)
		return out.object(o)
	})
	meter.End()
	if err == nil {
		err = out.close(a.total)
	}
	if err != nil {
		return err
	}
	return a.total.result()
}

// read reads the CRDs of --crds, and then the files. An unreadable file does not end the run, unless --crds names it.
func (a *admission) read(ctx context.Context, files input.Reader, w *writer) error {
	for _, name := range slices.Concat(a.command.CRDs, a.command.sources) {
		if err := a.readGiven(ctx, files, name, w); err != nil {
			return err
		}
	}
	var read, failed []*workspace.File
	for f := range files.Files(ctx, a.command.Files...) {
		switch {
		case ctx.Err() != nil:
			return input.ErrInterrupted
		case f.Err != nil && a.given[f.Path], a.command.AllowEmpty && errors.Is(f.Err, input.ErrNoFile):
		case f.Err != nil:
			failed = append(failed, f)
		default:
			if a.base != nil {
				a.base.Note(f)
				a.base.AddChanged(f)
			}
			if a.given[f.Path] { // its CRDs and errors are known
				f.Manifests = slices.DeleteFunc(f.Manifests,
					func(m *workspace.Manifest) bool { return m.AsCRD() != nil || m.Conversion || m.Err != nil })
			} else {
				a.workspace.Set(f)
			}
			read = append(read, f)
		}
	}
	if err := a.readRepository(ctx, files, read); err != nil {
		return err
	}
	for _, f := range failed {
		if a.base.Evaluates(f) {
			a.total.unreadable = append(a.total.unreadable, f)
		}
	}
	for _, f := range read {
		if !a.base.Evaluates(f) {
			continue
		}
		a.total.skip(f)
		for _, m := range f.Manifests {
			if !a.addCRD(m) {
				a.writes = append(a.writes, w.write(m))
			}
		}
	}
	return nil
}

// readGiven reads the CRDs and conversion rules of a name of --crds.
func (a *admission) readGiven(ctx context.Context, files input.Reader, name string, w *writer) error {
	found := false
	for f := range files.Given(ctx, name) {
		a.given[f.Path] = f.Path != ""
		switch {
		case ctx.Err() != nil:
			return input.ErrInterrupted
		case f.Err != nil && f.Name == name:
			return fmt.Errorf("%s: %w", f.Name, f.Err)
		case f.Err != nil:
			a.total.unreadable = append(a.total.unreadable, f)
			continue
		}
		found = found || f.Skip.Kind != "" || len(f.CRDs) > 0
		if f.Skip.Kind == workspace.SkipHelmTemplate || f.Skip.Kind == workspace.SkipTemplate {
			a.total.skip(f) // its CRDs may be missing
		}
		a.workspace.Set(f)
		for _, m := range f.Manifests {
			if m.Err != nil {
				a.writes = append(a.writes, w.write(m)) // which fails
			}
			found = found || m.Conversion || m.Err != nil
			a.addCRD(m)
		}
	}
	a.compileAhead(ctx)
	if !found {
		return fmt.Errorf("%s has no CustomResourceDefinition", terminal.OneLine(download.WithoutSecrets(name)))
	}
	return nil
}

// compileAhead compiles the CRDs that were read so far while other files are read. With --base, the changes must be known
// first, and a service compiles what it gets.
func (a *admission) compileAhead(ctx context.Context) {
	if _, local := a.evaluator.(*localEvaluator); !local || a.base != nil {
		return
	}
	go func(crds []*workspace.CRD) {
		for _, c := range crds {
			a.workspace.Compile(ctx, c)
		}
	}(slices.Clone(a.crds))
}

// addCRD adds a CRD or conversion rules to the run. It returns false for other manifests.
func (a *admission) addCRD(m *workspace.Manifest) bool {
	switch c := m.AsCRD(); {
	case m.Conversion:
		a.rules = append(a.rules, m)
	case c == nil || c.IsFragment() || m.IsTemplate || a.command.skipReason(m) != "":
		return false
	default:
		a.crds = append(a.crds, c)
	}
	return true
}

// reports compiles the CRDs and the conversion rules, and yields the reports that are printed.
func (a *admission) reports(ctx context.Context) func(yield func(*crdReport) bool) {
	return func(yield func(*crdReport) bool) {
		for j := range input.InOrder(a.crds, func(c *workspace.CRD) *crdReport { return a.report(ctx, c) }) {
			a.count(j)
			if (j.Error != "" || !j.Accepted || len(j.Report.message.GetWarnings()) > 0) && !yield(j) {
				return
			}
		}
		for j := range a.ruleReports(ctx) {
			a.count(j)
			if (j.Error != "" || !j.Accepted) && !yield(j) {
				return
			}
		}
	}
}

// count counts the report of a CRD or of conversion rules. Those of --crds alone are nothing to evaluate.
func (a *admission) count(j *crdReport) {
	a.total.crd(j)
	if j.source.In == nil || !j.source.In.Given {
		a.total.own++
	}
}

// ruleReports sets the conversion rules, and yields their reports.
func (a *admission) ruleReports(ctx context.Context) func(yield func(*crdReport) bool) {
	return func(yield func(*crdReport) bool) {
		known := givenRules{}
		for _, m := range a.rules {
			j := newReport(m)
			j.Name = m.CRD
			err := known.add(m)
			if err == nil {
				j, err = a.setRules(ctx, m, a.workspace.Named(m.CRD, m.Path()))
			}
			if err != nil {
				j = newReport(m)
				j.Name, j.Error = m.CRD, err.Error()
				j.Line, j.Column = placeOf(err, m)
			}
			if !yield(j) {
				return
			}
		}
	}
}

// maxBatch bounds the writes between two reports of progress.
const maxBatch = 200

// run evaluates the writes and calls report for each of them, in order. It clears the writes, so that the memory of those
// that were reported can be reused.
func (a *admission) run(ctx context.Context, report func(*outcome) error) error {
	type evaluated struct {
		outcomes []*outcome
		err      error
	}
	batches := slices.Collect(slices.Chunk(a.writes, maxBatch))
	for of := range input.InOrder(batches, func(batch []*write) (of evaluated) {
		of.outcomes, of.err = a.evaluate(ctx, batch)
		clear(batch)
		return of
	}) {
		if ctx.Err() != nil {
			return input.ErrInterrupted
		}
		if of.err != nil {
			return of.err
		}
		for _, o := range of.outcomes {
			if err := report(o); err != nil {
				return err
			}
		}
	}
	return nil
}
