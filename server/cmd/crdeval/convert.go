package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/input"
	"github.com/crdeval/crdeval/server/cmd/crdeval/output"
)

type convertCommand struct {
	Files []string `arg:"" optional:"" help:"Files or directories with objects, and optionally their CRDs and conversion rules; - for stdin." name:"file" ext:"yaml,yml,json"`
	To    string   `help:"The version to convert to, such as v1." placeholder:"VERSION"`
	Check string   `help:"Check the conversion rules in this file or directory instead: print their classes, and test the laws." placeholder:"RULES"`
	CRDs  []string `name:"crds" help:"File or directory with CRDs and conversion rules." placeholder:"FILE" ext:"yaml,yml,json" sep:"none"`
	inputFlags
	lawFlags `group:"Check"`

	Output       string `short:"o" placeholder:"FORMAT" enum:"yaml,json,text,junit,sarif,github" help:"yaml (default): the objects as YAML documents; json: one object per line. With --check: text (default); json: one line per CRD; junit, sarif, github: reports for CI systems."`
	serviceFlags `group:"Service"`
}

// newConvert declares crdeval convert.
func newConvert(i *invocation) *cobra.Command {
	return i.declare(&cobra.Command{
		Use: "convert", GroupID: groupConvert,
		Short: "Convert objects in files to another version, or check conversion rules.",
		Long: `If the conversion strategy of a CRD is Webhook, its conversion rules apply. If it is None, only apiVersion changes, and unknown fields are removed. Prints the converted objects in the order of the files, and errors on stderr. Objects that already have the version are printed unchanged. For other objects, stderr has a warning for each field that the conversion drops, for each reason to reject the result at its version, and for each default that a write would add.

Files are JSON or YAML, with one or several documents, or lists. CRDs and conversion rules come from --crds or from the files. Rules that break a law on one of 200 generated objects are rejected. With --server, the service converts with its rules, or calls the webhooks that it may call. In this case, rules are not tested if their CRD is also in the files: use --check.

With --check, checks conversion rules against their CRD in --crds. Prints the violations with their positions, or the class of each rule: ISO (nothing is lost), LENS (nothing is lost except what the preconditions list), TESTED (expressions: only the tests of the laws show whether something is lost). Counts how many fields of each version are carried (copied), read by expressions, stashed in an annotation, and dropped. Then tests the laws of docs/conversion.md on generated objects, and prints a small object for each law that does not hold. Also prints how many generated objects cannot be converted. The tests replace these objects.

Exit code 0: all objects are converted, or all rules are accepted and obey the laws that they do not except. Exit code 1: a CRD, rules or an object are rejected, an object cannot be converted, or rules break a law. Exit code 2: a document could not be evaluated (for example an object without a CRD), the files have no object, or the usage is wrong. Errors do not end the run. If both 1 and 2 apply, the exit code is 2.`,
		Example: `  crdeval convert objects/ --to v1 --crds crds/
  crdeval convert --check rules.yaml --crds crds/`,
	}, &convertCommand{})
}

func (c *convertCommand) Validate() error {
	if c.Check != "" {
		return c.validateCheck()
	}
	switch {
	case len(c.Files) == 0:
		return errors.New(`expected FILE..., or --check=RULES`)
	case c.To == "":
		return errors.New("missing flag: --to=VERSION")
	case strings.Contains(c.To, "/"):
		return fmt.Errorf("--to is %q: use the version without its group: %s", c.To, workspace.VersionOf(c.To))
	case slices.Contains([]string{"text", "junit", "sarif", "github"}, c.Output):
		return fmt.Errorf("-o %s needs --check", c.Output)
	case c.lawFlags != defaultLaws:
		return errors.New("-n and --seed need --check")
	case isStdinTwice(c.Files, c.CRDs):
		return errStdinTwice
	}
	return c.validate()
}

// conversion is the result for an object.
type conversion struct {
	*workspace.Manifest
	object   []byte             // the converted object as JSON, or nil
	err      error              // why object is nil
	rejected bool               // the object cannot be converted, as on an API server
	reasons  []engine.Violation // of the rejection
	skipped  bool               // the document is not for this command: see err
	notes    []conversionNote
}

