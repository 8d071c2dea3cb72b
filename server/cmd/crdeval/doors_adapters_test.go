package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	sigsyaml "sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/editor/playground/page"
)

// admitDoor is crdeval admit, or crdeval check for a CRD. It reads SARIF, and checks that the text has the same findings.
func admitDoor(t *testing.T, c *doorCase) (list []doorFinding) {
	t.Helper()
	t.Chdir(c.root)
	args := []string{"admit", "--repository", "."}
	if c.crds != "" {
		args = append(args, "--crds", c.crds)
	}
	if c.isCRD {
		args = []string{"check", c.object}
	}
	_, sarif, _ := invoke(t, "", append(args, "-o", "sarif")...)
	_, text, _ := invoke(t, "", args...)
	var log struct {
		Runs []struct {
			Results []struct {
				RuleID, Level string
				Message       struct{ Text string }
				Locations     []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine, StartColumn int }
					}
				}
				Properties struct{ Pointer, Hint string }
			}
		}
	}
	decodeDoor(t, []byte(sarif), &log)
	for _, r := range log.Runs[0].Results {
		at := r.Locations[0].PhysicalLocation
		if name := filepath.ToSlash(at.ArtifactLocation.URI); name != c.object && !strings.HasSuffix(name, "/"+c.object) {
			continue
		}
		f := doorFinding{
			severity: map[string]string{"error": "error", "warning": "warning", "note": "info"}[r.Level], kind: r.RuleID,
			at: fmt.Sprintf("%d:%d", at.Region.StartLine, at.Region.StartColumn), pointer: cmp.Or(r.Properties.Pointer, "-"),
			hint: r.Properties.Hint,
		}
		if at.Region.StartColumn == 0 {
			f.at = "-"
		}
		_, f.text, _ = strings.Cut(r.Message.Text, ": ") // the title of the document
		f.text = strings.TrimSuffix(f.text, " ("+f.hint+")")
		said, _, _ := strings.Cut(f.text, " (with the CRD in ")
		ofKind := f.kind == "SeveralCRDs" || f.kind == "NotChecked" // the text has one line for all such objects
		if !ofKind && (!strings.Contains(text, said) || !strings.Contains(text, f.hint) ||
			!f.isError() && !strings.Contains(text, c.object+":"+f.at+": ")) {
			t.Errorf("the text has no %v:\n%s", f, text)
		}
		list = append(list, f)
	}
	return list
}

