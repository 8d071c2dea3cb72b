package lsp

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/crdeval/crdeval/engine"
)

var update = flag.Bool("update", false, "update the expected outputs in testdata; review the changes before the commit")

// TestScripts runs the scripts in testdata. A script is a txtar archive: its comment has the commands, its files are
// the workspace, and the file "want" has the output. Commands, with | at the cursor of a text of the file:
//
//	open FILE               prints the diagnostics
//	change FILE OLD => NEW  replaces the first occurrence, and prints the diagnostics
//	write FILE FROM         replaces a file on disk by another one, and notifies the server
//	diagnostics FILE        prints the diagnostics again
//	hover FILE TEXT, complete FILE TEXT, actions FILE TEXT, symbols FILE
//	apply FILE TITLE TEXT   applies a quick fix and prints the diagnostics
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal(err, paths)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) { runScript(t, path) })
	}
}

func runScript(t *testing.T, path string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	want := -1
	for i, f := range archive.Files {
		if f.Name == "want" {
			want = i
			continue
		}
		name := filepath.Join(root, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want < 0 {
		t.Fatal("the archive has no file want")
	}
	s := script{client: connect(t, root, Options{Settings: func(string) (Settings, error) {
		return Settings{Namespace: "default", FieldValidation: engine.FieldValidationStrict}, nil
	}})}
	for line := range strings.Lines(string(archive.Comment)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			fmt.Fprintf(&s.out, "> %s\n", line)
			s.run(line)
		}
	}
	if err := s.end(); err != nil {
		t.Error(err)
	}
	if s.log.Len() > 0 {
		t.Errorf("log: %s", s.log)
	}
	got := bytes.ReplaceAll(s.out.Bytes(), []byte(root), []byte("ROOT"))
	if *update {
		archive.Files[want].Data = got
		if err := os.WriteFile(path, txtar.Format(archive), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(got, archive.Files[want].Data) {
		t.Errorf("got:\n%s\nwant:\n%s", got, archive.Files[want].Data)
	}
}

type script struct {
	*client
	out bytes.Buffer
}

// at returns the parameters for the position of | in a text.
func (s *script) at(name, mark string) map[string]any {
	s.t.Helper()
	before, after, found := strings.Cut(unescape(mark), "|")
	offset := strings.Index(s.texts[name], before+after)
	if !found || offset < 0 {
		s.t.Fatalf("%s does not contain %q", name, mark)
	}
	p := newLineIndex([]byte(s.texts[name])).position(offset + len(before))
	return map[string]any{
		"textDocument": map[string]any{"uri": s.uri(name)}, "position": p, "range": Range{p, p},
		"context": map[string]any{"diagnostics": []any{}},
	}
}

func unescape(text string) string { return strings.NewReplacer(`\n`, "\n", `\s`, " ").Replace(text) }

func (s *script) run(line string) {
	s.t.Helper()
	command, rest, _ := strings.Cut(line, " ")
	name, argument, _ := strings.Cut(rest, " ")
	switch command {
	case "open":
		s.open(name)
		s.print(name)
	case "change":
		old, text, _ := strings.Cut(argument, " => ")
		s.forget()
		s.change(name, unescape(old), unescape(text))
		s.print(name)
	case "write":
		content, err := os.ReadFile(filepath.Join(s.root, argument))
		if err == nil {
			err = os.WriteFile(filepath.Join(s.root, name), content, 0o600)
		}
		if err != nil {
			s.t.Fatal(err)
		}
		s.forget()
		s.notify("workspace/didChangeWatchedFiles", map[string]any{"changes": []any{map[string]any{"uri": s.uri(name),
			"type": 2}}})
	case "diagnostics":
		s.print(name)
	case "hover":
		var h *hover
		s.call("textDocument/hover", s.at(name, argument), &h)
		if h == nil {
			fmt.Fprintln(&s.out, "none")
		} else {
			fmt.Fprintf(&s.out, "%s\n%s", show(*h.Range), h.Contents.Value)
		}
	case "complete":
		var list completionList
		s.call("textDocument/completion", s.at(name, argument), &list)
		for _, item := range list.Items {
			fmt.Fprintf(&s.out, "%s %q (%s)", show(item.TextEdit.Range), item.TextEdit.NewText, item.Detail)
			if item.InsertTextMode == insertAsIs {
				fmt.Fprint(&s.out, " as is")
			}
			if item.Documentation != nil {
				fmt.Fprintf(&s.out, " %q", item.Documentation.Value)
			}
			fmt.Fprintln(&s.out)
		}
	case "actions":
		for _, a := range s.actions(name, argument) {
			preferred := ""
			if a.IsPreferred {
				preferred = " (preferred)"
			}
			for _, e := range a.Edit.Changes[s.uri(name)] {
				fmt.Fprintf(&s.out, "%s%s: %s %q\n", a.Title, preferred, show(e.Range), e.NewText)
			}
		}
	case "apply":
		title, mark, _ := strings.Cut(argument, " @ ")
		actions := s.actions(name, mark)
		i := slices.IndexFunc(actions, func(a codeAction) bool { return a.Title == title })
		if i < 0 {
			s.t.Fatalf("no action %q", title)
		}
		var changes []ContentChange // the last edit first: each refers to the text after those before it
		for _, e := range slices.Backward(actions[i].Edit.Changes[s.uri(name)]) {
			changes = append(changes, ContentChange{&e.Range, e.NewText})
		}
		s.texts[name] = string(apply([]byte(s.texts[name]), changes))
		s.versions[name]++
		s.notify("textDocument/didChange", map[string]any{
			"textDocument": map[string]any{"uri": s.uri(name), "version": s.versions[name]}, "contentChanges": changes,
		})
		s.print(name)
		fmt.Fprint(&s.out, s.texts[name])
	case "symbols":
		var list []documentSymbol
		s.call("textDocument/documentSymbol", map[string]any{"textDocument": map[string]any{"uri": s.uri(name)}}, &list)
		s.symbols(list, "")
	default:
		s.t.Fatalf("unknown command %q", command)
	}
}

// forget forgets the diagnostics, so that the next command waits for new ones.
func (s *script) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.published)
}

func (s *script) actions(name, mark string) (actions []codeAction) {
	s.t.Helper()
	s.call("textDocument/codeAction", s.at(name, mark), &actions)
	return actions
}

func (s *script) symbols(list []documentSymbol, indent string) {
	for _, symbol := range list {
		fmt.Fprintf(&s.out, "%s%s %s %s\n", indent, symbol.Name, symbol.Detail, show(symbol.Range))
		s.symbols(symbol.Children, indent+"  ")
	}
}

// print prints the diagnostics of a file.
func (s *script) print(name string) {
	s.t.Helper()
	list := s.diagnostics(name)
	if len(list) == 0 {
		fmt.Fprintln(&s.out, "no diagnostics")
	}
	for _, d := range list {
		text := s.texts[name]
		lines := newLineIndex([]byte(text))
		fmt.Fprintf(&s.out, "%s %d %s: %s\n", show(d.Range), d.Severity, d.Code, d.Message)
		fmt.Fprintf(&s.out, "  %q", text[lines.offset(d.Range.Start):lines.offset(d.Range.End)])
		for _, r := range d.RelatedInformation {
			fmt.Fprintf(&s.out, " %s:%s %s", filepath.Base(r.Location.URI), show(r.Location.Range), r.Message)
		}
		fmt.Fprintln(&s.out)
	}
}

// show prints a range with lines and columns from 1, as editors show them.
func show(r Range) string {
	return fmt.Sprintf("%d:%d-%d:%d", r.Start.Line+1, r.Start.Character+1, r.End.Line+1, r.End.Character+1)
}
