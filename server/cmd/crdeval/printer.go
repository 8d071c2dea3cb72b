package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/output"
	"github.com/crdeval/crdeval/server/cmd/crdeval/repository"
)

// ciFlags are the flags of check and admit for CI systems.
type ciFlags struct {
	Summary string `help:"Append a summary in Markdown to this file, for example to \"$GITHUB_STEP_SUMMARY\"." placeholder:"FILE"`

	Repository bool     `help:"Check a repository: like --recursive and --skip-other-kinds. Also skip templates: documents that are not YAML, in files with {{ or {%."`
	Exclude    []string `help:"Skip files and directories that match this glob, such as vendor or deploy/**/generated-*.yaml. Repeatable." placeholder:"GLOB" sep:"none"`
	SkipKind   []string `help:"Skip documents of this kind. Repeatable." placeholder:"KIND[.GROUP]"`
	Config     string   `env:"-" file:"-" ext:"yaml,yml" help:"File with settings. Default: .crdeval.yaml in the working directory, or in the nearest parent within the repository." placeholder:"FILE"`

	section string // of the configuration file: the name of the command
	config  *configFile
}

// skipReason returns why a document is skipped, or "".
func (f *ciFlags) skipReason(s *workspace.Manifest) string {
	for _, kind := range f.SkipKind {
		if name, group, _ := strings.Cut(kind, "."); s.Kind == name && (group == "" || group == workspace.GroupOf(s.APIVersion)) {
			return fmt.Sprintf("the kind %s is skipped (--skip-kind)", kind)
		}
	}
	return ""
}

// filter returns the filter of the files of a run.
func (f *ciFlags) filter() (*workspace.Filter, error) { return newFilter(".", f.Exclude, f.Repository) }

// newFilter returns the filter for the repository that contains a folder.
func newFilter(folder string, exclude []string, templates bool) (*workspace.Filter, error) {
	working, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	filter, err := workspace.NewFilter(repository.FS(), workspace.FilterOptions{
		Root: repository.PathOf(repository.RootOf(working)), Working: repository.PathOf(working), Exclude: exclude, Templates: templates,
	})
	if err != nil {
		return nil, fmt.Errorf("--exclude: %w", err)
	}
	return filter, nil
}

// printer prints the results of a run in one format.
type printer interface {
	crd(*crdReport) error // of admit: only for a CRD with a message
	object(*outcome) error
	close(*tally) error
}

// newPrinter returns the printer of a format that check and admit share, or nil. counts returns the counts of the
// command. admit is nil for check.
func newPrinter(w io.Writer, format, command string, admit *admitCommand, counts func(*tally) string) printer {
	if format == "json" {
		return jsonPrinter{w}
	}
	if p := output.New(w, format, program(command)); p != nil {
		return reportPrinter{p, admit, counts}
	}
	return nil
}

// withSummary returns a printer that also appends a summary to a file, unless its name is empty.
func withSummary(p printer, file, command string, admit *admitCommand, counts func(*tally) string) printer {
	if file == "" {
		return p
	}
	return printers{p, reportPrinter{output.NewSummary(file, program(command)), admit, counts}}
}

// printers prints each result with several printers.
type printers []printer

func (all printers) crd(j *crdReport) error {
	return all.each(func(p printer) error { return p.crd(j) })
}

func (all printers) object(o *outcome) error {
	return all.each(func(p printer) error { return p.object(o) })
}

func (all printers) close(t *tally) error {
	return all.each(func(p printer) error { return p.close(t) })
}

func (all printers) each(do func(printer) error) error {
	for _, p := range all {
		if err := do(p); err != nil {
			return err
		}
	}
	return nil
}