// decodeDoor decodes the answer of a door.
func decodeDoor(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

// testDoor is crdeval test with a suite that expects the findings, and one that does not expect them and prints them.
func testDoor(t *testing.T, c *doorCase) (list []doorFinding) {
	t.Helper()
	t.Chdir(c.root)
	var head, object strings.Builder
	head.WriteString("crds: [")
	for _, name := range c.crdFiles() {
		fmt.Fprintf(&head, "%s, ", name)
	}
	head.WriteString("]\n")
	for line := range strings.Lines(c.files[c.object]) {
		if strings.TrimSpace(line) != "" {
			line = "    " + line
		}
		object.WriteString(line)
	}
	right, wrong, causes := "allowed", "rejected", []string{}
	for _, f := range c.want[""] {
		if f.severity == "error" {
			right, wrong = "rejected", "allowed"
		}
		if field, message, _ := strings.Cut(f.text, ": "); strings.HasPrefix(f.kind, "FieldValue") {
			causes = append(causes, fmt.Sprintf("{field: %q, type: %s, message: %q}", field, f.kind, message))
		}
	}
	strict := slices.ContainsFunc(c.want[""], func(f doorFinding) bool { return f.kind == engine.TypeUnknownField })
	expect := right + "\n  warnings: []"
	switch {
	case strict: // the rejection has no causes
		expect = right + "\n  causes: []"
	case right == "rejected":
		expect = right + "\n  causes: [" + strings.Join(causes, ", ") + "]"
	}
	for name, expect := range map[string]string{"wrong.yaml": wrong, "right.yaml": expect} {
		text := head.String() + "tests:\n- name: a\n  object:\n" + object.String() + "  expect: " + expect + "\n"
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code, stdout, stderr := invoke(t, "", "test", "right.yaml"); code != 0 {
		t.Errorf("test: the suite that expects the findings: exit code %d: %s%s", code, stdout, stderr)
	}
	_, stdout, _ := invoke(t, "", "test", "wrong.yaml", "-o", "json")
	var result struct {
		Violations []struct {
			Line                          int
			Type, Field, Message, Pointer string
		}
		Error string
	}
	decodeDoor(t, []byte(stdout), &result)
	if result.Error != "" {
		t.Errorf("test: error: %s", result.Error)
	}
	for _, v := range result.Violations {
		list = append(list, doorFinding{kind: v.Type, pointer: cmp.Or(v.Pointer, "-"), at: fmt.Sprintf("%d:1", v.Line-suiteHead),
			text: fieldAnd(v.Field, v.Message)})
	}
	return list
}

// suiteHead is the number of lines before the object in a suite of testDoor.
const suiteHead = 4

// fieldAnd returns a field and a message as an API server prints them.
func fieldAnd(field, message string) string {
	if field == "" {
		return message
	}
	return field + ": " + message
}

// crdFiles returns the files with CRDs or their fragments: that of --crds, or all.
func (c *doorCase) crdFiles() (names []string) {
	for name := range c.files {
		if c.crds == name || c.crds == "" && name != c.object && strings.Contains(c.files[name], "kind: CustomResourceDefinition") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// lspDoor is crdeval lsp. Its positions count UTF-16 code units from 0.
func lspDoor(t *testing.T, c *doorCase) (list []doorFinding) {
	t.Helper()
	text := c.files[c.object]
	uri := "file://" + filepath.ToSlash(c.root)
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	var in bytes.Buffer
	for _, m := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"rootUri":"` + uri + `","capabilities":{}}}`,
		`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"` + uri + "/" + c.object +
			`","languageId":"yaml","version":1,"text":` + string(quoted) + `}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"textDocument/documentSymbol","params":{"textDocument":{"uri":"` + uri + "/" +
			c.object + `"}}}`,
	} {
		fmt.Fprintf(&in, "Content-Length: %d\r\n\r\n%s", len(m), m)
	}
	args := []string{"lsp", "--stdio"}
	if c.crds != "" {
		args = append(args, "--crds", filepath.Join(c.root, c.crds))
	}
	out := runLSP(t, &in, args)
	_, published, _ := strings.Cut(out, `"diagnostics":`)
	type position struct{ Line, Character int }
	var diagnostics []struct {
		Range         struct{ Start, End position }
		Severity      int
		Code, Message string
	}
	if err := json.NewDecoder(strings.NewReader(published)).Decode(&diagnostics); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(text, "\n")
	place := func(p position) string {
		column := 1
		for units := 0; units < p.Character; column++ {
			r := []rune(lines[p.Line])[column-1]
			units += utf16.RuneLen(r)
		}
		return fmt.Sprintf("%d:%d", p.Line+1, column)
	}
	for _, d := range diagnostics {
		f := doorFinding{severity: []string{"", "error", "warning", "info"}[d.Severity], kind: d.Code,
			place: place(d.Range.Start) + "-" + place(d.Range.End)}
		f.text = d.Message // with the hint
		list = append(list, f)
	}
	return list
}

// playgroundDoor is the report of the playground.
func playgroundDoor(t *testing.T, c *doorCase) (list []doorFinding) {
	t.Helper()
	in := page.Input{CRD: c.files[c.object]}
	if !c.isCRD {
		in = page.Input{CRD: c.files[c.crdFiles()[0]], Object: c.files[c.object]}
	}
	r := new(page.Evaluator).Evaluate(t.Context(), in)
	place := func(r *page.Range) string {
		if r == nil {
			return "-"
		}
		return fmt.Sprintf("%d:%d-%d:%d", r.Start.Line, r.Start.Column, r.End.Line, r.End.Column)
	}
	for _, e := range r.Errors {
		list = append(list, doorFinding{severity: "error", place: place(e.Range), text: e.Message})
	}
	violations, warnings := []page.Violation(nil), []page.Warning(nil)
	switch {
	case c.isCRD && r.CRD != nil:
		violations, warnings = r.CRD.Violations, r.CRD.Warnings
	case r.Object != nil:
		violations, warnings = r.Object.Violations, r.Object.Warnings
	}
	for _, v := range violations {
		list = append(list, doorFinding{severity: v.Severity, place: place(v.Range), kind: v.Type, pointer: cmp.Or(v.Pointer, "-"),
			text: fieldAnd(v.Field, v.Message), hint: v.Hint})
	}
	for _, w := range warnings {
		list = append(list, doorFinding{severity: w.Severity, place: place(w.Range), kind: w.Type, pointer: "-", text: w.Message, hint: w.Hint})
	}
	return list
}

// goDoor is the Go library: packages workspace and engine.
func goDoor(t *testing.T, c *doorCase) (list []doorFinding) {
	t.Helper()
	ctx, all := t.Context(), &workspace.Workspace{}
	for name, text := range c.files {
		f := workspace.Parse(workspace.Source{Name: name, Path: name}, []byte(text), 0)
		f.Given = name == c.crds
		all.Set(f)
	}
	for _, m := range c.file.Manifests {
		for i := range m.Warnings {
			list = append(list, ofEngineWarning(&m.Warnings[i]))
		}
		switch all.Classify(m) {
		case workspace.ClassUnreadable:
			list = append(list, ofEngineError(m.Err))
		case workspace.ClassCRD:
			r, err := engine.Check(ctx, m.Document, engine.Options{FieldValidation: engine.FieldValidationStrict})
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, ofEngine(r.Violations, r.Next, r.Warnings)...)
		case workspace.ClassObject, workspace.ClassWithoutCRD:
			answers := all.Evaluate(ctx, m.APIVersion, m.Kind, m.Path(),
				func(_ *workspace.CRD, d *engine.Definition) (*engine.Verdict, error) {
					return d.Admit(ctx, engine.Create{Object: m.Document},
						engine.AdmitOptions{FieldValidation: engine.FieldValidationStrict, CompleteMetadata: true})
				})
			for _, a := range answers {
				if a.Err != nil {
					list = append(list, ofEngineError(a.Err))
					continue
				}
				list = append(list, ofEngine(a.Verdict.Violations, a.Verdict.Next, a.Verdict.Warnings)...)
			}
		}
	}
	return list
}

