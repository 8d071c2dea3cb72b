package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/download"
	"github.com/crdeval/crdeval/server/cmd/crdeval/repository"
	"github.com/crdeval/crdeval/server/editor/lsp"
	"github.com/crdeval/crdeval/server/settings"
)

type lspCommand struct {
	CRDs            []string          `name:"crds" help:"File, directory or https:// URL with CRDs, in addition to those of the workspace. Directories include their subdirectories." placeholder:"FILE" ext:"yaml,yml,json" sep:"none"`
	Exclude         []string          `help:"Skip files and directories that match this glob. Repeatable." placeholder:"GLOB" sep:"none"`
	SkipKind        []string          `help:"Skip objects of this kind. Repeatable." placeholder:"KIND[.GROUP]"`
	FieldValidation string            `default:"strict" enum:"strict,warn,ignore" help:"Report unknown and duplicate fields as errors (strict) or as warnings (warn). ignore: report only unknown fields with a hint, as notes." placeholder:"MODE"`
	Namespace       string            `short:"n" default:"default" help:"Namespace of objects without one." placeholder:"NAME"`
	Kubernetes      kubernetesVersion `help:"Check CRDs as this version of Kubernetes does, such as 1.34. Default: the latest supported version." placeholder:"VERSION"`
	Config          string            `env:"-" file:"-" ext:"yaml,yml" help:"File with settings. Default: .crdeval.yaml in the first folder of the workspace, or in the nearest parent within the repository." placeholder:"FILE"`
	Stdio           bool              `env:"-" hidden:"" help:"Ignored: the server always uses stdin and stdout."`

	set *settings.Set // of the flags and variables
}

// Load implements commandline.Loader: it keeps the settings, because each workspace has a configuration file of its own.
func (c *lspCommand) Load(set *settings.Set) error { //nolint:unparam // the interface has an error
	c.set = set
	return nil
}

// newLsp declares crdeval lsp.
func newLsp(i *invocation) *cobra.Command {
	return i.declare(&cobra.Command{
		Use: "lsp", GroupID: groupServe,
		Short: "Run a language server for editors, on stdin and stdout.",
		Long: `Runs a language server on stdin and stdout. Editors start it. It checks objects and CRDs in YAML and JSON files as an API server does, and offers documentation, completion and quick fixes.

It reads CRDs from the files of the workspace and from --crds. It skips Helm templates, kustomizations and their patches. Flags take precedence over .crdeval.yaml. In this file, the section lsp takes precedence over the section admit, and admit over the top level.

Exit code 0: the client stopped the server. Exit code 1: the client stopped it without the request shutdown. Exit code 2: the connection was lost, or the usage is wrong. docs/editors.md describes how to configure editors.`,
	}, &lspCommand{})
}

// Run serves until the client stops the server.
func (c *lspCommand) Run(ctx context.Context, env environment) error {
	err := lsp.Serve(ctx, env.stdin, env.stdout, lsp.Options{
		Settings: c.settings, Version: versionOfProgram(), Log: env.stderr,
		Reload: func(file string) bool {
			names := []string{configName, "Chart.yaml", "kustomization.yaml", "kustomization.yml", "Kustomization"}
			return slices.Contains(names, filepath.Base(file)) || c.Config != "" &&
				filepath.Base(file) == filepath.Base(c.Config)
		},
	})
	switch {
	case errors.Is(err, lsp.ErrExit):
		return errRejected
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted")
	}
	return err
}

// settings returns the settings of a workspace. After an error, the flags are used without the file.
func (c *lspCommand) settings(root string) (lsp.Settings, error) {
	working, err := filepath.Abs(root)
	if err != nil {
		return lsp.Settings{}, err
	}
	merged, invalid := c.withConfig(working)
	filter, err := newFilter(working, merged.Exclude, true)
	if err != nil {
		filter, _ = newFilter(working, nil, true)
		invalid = errors.Join(invalid, err)
	}
	of := lsp.Settings{
		FieldValidation: engine.FieldValidationStrict, Kubernetes: string(merged.Kubernetes), Namespace: merged.Namespace,
		Filter: filter, SkipKind: func(apiVersion, kind string) bool {
			s := new(workspace.Manifest)
			s.APIVersion, s.Kind = apiVersion, kind
			return (&ciFlags{SkipKind: merged.SkipKind}).skipReason(s) != ""
		},
	}
	switch merged.FieldValidation {
	case "warn":
		of.FieldValidation = engine.FieldValidationWarn
	case "ignore":
		of.FieldValidation = engine.FieldValidationIgnore
	}
	urls := map[string]string{} // by the name without secrets
	for _, name := range merged.CRDs {
		if repository.IsURL(name) {
			shown := download.WithoutSecrets(name)
			urls[shown], name = name, shown
		} else if absolute, err := filepath.Abs(name); err == nil {
			name = absolute
		}
		of.CRDs = append(of.CRDs, name)
	}
	of.Read = func(url string) ([]byte, error) { return downloads.Read(urls[url], nil) }
	return of, invalid
}

// withConfig returns the settings, with those that no flag and no variable has set taken from the configuration file.
func (c *lspCommand) withConfig(working string) (merged lspCommand, err error) {
	set := c.set.CopyTo(&merged)
	name := c.Config
	if name == "" {
		if name = findConfigAt(working); name == "" {
			return merged, nil
		}
	}
	config := &configFile{name: name, found: c.Config == ""}
	if err := config.read(); err != nil {
		return merged, err
	}
	config.apply(set, "lsp", "admit", "")
	sources, err := config.sources.Files()
	if err == nil {
		merged.CRDs = append(slices.Clone(merged.CRDs), sources...)
	}
	return merged, errors.Join(set.Explain(set.Err()), err) // the other settings still apply
}
