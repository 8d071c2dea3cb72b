package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/crdeval/crdeval/engine"
)

type admitCommand struct {
	Files []string `arg:"" help:"Files with objects, JSON or YAML, one or several documents each, lists too, or directories of such files; - is stdin. CRDs among them count as registered before." name:"file"`
	CRDs  []string `name:"crds" help:"Files, or directories of files, with CRDs to register before." placeholder:"FILE" sep:"none"`
	Old   []string `help:"Files, or directories of files, with objects that exist: a write of one of the same kind, namespace and name is an update of it." placeholder:"FILE" sep:"none"`

	Recursive      bool `short:"R" help:"Take the directories in directories, too, but hidden ones."`
	SkipOtherKinds bool `help:"Pass over documents of which no CRD is given, such as ConfigMaps, and those without apiVersion and kind, such as values of Helm. Default: they are errors."`

	Namespace       string `short:"n" default:"default" help:"The namespace of objects that name none." placeholder:"NAME"`
	Subresource     string `help:"Write to the subresource: status, or scale (the objects are autoscaling/v1 Scales then). Needs --old." placeholder:"NAME" enum:",status,scale" default:""`
	Patch           string `short:"p" help:"Apply this patch, JSON or YAML, to each object instead of creating it." placeholder:"PATCH" xor:"patch"`
	PatchFile       string `help:"The same, from a file." placeholder:"FILE" xor:"patch"`
	Type            string `default:"merge" enum:"merge,json" help:"The patch's language: merge (RFC 7386) or json (RFC 6902)."`
	FieldValidation string `default:"strict" enum:"strict,warn,ignore" help:"What unknown and duplicate fields do: refuse the object as kubectl has it, warn as the API server by default, or nothing."`

	Output        string `short:"o" default:"text" enum:"text,json,junit,yaml,stored,table,wide" help:"text, for people; json: an object a line; junit: a test case an object; yaml: the objects as the API server would answer them; stored: as it would store them; table, wide: as kubectl get would print them."`
	Explain       bool   `help:"Print also what was filled in and forgiven, and the values in rules that did not hold."`
	Quiet         bool   `short:"q" help:"With text: print nothing about objects that would be taken without a warning."`
	FieldSelector string `help:"With yaml, stored, table and wide: print only the objects that this selector selects, such as spec.color=blue." placeholder:"SELECTOR"`
	NoHeaders     bool   `help:"With table and wide: no line of headers."`
	Now           string `help:"With table and wide: the time that ages are counted to, RFC 3339. Default: the present." placeholder:"TIME"`

	KubernetesMinor int           `default:"0" help:"Judge the CRDs as Kubernetes 1.N would. Default: the newest that is known." placeholder:"N"`
	ItemTimeout     time.Duration `default:"10s" help:"The longest that one object may take." placeholder:"DURATION"`
	Progress        string        `default:"auto" enum:"auto,always,never" help:"Tell on stderr how far a long run is: auto, on a terminal."`

	serviceFlags

	now time.Time
}

// Help is what --help adds.
func (*admitCommand) Help() string {
	return `Says of each object what an API server would answer to its creation, or, where --old has one of its kind, namespace and name, to its update: whether it would take it, what it has against it, and where in the file. Fields that only a server sets (uid, creationTimestamp, a generated name) need not be there. CRDs as kubectl get crd -o yaml prints them, established, are taken as they stand; all others are registered, which an API server may refuse. With --server the CRDs that are given go before those that are registered there, for this run alone.

Exit codes: 0, an API server would take every CRD and every object; 1, it would refuse at least one; 2, something could not be judged (a file that cannot be read, an object of no CRD that is there) or wrong usage. Everything that can be judged is judged and printed in any case; where both 1 and 2 apply, it is 2.`
}

