package commandline

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/crdeval/crdeval/server/settings"
)

// width is the number of columns of the help.
const width = 80

// printHelp prints the description and the usage of a command.
func printHelp(c *cobra.Command, _ []string) {
	out := c.OutOrStdout()
	fmt.Fprintln(out, wrap(cmp.Or(c.Long, c.Short), 0))
	fmt.Fprintln(out)
	_ = c.UsageFunc()(c) // a failed write is reported by the writer
}

// printUsage prints how a command is called, with its arguments, commands and flags.
func printUsage(c *cobra.Command, prefix string, set *settings.Set) error {
	out := c.OutOrStdout()
	line := c.UseLine()
	if c.HasAvailableSubCommands() {
		line = c.CommandPath() + " COMMAND [flags]"
	}
	fmt.Fprintf(out, "Usage:\n  %s\n", line)
	if len(set.Arguments) > 0 {
		fmt.Fprint(out, "\nArguments:\n")
		for _, a := range set.Arguments {
			printItem(out, a.Name, a.Help)
		}
	}
	if c.HasExample() {
		fmt.Fprintf(out, "\nExamples:\n%s\n", c.Example)
	}
	printCommands(out, c)
	printFlags(out, c)
	switch {
	case c.HasAvailableSubCommands():
		fmt.Fprintf(out, "\nRun \"%s COMMAND --help\" for the usage of a command.\n", c.CommandPath())
	case slices.ContainsFunc(set.Settings, func(o *settings.Setting) bool { return o.Variable != "" }):
		fmt.Fprintf(out, "\n%s\n", wrap(fmt.Sprintf("Environment variables set flags: %s and the name of the flag in capitals, such as %s.",
			prefix, exampleVariable(set)), 0))
	}
	return nil
}

// exampleVariable returns the variable of a flag, if possible one with a hyphen.
func exampleVariable(set *settings.Set) (name string) {
	for _, o := range set.Settings {
		if o.Variable != "" && (name == "" || strings.Contains(o.Name, "-")) {
			name = o.Variable
			if strings.Contains(o.Name, "-") {
				break
			}
		}
	}
	return name
}

// printCommands prints the commands of c by group.
func printCommands(out io.Writer, c *cobra.Command) {
	for _, g := range append(slices.Clone(c.Groups()), &cobra.Group{Title: "Commands"}) {
		first := true
		for _, of := range c.Commands() {
			if of.Hidden || of.GroupID != g.ID {
				continue
			}
			if first {
				fmt.Fprintf(out, "\n%s:\n", g.Title)
			}
			first = false
			printItem(out, of.Name(), of.Short)
		}
	}
}

// printFlags prints the flags of c by group.
func printFlags(out io.Writer, c *cobra.Command) {
	groups, order := map[string]*pflag.FlagSet{}, []string{""}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		name := ""
		if o, ok := f.Value.(*settings.Setting); ok {
			name = o.Group
		}
		if groups[name] == nil {
			groups[name] = pflag.NewFlagSet("", pflag.ContinueOnError)
			groups[name].SortFlags = false
			if name != "" {
				order = append(order, name)
			}
		}
		groups[name].AddFlag(f)
	})
	for _, name := range order {
		title := "Flags"
		if name != "" {
			title = name + " flags"
		}
		if group := groups[name]; group != nil && group.HasAvailableFlags() {
			fmt.Fprintf(out, "\n%s:\n%s", title, group.FlagUsagesWrapped(width))
		}
	}
}

// printItem prints a name and its description.
func printItem(out io.Writer, name, text string) {
	const indent = 14
	lines := wrap(text, indent)
	if len(name)+3 > indent {
		fmt.Fprintf(out, "  %s\n%*s%s\n", name, indent, "", lines)
		return
	}
	fmt.Fprintf(out, "  %-*s%s\n", indent-2, name, lines)
}

// wrap breaks the lines of a text before the width. It indents further lines. Lines that begin with a space stay as they
// are.
func wrap(text string, indent int) string {
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if i > 0 {
			fmt.Fprintf(&b, "\n%*s", indent, "")
		}
		if strings.HasPrefix(line, " ") {
			b.WriteString(line)
			continue
		}
		column := indent
		for j, word := range strings.Fields(line) {
			switch {
			case j == 0:
			case column+1+len(word) > width:
				fmt.Fprintf(&b, "\n%*s", indent, "")
				column = indent
			default:
				b.WriteByte(' ')
				column++
			}
			b.WriteString(word)
			column += len(word)
		}
	}
	return b.String()
}
