package commandline

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/crdeval/crdeval/server/settings"
)

// unknownCommand returns the error for a word that is no command.
func unknownCommand(root *cobra.Command, word string) error {
	return fmt.Errorf("unknown command %s%s", word, didYouMean(root, word, ""))
}

// flagError returns an error of pflag in our words, with the flag, what it accepts, or a similar flag.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return fmt.Errorf("unknown flag -%s", unknown.GetSpecifiedName()[:1])
	case errors.As(err, &unknown):
		flags := &cobra.Command{SuggestionsMinimumDistance: c.SuggestionsMinimumDistance}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				flags.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
			}
		})
		return fmt.Errorf("unknown flag --%s%s", unknown.GetSpecifiedName(), didYouMean(flags, unknown.GetSpecifiedName(), "--"))
	case errors.As(err, &missing):
		f := missing.GetFlag()
		if o, ok := f.Value.(*settings.Setting); ok && o.Enum != nil {
			return fmt.Errorf("--%s has no value: use %s", f.Name, o.Accepted())
		}
		return fmt.Errorf("--%s has no value", f.Name)
	}
	return err
}

// didYouMean returns a suggestion of a child of c for a word, or "". cobra compares words of commands only, so that the
// flags of a command are given as the children of another.
func didYouMean(c *cobra.Command, word, prefix string) string {
	if c.SuggestionsMinimumDistance <= 0 {
		c.SuggestionsMinimumDistance = 2
	}
	similar := c.SuggestionsFor(word)
	if len(similar) == 0 {
		return ""
	}
	for i := range similar {
		similar[i] = fmt.Sprintf("%q", prefix+similar[i])
	}
	return ", did you mean " + strings.Join(similar, " or ") + "?"
}