// Run converts the objects of all files.
func (c *convertCommand) Run(ctx context.Context, env environment) error {
	if c.Check != "" {
		return c.runCheck(ctx, env)
	}
	files := env.files(c.Recursive)
	crds, rules, err := files.CRDsAndRules(ctx, c.CRDs...)
	if err != nil {
		return err
	}
	list, err := input.Manifests(files.Files(ctx, c.Files...))
	if err != nil {
		return err
	}
	var objects []*workspace.Manifest
	for _, s := range list {
		switch {
		case s.Conversion:
			rules = append(rules, s)
		case s.AsCRD() != nil:
			crds = append(crds, s)
		default:
			objects = append(objects, s)
		}
	}
	evaluation, err := c.open()
	if err != nil {
		return err
	}
	defer evaluation.close()
	total := tally{skipped: map[string]int{}, rejected: "not converted", evaluated: "converted", allowEmpty: c.AllowEmpty,
		inputs: "no object"}
	v := newConverter(evaluation)
	for _, s := range slices.Concat(crds, rules) {
		j := v.add(ctx, s)
		if ctx.Err() != nil { // it is not the reason of a rejection
			return input.ErrInterrupted
		}
		if total.crd(j); j.Error != "" || !j.Accepted {
			if err := j.print(env.stderr); err != nil {
				return err
			}
		}
	}
	first := true
	for batch := range slices.Chunk(objects, maxBatch) {
		if ctx.Err() != nil {
			return input.ErrInterrupted
		}
		results, err := v.convertAll(ctx, c.To, batch)
		if err != nil {
			return err
		}
		for _, r := range results {
			r.skipped = r.skipped && c.SkipOtherKinds
			if err := c.print(env, &total, r, first); err != nil {
				return err
			}
			first = first && r.object == nil
		}
	}
	summary := total.counts(&total.objects, "object", "converted")
	if total.warned > 0 {
		summary += fmt.Sprintf(", %d with warnings", total.warned)
	}
	if _, err := fmt.Fprintln(env.stderr, summary+total.skippedSummary()); err != nil {
		return err
	}
	return total.result()
}

// print counts and prints a result. first is true until an object is printed.
func (c *convertCommand) print(env environment, total *tally, r *conversion, first bool) error {
	text, skipped := "", ""
	switch at := fmt.Sprintf("%s:%d: %s", r.File, r.Line(), titleOf(r.Manifest)); {
	case r.skipped:
		if skipped = r.err.Error(); c.Verbose {
			text = fmt.Sprintf("%s: skipped: %s\n", at, skipped)
		}
	case r.rejected:
		text = fmt.Sprintf("%s: not converted: %s\n", at, messageText(r.err.Error()))
		if reasons := reasonsText(r); reasons != "" {
			text = fmt.Sprintf("%s: not converted:\n%s", at, reasons)
		}
	case r.err != nil:
		at = fmt.Sprintf("%s: %s", failurePlace(r.Manifest, r.err), titleOf(r.Manifest))
		text = fmt.Sprintf("%s: error: %s\n", at, r.err)
	}
	failure := ""
	if r.err != nil && !r.rejected {
		failure = r.err.Error()
	}
	total.add(&total.objects, r.err == nil, failure, skipped, r.Kind)
	if text += notesText(r); len(r.notes) > 0 {
		total.warned++
	}
	if _, err := env.stderr.Write(printable([]byte(text))); err != nil || r.object == nil {
		return err
	}
	out, err := c.format(r.object, first)
	if err != nil {
		return fmt.Errorf("%s: %w", where(r.Manifest), err)
	}
	_, err = env.stdout.Write(out)
	return err
}

// format returns an object for the output. YAML documents have a marker between them.
func (c *convertCommand) format(object []byte, first bool) ([]byte, error) {
	if c.Output == "json" {
		var b bytes.Buffer
		err := json.Compact(&b, object)
		return append(b.Bytes(), '\n'), err
	}
	text, err := output.YAML(object)
	if !first {
		text = append([]byte("---\n"), text...)
	}
	return text, err
}

// converter converts objects with the CRDs and conversion rules of a run.
type converter struct {
	transformer
	given []*crdReport
	rules givenRules
}

func newConverter(t transformer) *converter { return &converter{transformer: t, rules: givenRules{}} }

// add registers a CRD or sets conversion rules.
func (v *converter) add(ctx context.Context, s *workspace.Manifest) *crdReport {
	if s.Conversion {
		return v.rules.set(ctx, v, s)
	}
	j := v.registerCRD(ctx, s, registration{adopts: s.AsCRD().Established})
	v.given = append(v.given, j)
	return j
}

