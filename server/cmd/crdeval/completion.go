package main

import (
	"fmt"
	"io"

	"github.com/crdeval/crdeval/server/cmd/crdeval/usage"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (*completionCommand) Help() string {
	return `Prints a script that completes commands, flags and their values in a shell. For example:

  bash:  source <(crdeval completion bash)
  zsh:   source <(crdeval completion zsh)
  fish:  crdeval completion fish | source`
}

// Run prints the script.
func (c *completionCommand) Run(env environment) error {
	_, err := io.WriteString(env.stdout, usage.Scripts[c.Shell])
	return err
}

// candidatesCommand prints the completions of the last word of a command line, for the completion scripts.
type candidatesCommand struct {
	Words []string `arg:"" optional:"" help:"The words after the program. The last one is completed."`
}

// Run prints a line for each candidate: the word, a tab, and a description.
func (c *candidatesCommand) Run(env environment) error {
	for _, of := range usage.Candidates(model().Node, c.Words) {
		if _, err := fmt.Fprintf(env.stdout, "%s\t%s\n", of.Word, of.Text); err != nil {
			return err
		}
	}
	return nil
}
