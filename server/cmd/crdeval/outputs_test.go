package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/crdeval/crdeval/server/cmd/crdeval/output"
)

// hostile are texts that must not reach an output as they are.
var hostile = []string{
	"x\n::stop-commands::p\n::error file=a,line=1::b", "\x1b[31m\x1b]0;t\x07", "\u202e\u2066\u009b1m\u0085\u2028\x7f", "::error::a", "a ##[error]b",
	"##vso[task.setvariable variable=a]b", "a\r::error::b", "\ufeff::error::b", "`<b>|@a", "a: b", "% %0A::error::a", "é\xffb",
}

// outputCommands are the commands whose outputs quote manifests. FILE, OLD, OBJECTS, RULES and SUITE stand for files.
var outputCommands = []string{
	"admit FILE OBJECTS", "admit FILE OBJECTS -v --explain --field-validation ignore", "admit FILE OBJECTS -o json", "admit FILE OBJECTS -o junit",
	"admit FILE OBJECTS -o sarif", "admit FILE OBJECTS -o github --summary SUMMARY", "admit FILE OBJECTS -o yaml --field-validation ignore",
	"admit FILE OBJECTS -o stored --field-validation ignore", "admit FILE OBJECTS -o table --field-validation ignore",
	"admit FILE OBJECTS -o wide --field-validation ignore", "admit --repository OBJECTS --progress always", "admit NAME FILE OBJECTS",
	"admit -o github NAME FILE", "admit --crds NAME OBJECTS", "admit --exclude NAME FILE OBJECTS", "admit FILE OBJECTS --skip-kind NAME -v",
	"check FILE OLD", "check FILE -v -o json", "check FILE OBJECTS -o github", "check FILE OBJECTS -o junit --skip-other-kinds", "check NAME FILE -o sarif",
	"diff OLD FILE --objects OBJECTS", "diff OLD FILE -o json", "diff OLD FILE -o github", "diff OLD FILE -o junit", "diff OLD FILE -o sarif",
	"test SUITE", "test SUITE -v -o github", "test SUITE -o junit", "test SUITE -o json", "test NAME",
	"generate --crds FILE --valid 1 --invalid 2", "generate --crds FILE --valid 1 --invalid 1 -o suite",
	"convert --crds FILE OBJECTS --to v2", "convert --crds FILE OBJECTS --to v2 -o json", "convert --check RULES --crds FILE -n 2",
	"migrate --crds FILE OBJECTS", "migrate --crds FILE OBJECTS --crd NAME", "discover FILE -o wide", "discover FILE -o json",
	"explain --crds FILE things", "explain --crds FILE things.spec -R", "explain --crds FILE NAME", "openapi FILE", "openapi FILE --compact",
	"admit --config NAME FILE", "crds list --config NAME", "crds list --config CONFIG", "admit -o NAME FILE", "admit --base NAME --repository FILE",
	"NAME",
}

// outputFiles writes the files of outputCommands, which quote a text, and returns their names. base is a valid name.
func outputFiles(t testing.TB, text, base string) (*strings.Replacer, string) {
	t.Helper()
	dir := t.TempDir()
	quoted, _ := json.Marshal(text)
	q := string(quoted)
	crd := func(description, kind, more string) string {
		return `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com",
			"labels": {"a": ` + q + `}}, "spec": {"group": "example.com", "scope": "Namespaced",
			"names": {"plural": "things", "singular": "thing", "kind": ` + kind + `, "categories": ["all"` + more + `]},
			"versions": [` + quotingVersion("v1", true, description, q) + `, ` + quotingVersion("v2", false, description, q) + `]}}`
	}
	object := func(apiVersion, kind, name, spec string) string {
		return `{"apiVersion": ` + apiVersion + `, "kind": ` + kind + `, "metadata": {"name": ` + name + `}, "spec": ` + spec + `}`
	}
	objects := strings.Join([]string{
		object(`"example.com/v1"`, `"Thing"`, `"a"`, `{"s": "a", "any": {`+q+`: `+q+`}, "d": `+q+`}`),
		object(`"example.com/v1"`, `"Thing"`, q, `{"s": `+q+`, `+q+`: 1}`),
		object(`"example.com/v1"`, `"Thing"`, `"b"`, `{"e": `+q+`, "m": {`+q+`: "x"}, "r": `+q+`}`),
		object(`"example.com/v1"`, q, q, `{}`), object(q, `"Thing"`, q, `{}`), object(`"v1"`, q, q, `{}`), `{"kind": ` + q + `}`, q, `[` + q + `]`,
	}, "\n---\n")
	write := func(name, content string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Skip(err) // not a name of a file
		}
		return file
	}
	suite := `{"crds": [{"file": "crd.json"}], "tests": [{"name": ` + q + `, "object": ` + object(`"example.com/v1"`, `"Thing"`, q, `{"s": `+q+`}`) +
		`, "expect": {"allowed": true}}]}`
	write("crd.json", crd(q, `"Thing"`, ""))
	return strings.NewReplacer(
		"FILE", write(base+".json", crd(q, `"Thing"`, "")), "OLD", write("old"+base+".json", crd(`"a"`, q, `, `+q)),
		"OBJECTS", write("objects"+base+".yaml", objects), "SUITE", write(base+".suite.yaml", suite),
		"RULES", write("rules.yaml", `{"crd": "things.example.com", "rules": [`+q+`]}`), "CONFIG", write("config.yaml", q+": 1\ncrd-sources: {urls: [{url: "+q+"}]}\n"),
		"SUMMARY", filepath.Join(dir, "summary.md"), "NAME", text,
	), filepath.Join(dir, "summary.md")
}

