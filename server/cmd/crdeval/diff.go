package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/input"
	"github.com/crdeval/crdeval/server/report"
)

type diffCommand struct {
	Files    []string `arg:"" name:"file" help:"OLD and NEW: files or directories with CRDs; - for stdin. With --server, only NEW."`
	Objects  []string `help:"File or directory with objects to replay under both CRDs." placeholder:"FILE" sep:"none"`
	Output   string   `short:"o" default:"text" enum:"text,json,junit,sarif,github" help:"text; json: a line for each CRD; junit: a test case for each CRD; sarif: a SARIF 2.1.0 log; github: annotations of GitHub Actions."`
	FailOn   string   `default:"breaking" enum:"breaking,care,never" help:"Exit with 1 for changes of this class or worse: breaking, care, never."`
	Partial  bool     `help:"NEW has only some of the CRDs. Default: CRDs that NEW lacks count as deleted, which is breaking."`
	Show     string   `default:"compatible" enum:"breaking,care,compatible" help:"With text output, print changes of this class or worse: breaking, care, compatible."`
	Tries    tries    `name:"counterexamples" help:"Print a small object for each breaking change: OLD accepts it, and NEW rejects it or does not store all of its fields. --counterexamples=N evaluates at most N writes for each change. Default of N: 1000." placeholder:"N"`
	CRD      string   `name:"crd" help:"Name of the registered CRD. Needs --server. Default: the name in NEW." placeholder:"NAME"`
	Revision string   `help:"Revision of the registered CRD. Needs --server. Default: the current one." placeholder:"REVISION"`
	serviceFlags
}

func (*diffCommand) Help() string {
	return `Reports what changes if NEW replaces OLD. Each change has a class (compatible, care or breaking) for stored objects, for clients that write, and for clients that read. CRDs are paired by name. Other kinds are skipped. With --objects, objects are evaluated under both CRDs. Objects are printed if their results differ.

Exit code 0: no change has the class of --fail-on or worse. Exit code 1: a change has that class or worse. Exit code 2: a document could not be compared, or the usage is wrong. If NEW is rejected, or if an object is newly rejected or loses fields, this counts as breaking.`
}

func (c *diffCommand) Validate() error {
	want, hint := 2, "expected OLD and NEW, or NEW and --server"
	if c.Server != "" {
		want, hint = 1, "expected only NEW with --server"
	}
	switch {
	case len(c.Files) != want:
		return fmt.Errorf("%s: %s", counted(len(c.Files), "file"), hint)
	case c.Server == "" && (c.CRD != "" || c.Revision != ""):
		return errors.New("--crd and --revision need --server")
	case isStdinTwice(c.Files, c.Objects):
		return errStdinTwice
	}
	return c.validate()
}

// Run compares every pair of CRDs.
func (c *diffCommand) Run(ctx context.Context, env environment) error {
	files := env.files(false)
	objects, err := input.Manifests(files.Files(ctx, c.Objects...))
	if err != nil {
		return err
	}
	if len(c.Objects) > 0 && len(objects) == 0 {
		fmt.Fprintf(env.stderr, "warning: --objects %s has no object: nothing is replayed\n",
			printable([]byte(workspace.OneLine(strings.Join(c.Objects, ", ")))))
	}
	compared, err := c.compare(ctx, files, objects)
	if err != nil {
		return err
	}
	worst, failed := compatible, 0
	out := report.New(env.stdout, c.Output, program("diff"))
	for _, d := range compared {
		switch {
		case c.Output == "json":
			err = json.NewEncoder(env.stdout).Encode(d)
		case out != nil:
			err = out.Add(d.result(c.FailOn))
		default:
			err = d.print(env.stdout, classOf(c.Show))
		}
		if err != nil {
			return err
		}
		if d.Error != "" {
			failed++
		}
		for _, r := range d.Replayed {
			if r.Error != "" && len(r.Result.message.GetOutcomes()) == 0 {
				failed++
			}
		}
		worst = max(worst, d.worst())
	}
	if out != nil {
		if err := out.Close(&report.Run{Counts: counted(len(compared), "CRD") + ": " + classNames[worst],
			Errors: failed}); err != nil {
			return err
		}
	}
	switch {
	case failed > 0:
		return incompleteError(counted(failed, "document") + " could not be compared")
	case c.FailOn != "never" && worst >= classOf(c.FailOn):
		return errRejected
	}
	return nil
}