func ofEngine(violations, next []engine.Violation, warnings []engine.Warning) (list []doorFinding) {
	for _, of := range [][]engine.Violation{violations, next} {
		for i := range of {
			v := &of[i]
			f := doorFinding{severity: "error", at: doorPosition(v.Position), kind: v.Type, pointer: cmp.Or(v.Pointer, "-"), text: v.Error()}
			if v.Hint != nil {
				f.hint = v.Hint.Text
			}
			list = append(list, f)
		}
	}
	for i := range warnings {
		list = append(list, ofEngineWarning(&warnings[i]))
	}
	return list
}

func ofEngineWarning(w *engine.Warning) doorFinding {
	f := doorFinding{severity: "warning", at: doorPosition(w.Position), kind: w.Type, pointer: cmp.Or(w.Pointer, "-"), text: w.Text}
	if w.Hint != nil {
		f.hint = w.Hint.Text
	}
	return f
}

func ofEngineError(err error) doorFinding {
	f := doorFinding{severity: "error", at: "-", kind: "NotChecked", text: err.Error()}
	if e, ok := errors.AsType[*engine.Error](err); ok {
		f.at = doorPosition(e.Position)
		if len(e.Violations) > 0 {
			f.kind = e.Violations[0].Type
		}
	}
	return f
}

// restAnswer are the parts of an answer that have findings.
type restAnswer struct {
	Violations, Next, Warnings []struct {
		Type, Field, Message, Text, Pointer string
		Position                            *struct{ Line, Column int }
		Hint                                struct{ Text string }
	}
}

func (a *restAnswer) findings() (list []doorFinding) {
	for i, of := range [...][]struct {
		Type, Field, Message, Text, Pointer string
		Position                            *struct{ Line, Column int }
		Hint                                struct{ Text string }
	}{a.Violations, a.Next, a.Warnings} {
		for _, v := range of {
			f := doorFinding{severity: []string{"error", "error", "warning"}[i], at: "-", kind: v.Type, pointer: cmp.Or(v.Pointer, "-"),
				text: fieldAnd(v.Field, v.Message), hint: v.Hint.Text}
			if i == 2 {
				f.text = v.Text
			}
			if v.Position != nil {
				f.at = fmt.Sprintf("%d:%d", v.Position.Line, v.Position.Column)
			}
			list = append(list, f)
		}
	}
	return list
}

// restResult is the result of an item, or an error.
type restResult struct {
	Verdict *restAnswer
	Error   *restError
}

// restError is a google.rpc.Status.
type restError struct {
	Message string
	Details []struct {
		Type       string `json:"@type"`
		Reason     string
		Violations json.RawMessage
	}
}

func (r *restResult) findings(t *testing.T) []doorFinding {
	t.Helper()
	if r.Verdict != nil {
		return r.Verdict.findings()
	}
	return r.Error.findings(t)
}