// Validate checks the usage.
func (c *admitCommand) Validate() error {
	stdin := 0
	for _, name := range slices.Concat(c.Files, c.CRDs, c.Old, []string{c.PatchFile}) {
		if name == "-" {
			stdin++
		}
	}
	prints := slices.Contains([]string{"yaml", "stored", "table", "wide"}, c.Output)
	switch {
	case stdin > 1:
		return errors.New("stdin can be read once: give one - at most")
	case c.patching() && len(c.Old) > 0:
		return errors.New("a patch changes the objects of the files: leave --old out")
	case c.Subresource != "" && len(c.Old) == 0 && !c.patching():
		return errors.New("a write to a subresource is an update: say with --old what exists")
	case c.FieldSelector != "" && !prints:
		return errors.New("--field-selector is for -o yaml, stored, table and wide")
	case c.Output != "table" && c.Output != "wide" && (c.NoHeaders || c.Now != ""):
		return errors.New("--no-headers and --now are for -o table and wide")
	case c.ItemTimeout <= 0:
		return errors.New("--item-timeout: give more than 0")
	}
	c.now = time.Now()
	if c.Now != "" {
		now, err := time.Parse(time.RFC3339, c.Now)
		if err != nil {
			return fmt.Errorf("--now: %q is no time as RFC 3339 has it, 2026-01-31T12:00:00Z", c.Now)
		}
		c.now = now
	}
	return c.validate(c.KubernetesMinor)
}

func (c *admitCommand) patching() bool { return c.Patch != "" || c.PatchFile != "" }

// Run judges every object of every file, whatever becomes of the others.
func (c *admitCommand) Run(ctx context.Context, env environment) error {
	env.recursive = c.Recursive
	in, err := c.inputs(env)
	if err != nil {
		return err
	}
	by, end, err := c.judge(ctx, in)
	if err != nil {
		return err
	}
	defer end()
	out := c.printer(env)
	total := &tally{}
	for i := range in.crds {
		j, err := by.register(ctx, &in.crds[i])
		if err != nil {
			return err
		}
		if total.crd(&j); j.Error != "" || !j.Accepted || len(j.Warnings) > 0 || j.Names != nil {
			if err := out.crd(&j); err != nil {
				return err
			}
		}
	}
	meter := newMeter(c.Progress, env.stderr, len(in.writes))
	err = by.admit(ctx, in.writes, func(o *outcome) error {
		if o.otherKind && c.SkipOtherKinds {
			total.passed++
			meter.step(total.refused, total.failed)
			return nil
		}
		meter.step(total.object(o))
		return out.object(o)
	})
	meter.end()
	if err == nil {
		err = out.close(ctx, by, total)
	}
	if err != nil {
		return err
	}
	return total.result()
}

// judge is what judges: this process, or a service. end is to be called behind its last use.
func (c *admitCommand) judge(ctx context.Context, in *inputs) (by admitter, end func(), err error) {
	if c.Server == "" {
		return newEmbedded(c), func() {}, nil
	}
	return c.dial(ctx, in)
}

// admitter judges CRDs, and then objects.
type admitter interface {
	// register takes a CRD. The error ends the run.
	register(ctx context.Context, crd *source) (judgement, error)
	// admit judges objects and tells what became of each, in their order. The error ends the run.
	admit(ctx context.Context, writes []write, tell func(*outcome) error) error
	// table is a table of objects that were admitted, of one kind and version, as kubectl prints it.
	table(ctx context.Context, of tableKey, objects []*outcome, o tableOptions) (string, error)
	// selects leaves the objects that a field selector selects.
	selects(ctx context.Context, objects []*outcome, selector string) ([]*outcome, error)
}

// tally counts what became of what was judged.
type tally struct {
	allowed, refused, failed, passed, crdsRefused, crds int // passed: over
}

func (t *tally) crd(j *judgement) {
	t.crds++
	switch {
	case j.Error != "":
		t.failed++
	case !j.Accepted:
		t.crdsRefused++
	}
}

func (t *tally) object(o *outcome) (refused, failed int) {
	switch {
	case o.Error != "":
		t.failed++
	case o.Allowed:
		t.allowed++
	default:
		t.refused++
	}
	return t.refused, t.failed
}

func (t *tally) result() error {
	switch {
	case t.failed == 1:
		return errors.New("one document could not be judged")
	case t.failed > 1:
		return fmt.Errorf("%d documents could not be judged", t.failed)
	case t.allowed+t.refused == 0 && t.passed > 0:
		return fmt.Errorf("there is no object of a CRD that is given in the files; passed over: %s", counted(t.passed, "document of another kind", "documents of other kinds"))
	case t.allowed+t.refused == 0 && t.crds == 0:
		return errors.New("there is no object in the files")
	case t.refused > 0 || t.crdsRefused > 0:
		return errRefused
	}
	return nil
}

var fieldValidations = map[string]engine.FieldValidation{
	"strict": engine.FieldValidationStrict, "warn": engine.FieldValidationWarn, "ignore": engine.FieldValidationIgnore,
}
