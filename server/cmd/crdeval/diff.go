package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/input"
	"github.com/crdeval/crdeval/server/cmd/crdeval/output"
	"github.com/crdeval/crdeval/server/cmd/crdeval/terminal"
)

type diffCommand struct {
	Files        []string `arg:"" name:"file" ext:"yaml,yml,json" help:"OLD and NEW: files or directories with CRDs; - for stdin. With --server, only NEW."`
	Objects      []string `help:"File or directory with objects to replay under both CRDs." placeholder:"FILE" ext:"yaml,yml,json" sep:"none"`
	Output       string   `short:"o" placeholder:"FORMAT" default:"text" enum:"text,json,junit,sarif,github" help:"text; json: a line for each CRD; junit: a test case for each CRD; sarif: a SARIF 2.1.0 log; github: GitHub Actions annotations."`
	FailOn       string   `default:"breaking" enum:"breaking,care,never" help:"Exit with 1 for changes of this class or worse: breaking, care, never."`
	Partial      bool     `help:"NEW has only some of the CRDs. Default: CRDs that NEW lacks count as deleted, which is breaking."`
	Show         string   `default:"compatible" enum:"breaking,care,compatible" help:"With text output, print changes of this class or worse: breaking, care, compatible."`
	Tries        tries    `name:"counterexamples" alone:"1000" help:"Print a small object for each breaking change: OLD accepts it, and NEW rejects it or does not store all of its fields. --counterexamples=N evaluates at most N writes for each change. Default of N: 1000." placeholder:"N"`
	CRD          string   `name:"crd" help:"Name of the registered CRD. Needs --server. Default: the name in NEW." placeholder:"NAME"`
	Revision     string   `help:"Revision of the registered CRD. Needs --server. Default: the current one." placeholder:"REVISION"`
	serviceFlags `group:"Service"`
}

// newDiff declares crdeval diff.
func newDiff(i *invocation) *cobra.Command {
	return i.declare(&cobra.Command{
		Use: "diff", GroupID: groupEvaluate,
		Short: "Report the changes between CRDs, and what they break.",
		Long: `Reports what changes if NEW replaces OLD. Each change has a class (compatible, care or breaking) for stored objects, for clients that write, and for clients that read. CRDs are paired by name. Other kinds are skipped. With --objects, objects are evaluated under both CRDs. Objects are printed if their results differ.

Exit code 0: no change has the class of --fail-on or worse. Exit code 1: a change has that class or worse. Exit code 2: a document could not be compared, or the usage is wrong. If NEW is rejected, or if an object is newly rejected or loses fields, this counts as breaking.`,
		Example: `  crdeval diff old.yaml new.yaml
  crdeval diff old/ new/ --counterexamples --show breaking
  crdeval diff old.yaml new.yaml --objects live.yaml`,
	}, &diffCommand{})
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
			printable([]byte(terminal.OneLine(strings.Join(c.Objects, ", ")))))
	}
	compared, err := c.compare(ctx, files, objects)
	if err != nil {
		return err
	}
	worst, failed := compatible, 0
	out := output.New(env.stdout, c.Output, program("diff"))
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
		if err := out.Close(&output.Run{Counts: counted(len(compared), "CRD") + ": " + classNames[worst],
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
	with, err := c.open()
	if err != nil {
		return nil, err
	}
	defer with.close()
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
		d, err := c.pair(ctx, with, o, n, objects)
		if err != nil {
			return nil, err
		}
		if o != nil {
			found[o.Name] = true
		}
		all = append(all, d)
	}
	for _, o := range old {
		if name := o.Name; !c.Partial && !found[name] {
			all = append(all, &difference{Name: name, Old: where(o), New: c.Files[1], Deleted: true, old: o})
		}
	}
	return all, nil
}

// pair compares two CRDs, and replays the objects of the old one. Without an old CRD, the new one is created or compared
// with the registered one.
func (c *diffCommand) pair(
	ctx context.Context, with comparer, o, n *workspace.Manifest, objects []*workspace.Manifest,
) (*difference, error) {
	d := &difference{Name: n.Name, New: where(n), old: o, new: n, searched: c.Tries > 0}
	crd := n
	if o != nil {
		d.Old, crd = where(o), o
	}
	d.kind = crd.AsCRD().ObjectKind
	of := &comparison{old: o, new: n, tries: int(c.Tries), crd: c.CRD, revision: c.Revision}
	for _, object := range objects {
		if workspace.GroupOf(object.APIVersion) == crd.AsCRD().Group && object.Kind == d.kind {
			of.objects = append(of.objects, object)
		}
	}
	done, err := with.compare(ctx, of)
	if at := (*documentError)(nil); errors.As(err, &at) {
		d.fail(at)
	} else if err != nil {
		return nil, err
	}
	if c.Server == "" && o == nil {
		d.Old, d.Created = c.Files[0], true
	}
	if done == nil || d.Created {
		d.kind, d.searched = "", false
	} else {
		d.foreign = len(objects) - len(of.objects)
	}
	if done != nil {
		d.take(done.diff)
		for i, r := range done.replayed {
			d.Replayed = append(d.Replayed, replayedOf(of.objects[i], r))
		}
	}
	return d, nil
}
