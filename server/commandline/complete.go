package commandline

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/crdeval/crdeval/server/settings"
)

// completeWith makes a command complete its arguments.
func completeWith(c *cobra.Command, set *settings.Set) {
	c.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		n := min(len(args), len(set.Arguments)-1) // the last one can be a list
		if n < 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		a := set.Arguments[n]
		switch {
		case a.Enum != nil && n < len(args):
			return nil, cobra.ShellCompDirectiveNoFileComp
		case a.Enum != nil:
			return a.Enum, cobra.ShellCompDirectiveNoFileComp
		case a.Extensions != nil:
			return a.Extensions, cobra.ShellCompDirectiveFilterFileExt
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// registerCompletions makes the flags of all commands complete their values. cobra keeps the functions in a variable, so
// that only a process that completes calls it.
func registerCompletions(root *cobra.Command) {
	for _, c := range root.Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if o, ok := f.Value.(*settings.Setting); ok {
				_ = c.RegisterFlagCompletionFunc(f.Name, completionOf(o)) // it fails only if it is called again
			}
		})
	}
}

// completionOf returns the function that completes the value of a flag.
func completionOf(o *settings.Setting) cobra.CompletionFunc {
	values, directive := o.Enum, cobra.ShellCompDirectiveNoFileComp
	switch {
	case o.Enum != nil:
	case o.Extensions != nil:
		values, directive = o.Extensions, cobra.ShellCompDirectiveFilterFileExt
	case o.Placeholder == "DIR":
		directive = cobra.ShellCompDirectiveFilterDirs
	case o.Placeholder == "FILE":
		directive = cobra.ShellCompDirectiveDefault
	}
	return cobra.FixedCompletions(values, directive)
}
