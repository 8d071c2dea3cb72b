// Package commandline runs commands whose settings are structs with tags (package settings) with cobra.
//
// commandline.go declares and runs commands, help.go prints their help, suggest.go has the errors about flags and
// commands, and complete.go completes values in shells.
package commandline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/crdeval/crdeval/server/settings"
)

// Validator is a struct of settings that checks them after they are set.
type Validator interface{ Validate() error }

// Loader is a struct of settings that has other sources, such as a file. Load is called after the flags and the
// environment are read, and before Validate.
type Loader interface {
	Load(*settings.Set) error
}

// UsageError is an error about the arguments or the settings of a command.
type UsageError struct {
	Err error
}

// Error implements error.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *UsageError) Unwrap() error { return e.Err }

// Declare gives a command the flags and arguments of a struct (see settings.Declare). prefix begins the names of
// environment variables. The command sets the fields, loads and validates them, and calls run. Errors before run are
// UsageErrors.
func Declare(c *cobra.Command, prefix string, target any, run func(ctx context.Context, set *settings.Set) error) *cobra.Command {
	set := settings.Declare(target, prefix)
	set.AddTo(c.Flags())
	c.Flags().BoolP("help", "h", false, "Print this help.")
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	for _, a := range set.Arguments {
		c.Use += " " + a.Usage()
		c.Annotations[arguments] += fmt.Sprintf("%s: %s\n\n", a.Name, a.Help)
	}
	c.Args = cobra.ArbitraryArgs // ReadArguments checks them
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := read(set, target, args, c.Annotations[Instead]); err != nil {
			return &UsageError{set.Explain(err)}
		}
		return run(c.Context(), set)
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return &UsageError{errors.Join(set.Err(), flagError(c, err))}
	})
	c.SetUsageFunc(func(c *cobra.Command) error { return printUsage(c, prefix, set) })
	completeWith(c, set)
	return c
}

// arguments is the key of the annotation of a command that describes its arguments.
const arguments = "arguments"

// Instead is the key of the annotation of a command that says what to use instead of an unexpected argument.
const Instead = "instead"

// read sets and checks the fields of a struct. The flags are already set.
func read(set *settings.Set, target any, args []string, instead string) error {
	rest, err := set.ReadArguments(args)
	switch {
	case err == nil && len(rest) > 0 && instead != "":
		err = fmt.Errorf("unexpected argument %s: %s", rest[0], instead)
	case err == nil && len(rest) > 0:
		err = fmt.Errorf("unexpected argument %s", rest[0])
	}
	if err != nil {
		return errors.Join(set.Err(), err)
	}
	set.ReadEnvironment(os.LookupEnv)
	var loaded error
	if l, ok := target.(Loader); ok {
		loaded = l.Load(set)
	}
	err = errors.Join(set.Err(), loaded)
	if v, ok := target.(Validator); ok {
		err = errors.Join(err, v.Validate())
	}
	return err
}

// NewRoot returns a command for the commands of a program. about says what the program does, long describes it.
// version is what --version prints.
func NewRoot(name, about, long, version string) *cobra.Command {
	root := &cobra.Command{Use: name, Short: about, Long: long, SilenceErrors: true, SilenceUsage: true}
	showVersion := root.Flags().Bool("version", false, "Print the version.")
	root.Flags().BoolP("help", "h", false, "Print this help.")
	root.Args = cobra.ArbitraryArgs // RunE suggests commands
	root.RunE = func(c *cobra.Command, args []string) error {
		if *showVersion {
			_, err := fmt.Fprintln(c.OutOrStdout(), version)
			return err
		}
		return helpOf(c, args)
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return &UsageError{flagError(c, err)} })
	root.SetHelpFunc(printHelp)
	root.SetUsageFunc(func(c *cobra.Command) error { return printUsage(c, "", &settings.Set{}) })
	return root
}

// helpOf prints the help of a command that has commands. A word is an unknown command.
func helpOf(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &UsageError{unknownCommand(c, args[0])}
	}
	return c.Help()
}

// Execute runs the command that args select. It returns the command with its error. "help COMMAND" is "COMMAND --help".
func Execute(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) (*cobra.Command, error) {
	root.SetOut(stdout)
	root.SetErr(stderr)
	if len(args) > 0 && args[0] == "help" {
		if of, _, err := root.Find(args[1:]); len(args) > 1 && (err != nil || of == root) {
			return root, &UsageError{unknownCommand(root, args[1])}
		}
		args = append(args[1:len(args):len(args)], "--help")
	}
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		registerCompletions(root)
	}
	root.InitDefaultCompletionCmd(args...)
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			c.Short, c.Args, c.RunE = "Print a completion script for a shell.", root.Args, helpOf
		case "help":
			c.Short = "Print the help of a command."
		}
	}
	root.SetArgs(append([]string{}, args...)) // nil would be os.Args
	return root.ExecuteContextC(ctx)
}

// Hint returns the line that follows a UsageError of a command, or "" for other errors.
func Hint(c *cobra.Command, err error) string {
	if !errors.As(err, new(*UsageError)) {
		return ""
	}
	return fmt.Sprintf("Run \"%s --help\" for usage.\n", strings.TrimSpace(c.CommandPath()))
}
