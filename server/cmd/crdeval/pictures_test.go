package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/crdeval/crdeval/server/cmd/crdeval/terminal"
)

var updatePictures = flag.Bool("update-pictures", false, "draw docs/images again; review the changes before the commit")

// TestPictures compares docs/images with pictures of the outputs for the samples. -update-pictures draws them again.
func TestPictures(t *testing.T) {
	images, err := filepath.Abs("../../../docs/images")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../../..")
	summary := filepath.Join(t.TempDir(), "summary.md")
	output := func(args string) string {
		t.Helper()
		code, stdout, stderr := invoke(t, "", strings.Fields(args)...)
		if code != exitRejected {
			t.Fatalf("%s: exit code %d %s", args, code, stderr)
		}
		return stdout
	}
	const samples = "admit --crds deploy/samples/crds deploy/samples/objects/crontab-rejected.yaml deploy/samples/objects/crontab-valid.yaml"
	annotations := output(samples + " -o github --summary " + summary)
	text, err := os.ReadFile(summary)
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("deploy/samples/objects/crontab-rejected.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("CLICOLOR_FORCE", "1")
	for name, lines := range map[string][]string{
		"terminal":    append([]string{"$ crdeval " + samples}, strings.Split(output(samples), "\n")...),
		"annotations": annotated(string(source), annotations),
		"summary":     tableOf(string(text)),
		"sarif":       alerts(t, output(samples+" -o sarif")),
	} {
		file, got := filepath.Join(images, "ci-"+name+".svg"), drawing(lines)
		if *updatePictures {
			if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || string(want) != got {
			t.Errorf("%s is not up to date: run go test ./server/cmd/crdeval -run Pictures -update-pictures (%v)", file, err)
		}
	}
}

// inColor returns a text with the codes of a colour.
func inColor(color, text string) string { return "\x1b[" + color + "m" + text + "\x1b[0m" }

// annotated returns the lines of a file with the annotations below their lines.
func annotated(source, commands string) (lines []string) {
	command := regexp.MustCompile(`(?m)^::(\w+) file=[^,]*,line=(\d+),col=\d+,title=([^:]*)::(.*)$`)
	at := map[string][][]string{}
	for _, m := range command.FindAllStringSubmatch(commands, -1) {
		at[m[2]] = append(at[m[2]], m)
	}
	for i, line := range strings.Split(strings.TrimSpace(source), "\n") {
		number := fmt.Sprint(i + 1)
		lines = append(lines, fmt.Sprintf("%4s  %s", number, line))
		for _, m := range at[number] {
			lines = append(lines, "      "+inColor(terminal.Red, m[1]+": ")+m[3], "        "+m[4])
		}
	}
	return lines
}

// tableOf returns the lines of a summary without the markup of its table.
func tableOf(markdown string) (lines []string) {
	unescaped := strings.NewReplacer("&lt;", "<", "&gt;", ">", `\*`, "*", `\_`, "_", `\[`, "[", `\]`, "]", `\|`, "|", `\\`, `\`, "`", "")
	for line := range strings.Lines(markdown) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "|---"):
			continue
		case strings.HasPrefix(line, "### "):
			line = inColor("1", line[4:])
		case strings.HasPrefix(line, "| "):
			cells := regexp.MustCompile(` \| `).Split(strings.Trim(line, "| "), 4)
			line = fmt.Sprintf("%-7s %-55s %-22s %s", unescaped.Replace(cells[0]), unescaped.Replace(cells[1]), cells[2], unescaped.Replace(cells[3]))
		}
		lines = append(lines, line)
	}
	return lines
}

// alerts returns the results of a SARIF log as code scanning lists them: message, rule and position.
func alerts(t *testing.T, log string) (lines []string) {
	var of struct {
		Runs []struct {
			Results []struct {
				RuleID, Level string
				Message       struct{ Text string }
				Locations     []struct {
					Physical struct {
						Artifact struct{ URI string } `json:"artifactLocation"`
						Region   struct{ StartLine int }
					} `json:"physicalLocation"`
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(log), &of); err != nil {
		t.Fatal(err)
	}
	for _, r := range of.Runs[0].Results {
		at := r.Locations[0].Physical
		lines = append(lines, inColor(terminal.Red, "● ")+r.Message.Text,
			inColor(terminal.Cyan, "  "+r.Level+"  "+r.RuleID+"  ")+fmt.Sprintf("%s:%d", at.Artifact.URI, at.Region.StartLine), "")
	}
	return lines
}

// columns is the number of characters of a line in a picture.
const columns = 120

// drawing returns lines as an SVG image with text. Long lines are wrapped. Escape codes become colours.
func drawing(lines []string) string {
	colors := map[string]string{terminal.Red: "#ff7b72", terminal.Green: "#7ee787", terminal.Yellow: "#e3b341", terminal.Cyan: "#79c0ff", "1": "#ffffff"}
	escape := regexp.MustCompile("\x1b\\[(\\d+)m(.*?)\x1b\\[0m")
	var rows []string
	for _, line := range lines {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		for {
			limit := columns
			for _, m := range escape.FindAllString(line, -1) {
				limit += utf8.RuneCountInString(m) - utf8.RuneCountInString(escape.ReplaceAllString(m, "$2"))
			}
			runes := []rune(line)
			if len(runes) <= limit {
				rows = append(rows, line)
				break
			}
			cut := max(len(string(runes[:limit/2])), strings.LastIndex(string(runes[:limit]), " "))
			rows = append(rows, line[:cut])
			line = strings.Repeat(" ", indent+4) + strings.TrimLeft(line[cut:], " ")
		}
	}
	for len(rows) > 0 && rows[len(rows)-1] == "" {
		rows = rows[:len(rows)-1]
	}
	const width, height, margin = 8, 18, 16
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d">`+"\n",
		columns*width+2*margin, len(rows)*height+2*margin)
	b.WriteString(`<rect width="100%" height="100%" rx="6" fill="#0d1117"/>` + "\n")
	b.WriteString(`<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13" fill="#e6edf3" xml:space="preserve">` + "\n")
	for i, row := range rows {
		text := escape.ReplaceAllStringFunc(html.EscapeString(row), func(m string) string {
			part := escape.FindStringSubmatch(m)
			return fmt.Sprintf(`<tspan fill="%s">%s</tspan>`, colors[part[1]], part[2])
		})
		fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text>`+"\n", margin, margin+(i+1)*height-4, text)
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}
