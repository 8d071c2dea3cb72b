package main

import "github.com/crdeval/crdeval/server/cmd/crdeval/usage"

type manCommand struct{}

func (*manCommand) Help() string {
	return `Prints a manual page of all commands. For example:

  crdeval man > /usr/local/share/man/man1/crdeval.1`
}

// Run prints the page.
func (*manCommand) Run(env environment) error { return usage.WriteMan(env.stdout, model(), version) }
