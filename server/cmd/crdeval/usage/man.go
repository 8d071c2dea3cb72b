package usage

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// WriteMan writes the manual page of all commands.
func WriteMan(w io.Writer, app *kong.Application, version string) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH CRDEVAL 1 \"\" \"crdeval %s\" \"User Commands\"\n", roff(version))
	fmt.Fprintf(&b, ".SH NAME\ncrdeval \\- evaluate CustomResourceDefinitions and their objects as a Kubernetes API server does\n")
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B crdeval\n.I command\n.RI [ flags ]\n")
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n.PP\nEach command prints its usage with\n.BR \\-\\-help .\n", roff(app.Help))
	fmt.Fprintf(&b, ".SH COMMANDS\n")
	for _, n := range app.Children {
		if !n.Hidden {
			manNode(&b, n)
		}
	}
	fmt.Fprintf(&b, ".SH ENVIRONMENT\nA flag can be set by an environment variable:\n.B CRDEVAL_\nand the name of the flag in capitals, "+
		"such as\n.BR CRDEVAL_FIELD_VALIDATION .\n")
	fmt.Fprintf(&b, ".SH FILES\n.TP\n.I .crdeval.yaml\nSettings of\n.BR check ,\n.B admit\nand\n.BR lsp .\n")
	fmt.Fprintf(&b, ".SH EXIT STATUS\n.TP\n.B 0\nSuccess.\n.TP\n.B 1\nA negative result, such as a rejected object.\n"+
		".TP\n.B 2\nWrong usage, unreadable input, or a failed call.\n")
	fmt.Fprintf(&b, ".SH SEE ALSO\n.BR kubectl (1)\n")
	_, err := w.Write(b.Bytes())
	return err
}

// manNode prints the section of a command.
func manNode(b *bytes.Buffer, n *kong.Node) {
	fmt.Fprintf(b, ".SS %s\n.B crdeval %[1]s\n.RI [ flags ]\n", roff(n.Name))
	for _, p := range n.Positional {
		fmt.Fprintf(b, ".RI [ %s ]\n", roff(p.Name))
	}
	fmt.Fprintf(b, ".PP\n%s\n", roff(n.Help))
	for paragraph := range strings.SplitSeq(strings.TrimSpace(n.Detail), "\n\n") {
		if strings.HasPrefix(paragraph, "  ") {
			fmt.Fprintf(b, ".PP\n.nf\n%s\n.fi\n", roff(paragraph))
		} else if paragraph != "" {
			fmt.Fprintf(b, ".PP\n%s\n", roff(paragraph))
		}
	}
	for _, p := range n.Positional {
		fmt.Fprintf(b, ".TP\n.I %s\n%s\n", roff(p.Name), roff(p.Help))
	}
	for _, f := range n.Flags {
		if !f.Hidden && f.Name != "help" {
			fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(f.String()), roff(f.Help))
		}
	}
}

// roff escapes a text for a line of its own.
func roff(text string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text), "\n") {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = `\&` + line
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