// quotingVersion returns a version of the CRD of outputFiles.
func quotingVersion(name string, storage bool, description, q string) string {
	stored := "false"
	if storage {
		stored = "true"
	}
	return `{"name": "` + name + `", "served": true, "storage": ` + stored + `, "deprecated": true, "deprecationWarning": ` + q + `,
		"additionalPrinterColumns": [{"name": ` + q + `, "type": "string", "jsonPath": ".spec.d", "description": ` + q + `},
			{"name": "W", "type": "string", "jsonPath": ".spec.any", "priority": 1}],
		"schema": {"openAPIV3Schema": {"type": "object", "description": ` + description + `, "properties": {"spec": {"type": "object",
			"x-kubernetes-validations": [{"rule": "!has(self.r) || self.r == 'a'", "message": ` + q + `}],
			"properties": {"s": {"type": "string", "maxLength": 1, "description": ` + description + `}, "e": {"type": "string", "enum": ["a", ` + q + `, "c"]},
			"m": {"type": "object", "additionalProperties": {"type": "integer"}}, "r": {"type": "string", "maxLength": 100},
			"any": {"x-kubernetes-preserve-unknown-fields": true}, "d": {"type": "string", "default": ` + q + `}}}}}}}`
}

// ownCommand matches the workflow commands that crdeval prints.
var ownCommand = regexp.MustCompile(`^::(error|warning|notice) (file|title)=[^:]*::`)

// anyCommand matches a workflow command in a line.
var anyCommand = regexp.MustCompile(`^[\s\pZ]*::|##[A-Za-z]*\[`)

// checkOutput fails for control characters, and for commands of CI systems that crdeval does not print itself.
func checkOutput(t *testing.T, command, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%s: invalid UTF-8: %q", command, text)
	}
	for _, r := range text {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)) {
			t.Fatalf("%s: the output has %U: %q", command, r, text)
		}
	}
	github := strings.Contains(command, "-o github")
	for line := range strings.Lines(text) {
		if own := github && ownCommand.MatchString(line); anyCommand.MatchString(line) && !own {
			t.Errorf("%s: a command in %q", command, line)
		}
	}
}

// checkOutputs runs commands with files that quote a text.
func checkOutputs(t *testing.T, commands []string, text, base string) {
	t.Helper()
	files, summary := outputFiles(t, text, base)
	for _, command := range commands {
		args := strings.Fields(command)
		for i := range args {
			args[i] = files.Replace(args[i])
		}
		var stdout, stderr bytes.Buffer
		run(t.Context(), args, environment{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr})
		if checkOutput(t, command, stdout.String()); !t.Failed() {
			checkOutput(t, command+" (stderr)", stderr.String())
		}
		if strings.Contains(command, "-o json") || strings.Contains(command, "-o sarif") {
			checkJSON(t, command, stdout.Bytes())
		}
	}
	if content, err := os.ReadFile(summary); err == nil {
		checkOutput(t, "summary", string(content))
	}
}

// checkJSON fails unless a text is a sequence of JSON documents.
func checkJSON(t *testing.T, command string, text []byte) {
	t.Helper()
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		if err := d.Decode(new(any)); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("%s: %v: %s", command, err, text)
		}
	}
}

// isFileBase reports whether a text can be a part of the name of a file.
func isFileBase(text string) bool {
	return len(text) > 0 && len(text) < 100 && !strings.ContainsAny(text, "/\x00")
}

// TestOutputs checks the outputs of all commands for texts that terminals and CI systems would run.
func TestOutputs(t *testing.T) {
	for _, text := range hostile {
		t.Run("", func(t *testing.T) {
			base := text
			if !isFileBase(base) {
				base = "a"
			}
			checkOutputs(t, outputCommands, text, base)
		})
	}
}

// fuzzParts is the number of parts of outputCommands. One execution of FuzzOutputs runs one part, because all take 0.1 s.
const fuzzParts = 10

// FuzzOutputs checks the outputs of all commands for any text in manifests, CRDs and names of files.
func FuzzOutputs(f *testing.F) {
	for _, text := range hostile {
		for part := range fuzzParts {
			f.Add(text, "a", uint8(part))
			f.Add("a", text, uint8(part))
		}
	}
	f.Fuzz(func(t *testing.T, text, base string, part uint8) {
		if !isFileBase(base) || len(text) > 1000 {
			t.Skip()
		}
		var commands []string
		for i, command := range outputCommands {
			if i%fuzzParts == int(part)%fuzzParts {
				commands = append(commands, command)
			}
		}
		checkOutputs(t, commands, text, base)
	})
}

// TestYAMLOutput checks that an object that cannot be printed as it is keeps its values.
func TestYAMLOutput(t *testing.T) {
	const object = `{"a":"\u202e::x","b":"x\n::error::y\n"}`
	text, err := output.YAML([]byte(object))
	var got, want any
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	if _ = json.Unmarshal([]byte(object), &want); err != nil || got == nil || !equalJSON(got, want) {
		t.Errorf("%v: %s", err, text)
	}
	checkOutput(t, "output.YAML", string(text))
}

func equalJSON(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}
