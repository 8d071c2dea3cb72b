package commandline

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// WriteManPage writes the manual page of a command. source is the name of the program and its version. The texts of the
// command cannot be used afterwards.
func WriteManPage(w io.Writer, c *cobra.Command, source string) error {
	escapeMarkdown(c.Root())
	return doc.GenMan(c, header(source), w)
}

// WriteManPages writes the manual pages of a command and of its commands to a directory. See WriteManPage.
func WriteManPages(dir string, c *cobra.Command, source string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	escapeMarkdown(c)
	return doc.GenManTree(c, header(source), dir)
}

func header(source string) *doc.GenManHeader {
	return &doc.GenManHeader{Section: "1", Source: source, Manual: "User Commands"}
}

// escapeMarkdown escapes the texts of all commands, because package doc reads them as Markdown. It adds the arguments to
// the description, and the names of values to flags without a default.
func escapeMarkdown(c *cobra.Command) {
	c.DisableAutoGenTag = true
	c.Long = escapeParagraphs(strings.TrimSpace(c.Long + "\n\n" + c.Annotations[arguments]))
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.DefValue == "" {
			f.DefValue = f.Value.Type()
		}
		f.Usage, f.DefValue = markdown.Replace(f.Usage), markdown.Replace(f.DefValue)
	})
	for _, of := range c.Commands() {
		escapeMarkdown(of)
	}
}

// markdown escapes the characters that have a meaning in Markdown.
var markdown = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", `\<`, "[", `\[`, "]", `\]`, "`", "\\`", "#", `\#`)

// escapeParagraphs escapes the paragraphs of a text. Indented paragraphs are examples, which become code.
func escapeParagraphs(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if strings.HasPrefix(p, "  ") {
			paragraphs[i] = "```\n" + p + "\n```"
		} else {
			paragraphs[i] = markdown.Replace(p)
		}
	}
	return strings.Join(paragraphs, "\n\n")
}