// convertAll converts objects to a version. If a call fails, it returns its error and no results.
func (v *converter) convertAll(ctx context.Context, version string, objects []*workspace.Manifest) ([]*conversion, error) {
	return v.transform(ctx, version, objects, v.convert)
}

// readAll returns objects as an API server reads them from its storage, at a version.
func (v *converter) readAll(ctx context.Context, version string, objects []*workspace.Manifest) ([]*conversion, error) {
	return v.transform(ctx, version, objects, v.read)
}

// transform calls a method of the transformer. The result for an object that has the version is the object itself.
func (v *converter) transform(
	ctx context.Context, version string, objects []*workspace.Manifest,
	call func(context.Context, string, []*workspace.Manifest) ([]transformed, error),
) ([]*conversion, error) {
	all := make([]*conversion, len(objects))
	var sent []*conversion
	var manifests []*workspace.Manifest
	for i, s := range objects {
		all[i] = &conversion{Manifest: s}
		switch {
		case s.Err != nil:
			all[i].err = s.Err
		case s.APIVersion == "" || s.Kind == "":
			all[i].err, all[i].skipped = errUntyped, s.APIVersion == "" && s.Kind == ""
		default:
			sent, manifests = append(sent, all[i]), append(manifests, s)
		}
	}
	results, err := call(ctx, version, manifests)
	if err != nil {
		return nil, err
	}
	for i := range results {
		r, t := sent[i], &results[i]
		switch {
		case t.err != nil:
			if r.err, r.rejected, r.reasons = t.err, t.rejected, t.reasons; !r.rejected {
				v.describe(r)
			} else if texts := fieldTexts(r.reasons); texts != nil {
				r.err = errors.New(strings.Join(texts, "; "))
			}
		case workspace.VersionOf(r.APIVersion) == version:
			r.object = r.JSON()
		default:
			r.object, r.notes = t.object, notesOf(r.Manifest, version, t)
		}
	}
	return all, ctx.Err()
}

// describe replaces the error of an object by one about its file.
func (v *converter) describe(r *conversion) {
	if errors.Is(r.err, errNoCRD) {
		r.skipped, r.err = noCRD(v.given, r.APIVersion, r.Kind)
		return
	}
	e := (*engine.Error)(nil)
	if !errors.As(r.err, &e) {
		return
	}
	switch e.Reason {
	case engine.ReasonVersionNotFound:
		if crd := v.crdOf(r.Manifest); crd != nil {
			r.err = fmt.Errorf("%w; %s has the versions %s", e, crd.Name, strings.Join(crd.source.AsCRD().VersionNames(), ", "))
		}
	case engine.ReasonConversionFailed, engine.ReasonConversionUnavailable:
		if text, found := strings.CutPrefix(e.Message, titleOf(r.Manifest)+": "); found {
			r.err = errors.New(text) // the object is already named
		}
		r.rejected = true
	}
}

// noCRD returns the error for an object whose kind has no accepted CRD. otherKind is true if no given CRD has its group.
func noCRD(given []*crdReport, apiVersion, kind string) (otherKind bool, err error) {
	w, otherKind := &workspace.Workspace{}, true
	for _, j := range given {
		crd := j.source.AsCRD()
		if crd == nil || !strings.EqualFold(crd.Group, workspace.GroupOf(apiVersion)) {
			continue
		}
		otherKind = false
		if crd.ObjectKind == kind {
			return false, fmt.Errorf("its CRD in %s could not be used: see its report", where(j.source))
		}
		w.Set(crd.In)
	}
	similar, group := w.Similar(apiVersion, kind)
	err = &workspace.WithoutCRDError{APIVersion: apiVersion, Kind: kind, Similar: similar, SimilarGroup: group}
	return otherKind, err
}

// crdOf returns the CRD of the run for an object, or nil.
func (v *converter) crdOf(s *workspace.Manifest) *crdReport {
	i := slices.IndexFunc(v.given, func(j *crdReport) bool {
		crd := j.source.AsCRD()
		return j.Accepted && crd.Group == workspace.GroupOf(s.APIVersion) && crd.ObjectKind == s.Kind
	})
	if i < 0 {
		return nil
	}
	return v.given[i]
}