func (e *restError) findings(t *testing.T) (list []doorFinding) {
	t.Helper()
	f := doorFinding{severity: "error", at: "-", kind: "NotChecked", text: e.Message}
	for _, d := range e.Details {
		if d.Violations != nil {
			var a restAnswer
			decodeDoor(t, d.Violations, &a.Violations)
			return a.findings()
		}
	}
	return append(list, f)
}

// register registers the CRDs of the case in its catalog.
func (c *doorCase) register(t *testing.T) {
	t.Helper()
	c.rest(t, "POST", "", "application/yaml", "catalog: "+c.catalog)
	if c.isCRD {
		return
	}
	for _, name := range c.crdFiles() {
		c.rest(t, "POST", "/"+c.catalog+"/crds:register", "application/yaml", c.files[name])
	}
}

// checkQuery and streamQuery select strict field validation.
const (
	checkQuery  = "/crds:check?fieldValidation=FIELD_VALIDATION_STRICT"
	streamQuery = ":admitStream?context.options.fieldValidation=FIELD_VALIDATION_STRICT&context.options.completeMetadata=true"
)

// yamlDoor is REST with the file as the body.
func yamlDoor(t *testing.T, c *doorCase) (list []doorFinding) {
	t.Helper()
	c.register(t)
	if c.isCRD {
		return c.check(t, "application/yaml", c.files[c.object])
	}
	for line := range strings.Lines(string(c.rest(t, "POST", "/"+c.catalog+streamQuery, "application/yaml", c.files[c.object]))) {
		var r restResult
		decodeDoor(t, []byte(line), &r)
		list = append(list, r.findings(t)...)
	}
	return list
}

func (c *doorCase) check(t *testing.T, kind, body string) []doorFinding {
	t.Helper()
	var checked struct {
		Report *restAnswer
		restError
	}
	decodeDoor(t, c.rest(t, "POST", "/"+c.catalog+checkQuery, kind, body), &checked)
	if checked.Report == nil {
		return checked.findings(t)
	}
	return checked.Report.findings()
}

// jsonDoor is REST with the objects of the file in JSON. A client that sends JSON has read lists and documents itself.
func jsonDoor(t *testing.T, c *doorCase) (list []doorFinding) {
	t.Helper()
	c.register(t)
	body := c.inJSON()
	if c.isCRD {
		return c.check(t, "application/json", body)
	}
	var answer struct {
		Results []restResult
		restError
	}
	decodeDoor(t, c.rest(t, "POST", "/"+c.catalog+":admit", "application/json", body), &answer)
	if answer.Results == nil {
		return answer.findings(t)
	}
	for i := range answer.Results {
		list = append(list, answer.Results[i].findings(t)...)
	}
	return list
}

// inJSON returns the body with the objects in JSON, with a line for each value.
func (c *doorCase) inJSON() string {
	var items []string
	manifests := c.file.Manifests
	if c.json != "" {
		items, manifests = []string{`{"create": {"object": ` + c.json + `}}`}, nil
	}
	for _, m := range manifests {
		text := m.Document.JSON
		if text == nil {
			text, _ = sigsyaml.YAMLToJSON(m.Document.YAML) // the service reports errors
		}
		var b bytes.Buffer
		if json.Indent(&b, text, "", " ") != nil {
			b.Reset()
			b.Write(text)
		}
		if c.isCRD {
			return b.String()
		}
		items = append(items, `{"create": {"object": `+b.String()+`}}`)
	}
	return `{"context": {"options": {"fieldValidation": "FIELD_VALIDATION_STRICT", "completeMetadata": true}}, "items": [` + strings.Join(items, ",\n") + `]}`
}

// placeInJSON replaces the position of a finding by the one in inJSON, with a search of its own.
func (c *doorCase) placeInJSON(f *doorFinding) {
	if f.at == "-" || f.kind == engine.TypeSyntax { // a syntax error has no pointer
		return
	}
	prefix, pointer := fmt.Sprintf("/items/%d/create/object", c.manifestAt(f.at)), strings.TrimPrefix(f.pointer, "-")
	if c.isCRD {
		prefix = ""
	}
	places := placesInJSON(c.inJSON())
	for ; ; pointer = pointer[:max(0, strings.LastIndexByte(pointer, '/'))] {
		if at, found := places[prefix+pointer]; found {
			f.at = at.value
			if f.kind == engine.TypeUnknownField || f.kind == engine.TypeDuplicateField {
				f.at = at.key
			}
			return
		}
		if pointer == "" {
			return
		}
	}
}
