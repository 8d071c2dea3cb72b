package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
)

// TestDoors runs the cases in testdata/doors through every door of crdeval. All doors must report the same findings, with
// the same ranges and hints. The file table.txt shows how many findings each door reports for each case.
//
// A case is a txtar archive. Its comment has a title, and lines with options:
//
//	object: FILE    the file that is opened; default: object.yaml
//	crds: FILE      a file for --crds; the services register only this one; default: all other files
//	DOOR: REASON    the door does not apply, or with a file want-DOOR, reports these findings instead of those in want
//
// The other files are the workspace. A file crd.yaml is added if the archive has none. The file json is the object for the
// door json, if converting it to JSON would lose what the case is about. The file want has a line for each finding:
// SEVERITY POSITION RANGE TYPE POINTER TEXT | HINT. The door json is compared with the places of these values in its body.
func TestDoors(t *testing.T) {
	paths, err := filepath.Glob("testdata/doors/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal(err, paths)
	}
	shared, err := os.ReadFile("testdata/doors/crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	table := &doorTable{socket: serveForDoors(t)}
	for i, path := range paths {
		c := readDoorCase(t, path, shared)
		c.catalog, c.socket = fmt.Sprintf("case%d", i), table.socket
		t.Run(c.name, func(t *testing.T) { table.row(t, c) })
	}
	const name = "testdata/doors/table.txt"
	if *update {
		err = os.WriteFile(name, table.text(), 0o600)
	} else if want, e := os.ReadFile(name); e != nil || !bytes.Equal(want, table.text()) {
		t.Errorf("%s differs (-update updates it): %v\n%s", name, e, table.text())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// door is a way to evaluate a file.
type door struct {
	name string
	// lacks lists the columns of a finding that the door does not report, and lacksForErrors those that it does not report
	// for a document that could not be evaluated.
	lacks, lacksForErrors string
	run                   func(*testing.T, *doorCase) []doorFinding
}

// doors are the columns of the table.
var doors = []door{
	{"admit", "range", "range", admitDoor},
	{"test", "severity column range hint", "severity column range hint", testDoor},
	{"lsp", "position pointer sentence", "position pointer sentence", lspDoor},
	{"playground", "position", "position type pointer", playgroundDoor},
	{"json", "range", "range pointer", jsonDoor},
	{"yaml", "range", "range pointer", yamlDoor},
	{"go", "range", "range pointer", goDoor},
}

// doorFinding is a finding as the doors have it in common.
type doorFinding struct {
	severity string // error, warning, info
	at       string // LINE:COLUMN, "-" if unknown
	place    string // LINE:COLUMN-LINE:COLUMN
	kind     string
	pointer  string // "-" for the whole document
	text     string // field and message
	hint     string
}

func (f *doorFinding) String() string {
	line := strings.Join([]string{f.severity, f.at, f.place, f.kind, f.pointer, f.text}, " ")
	if f.hint != "" {
		line += " | " + f.hint
	}
	return line
}

func parseDoorFinding(t *testing.T, line string) (f doorFinding) {
	t.Helper()
	parts := strings.SplitN(line, " ", 6)
	if len(parts) < 6 {
		t.Fatalf("a finding is SEVERITY POSITION RANGE TYPE POINTER TEXT | HINT: %q", line)
	}
	f = doorFinding{severity: parts[0], at: parts[1], place: parts[2], kind: parts[3], pointer: parts[4]}
	f.text, f.hint, _ = strings.Cut(parts[5], " | ")
	return f
}

// isError reports whether the document could not be evaluated.
func (f *doorFinding) isError() bool { return f.kind == "NotChecked" || f.kind == "SyntaxError" }

// without returns the finding without the columns that a door lacks.
func (f doorFinding) without(d *door) doorFinding {
	lacks := d.lacks
	if f.isError() || f.kind == "" {
		lacks = d.lacksForErrors
	}
	for column := range strings.FieldsSeq(lacks) {
		switch column {
		case "severity":
			f.severity = "·"
		case "position":
			f.at = "·"
		case "column":
			f.at, _, _ = strings.Cut(f.at, ":")
		case "range":
			f.place = "·"
		case "type":
			f.kind = "·"
		case "pointer":
			f.pointer = "·"
		case "hint":
			f.hint = ""
		case "sentence": // it has the text and the hint in one
			if f.hint != "" {
				f.text, f.hint = f.text+" ("+f.hint+")", ""
			}
		}
	}
	return f
}

// doorCase is a row of the table.
type doorCase struct {
	name, title, object, crds, catalog, socket, root, json string

	files   map[string]string
	reasons map[string]string        // by door
	want    map[string][]doorFinding // by door; "" are those of all others
	file    *workspace.File          // the object
	isCRD   bool
}

func readDoorCase(t *testing.T, path string, crd []byte) *doorCase {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := &doorCase{name: strings.TrimSuffix(filepath.Base(path), ".txtar"), object: "object.yaml", root: t.TempDir(),
		files: map[string]string{}, reasons: map[string]string{}, want: map[string][]doorFinding{}}
	title, options, _ := strings.Cut(string(archive.Comment), "\n")
	c.title = title
	for line := range strings.Lines(options) {
		key, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch isDoor := slices.ContainsFunc(doors, func(d door) bool { return d.name == key }); {
		case strings.TrimSpace(line) == "":
		case key == "object":
			c.object = text
		case key == "crds":
			c.crds = text
		case isDoor && len(strings.Fields(text)) >= 3:
			c.reasons[key] = text
		default:
			t.Fatalf("%s: %q is no option with a reason", path, line)
		}
	}
	hasCRD := false
	for _, f := range archive.Files {
		if of, isWant := strings.CutPrefix(f.Name, "want"); isWant {
			of = strings.TrimPrefix(of, "-")
			c.want[of] = []doorFinding{}
			for line := range strings.Lines(string(f.Data)) {
				c.want[of] = append(c.want[of], parseDoorFinding(t, strings.TrimSuffix(line, "\n")))
			}
			if of != "" && c.reasons[of] == "" {
				t.Fatalf("%s: %s needs a line with the reason", path, f.Name)
			}
			continue
		}
		if f.Name == "json" {
			c.json = strings.TrimSuffix(string(f.Data), "\n")
			continue
		}
		c.files[f.Name] = string(f.Data)
		hasCRD = hasCRD || strings.Contains(string(f.Data), "kind: CustomResourceDefinition")
	}
	if !hasCRD {
		c.files["crd.yaml"] = string(crd)
	}
	for name, text := range c.files {
		file := filepath.Join(c.root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.file = workspace.Parse(workspace.Source{Name: c.object, Path: c.object}, []byte(c.files[c.object]), 0)
	c.isCRD = len(c.file.CRDs) > 0
	return c
}

// doorTable is the table of results.
type doorTable struct {
	socket string
	rows   []string
	notes  []string

	same, differing, notRun int // cells
}

// row runs a case through all doors, and adds it to the table.
func (table *doorTable) row(t *testing.T, c *doorCase) {
	cells := []string{fmt.Sprintf("%-44s", c.title)}
	for i := range doors {
		d := &doors[i]
		reason := c.reasons[d.name]
		_, differs := c.want[d.name]
		mark := ""
		if reason != "" {
			k := slices.Index(table.notes, reason)
			if k < 0 {
				k = len(table.notes)
				table.notes = append(table.notes, reason)
			}
			mark = fmt.Sprintf("[%d]", k+1)
		}
		if reason != "" && !differs {
			cells = append(cells, fmt.Sprintf("%-11s", mark))
			table.notRun++
			continue
		}
		if differs {
			table.differing++
		} else {
			table.same++
		}
		got := d.run(t, c)
		compareDoor(t, d, c.expected(d), got)
		cells = append(cells, fmt.Sprintf("%-11s", fmt.Sprint(len(got))+mark))
	}
	table.rows = append(table.rows, strings.TrimRight(strings.Join(cells, " "), " "))
}

func compareDoor(t *testing.T, d *door, want, got []doorFinding) {
	t.Helper()
	lines := func(list []doorFinding) (all []string) {
		for _, f := range list {
			f = f.without(d)
			all = append(all, f.String())
		}
		slices.Sort(all)
		return all
	}
	if w, g := lines(want), lines(got); !slices.Equal(w, g) {
		t.Errorf("%s reports\n  %s\nwant\n  %s", d.name, strings.Join(g, "\n  "), strings.Join(w, "\n  "))
	}
}

// text returns the table with the reasons.
func (table *doorTable) text() []byte {
	var b bytes.Buffer
	b.WriteString("The number of findings that each door reports for each case of TestDoors. The cases in this folder have the\n" +
		"findings. All doors of a row report the same ones, except where a note says why a door does not apply or differs.\n\n")
	heads := []string{fmt.Sprintf("%-44s", "case")}
	for _, d := range doors {
		heads = append(heads, fmt.Sprintf("%-11s", d.name))
	}
	fmt.Fprintln(&b, strings.TrimRight(strings.Join(heads, " "), " "))
	for _, row := range table.rows {
		fmt.Fprintln(&b, row)
	}
	b.WriteByte('\n')
	for i, note := range table.notes {
		fmt.Fprintf(&b, "[%d] %s\n", i+1, note)
	}
	b.WriteString("\nColumns that a door does not report, and that are not compared:\n")
	for _, d := range doors {
		lacks := strings.TrimSuffix(d.lacks, " sentence")
		fmt.Fprintf(&b, "%-11s %s\n", d.name, strings.ReplaceAll(lacks, " ", ", "))
		if more := strings.TrimSpace(strings.TrimPrefix(d.lacksForErrors, d.lacks)); more != "" {
			fmt.Fprintf(&b, "%-11s also %s, if the document could not be evaluated\n", "", strings.ReplaceAll(more, " ", ", "))
		}
	}
	fmt.Fprintf(&b, "\n%d cases, %d cells: %d with the same findings, %d with other findings, %d not run.\n",
		len(table.rows), len(table.rows)*len(doors), table.same, table.differing, table.notRun)
	return b.Bytes()
}

// expected returns the findings that a door must report.
func (c *doorCase) expected(d *door) (want []doorFinding) {
	want, differs := c.want[d.name]
	if !differs {
		want = c.want[""]
	}
	want = slices.Clone(want)
	for i := range want {
		if want[i].text = strings.ReplaceAll(want[i].text, "CATALOG", c.catalog); d.name == "json" {
			c.placeInJSON(&want[i])
		}
	}
	return want
}

// manifestAt returns the index of the manifest at a position of the file.
func (c *doorCase) manifestAt(at string) (index int) {
	var line, column int
	_, _ = fmt.Sscanf(at, "%d:%d", &line, &column)
	for i, m := range c.file.Manifests {
		if s := m.Start(); s.Line < line || s.Line == line && s.Column <= column {
			index = i
		}
	}
	return index
}

func doorPosition(p *engine.Position) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprintf("%d:%d", p.Line, p.Column)
}