// compare compares the CRDs of two files with each other, or those of one file with registered ones.
func (c *diffCommand) compare(ctx context.Context, files input.Reader, objects []*workspace.Manifest) (all []*difference, err error) {
	old, err := files.CRDs(ctx, c.Files[:len(c.Files)-1]...)
	if err != nil {
		return nil, err
	}
	latest, err := files.CRDs(ctx, c.Files[len(c.Files)-1])
	if err != nil {
		return nil, err
	}
	service, err := c.connect()
	if err != nil {
		return nil, err
	}
	defer service.close()
	limits, err := service.Limits(ctx)
	if err != nil {
		return nil, service.fail("", err)
	}
	batch := max(1, int(limits.GetMaxBatchItems()))
	known, found := map[string]*workspace.Manifest{}, map[string]bool{}
	for _, o := range old {
		known[o.Name] = o
	}
	single := len(old) == 1 && len(latest) == 1
	for _, n := range latest {
		o := known[n.Name]
		if single {
			o = old[0]
		}
		var d *difference
		if o == nil && service.local != nil {
			d = c.created(ctx, service, n)
		} else {
			d, err = c.pair(ctx, service, o, n, objects, batch)
		}
		if err != nil {
			return nil, service.fail(n.Name, err)
		}
		if o != nil {
			found[o.Name] = true
		}
		all = append(all, d)
	}
	for _, o := range old {
		if name := o.Name; !c.Partial && !found[name] {
			all = append(all, &difference{Name: name, Old: o.Where(), New: c.Files[1], Deleted: true, old: o})
		}
	}
	return all, nil
}

// created checks a CRD that OLD does not have.
func (c *diffCommand) created(ctx context.Context, s *service, n *workspace.Manifest) *difference {
	d := &difference{Name: n.Name, Old: c.Files[0], New: n.Where(), Created: true, new: n}
	answer, err := s.Registry().CheckCrd(ctx,
		&crdevalv1.CheckCrdRequest{Catalog: s.catalog, Manifest: toDocument(n.Document)})
	if err != nil {
		d.fail(n, s.manifestError(err))
		return d
	}
	class := compatible
	if !answer.GetAccepted() {
		class = breaking
	}
	d.take(&crdevalv1.DiffCrdResponse{ChangeClass: class, Accepted: answer.GetAccepted(), Report: answer.GetReport()})
	return d
}

// pair compares two CRDs and replays their objects, in as many requests as necessary. Without an old CRD, it compares
// with the registered one, and an error ends the run.
func (c *diffCommand) pair(
	ctx context.Context, s *service, o, n *workspace.Manifest, objects []*workspace.Manifest, batch int,
) (*difference, error) {
	d := &difference{Name: n.Name, New: n.Where(), old: o, new: n, kind: n.AsCRD().ObjectKind,
		searched: c.Tries > 0}
	request := &crdevalv1.DiffCrdRequest{Catalog: s.catalog, Manifest: toDocument(n.Document), Crd: c.CRD,
		Revision: c.Revision, CounterexampleTries: int32(c.Tries)}
	crd := n
	if o != nil {
		d.Old, d.kind, crd = o.Where(), o.AsCRD().ObjectKind, o
		request.Base = toDocument(o.Document)
	}
	var own []*workspace.Manifest
	for _, object := range objects {
		if workspace.GroupOf(object.APIVersion) == crd.AsCRD().Group && object.Kind == crd.AsCRD().ObjectKind {
			own = append(own, object)
		}
	}
	d.foreign = len(objects) - len(own)
	for first := true; first || len(own) > 0; first = false {
		part := own[:min(batch, len(own))]
		own = own[len(part):]
		request.Objects = nil
		for _, object := range part {
			request.Objects = append(request.Objects, toDocument(object.Document))
		}
		answer, err := s.Registry().DiffCrd(ctx, request)
		if err != nil {
			if o == nil {
				return nil, err
			}
			at := n
			if _, _, broken := engine.ExistingFrom(o.Document, engine.Limits{}); broken != nil {
				at = o
			}
			d.fail(at, s.manifestError(err))
			return d, nil
		}
		for i, r := range answer.GetReplayResults() {
			d.Replayed = append(d.Replayed, replayedOf(part[i], r))
		}
		if first {
			d.take(answer)
			request.CounterexampleTries = 0
		}
	}
	return d, nil
}
