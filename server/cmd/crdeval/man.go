package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/crdeval/crdeval/server/commandline"
)

type manCommand struct {
	Command   string `arg:"" optional:"" help:"A command. Default: the page of crdeval."`
	OutputDir string `env:"-" help:"Write the pages of crdeval and of all commands to this directory." placeholder:"DIR"`

	root *cobra.Command
}

// newMan declares crdeval man.
func newMan(i *invocation) *cobra.Command {
	does := &manCommand{}
	c := i.declare(&cobra.Command{
		Use: "man", GroupID: groupOther,
		Short:   "Print a manual page.",
		Example: "  crdeval man admit | man -l -\n  crdeval man --output-dir /usr/local/share/man/man1",
	}, does)
	c.PreRun = func(c *cobra.Command, _ []string) { does.root = c.Root() }
	return c
}

// Run prints or writes pages.
func (m *manCommand) Run(_ context.Context, env environment) error {
	source := "crdeval " + version
	if m.OutputDir != "" {
		return commandline.WriteManPages(m.OutputDir, m.root, source)
	}
	page := m.root
	for _, c := range m.root.Commands() {
		if c.Name() == m.Command {
			page = c
		}
	}
	if m.Command != "" && page == m.root {
		return fmt.Errorf("there is no command %s", m.Command)
	}
	return commandline.WriteManPage(env.stdout, page, source)
}
