package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/workspace"
)

// layout is a repository in testdata/repositories: the folder tree, and expected.yaml beside it.
type layout struct {
	Create []created // files that a commit cannot contain
	Commit bool      // commit the tree before Change
	Change []created
	Runs   []layoutRun
}

// created is a file of a layout: a text, a symbolic link, or a sparse file of a size.
type created struct {
	Path, Text, Link string
	Bytes            int64
}

// layoutRun is a run of the command in a layout, and what it must report.
type layoutRun struct {
	Name       string
	Args       []string
	Dir        string // default: the root of the tree
	Exit       int
	Counts     *layoutCounts
	Objects    []layoutEntry
	Skipped    []layoutEntry
	Unreadable []layoutEntry
	Stderr     string   // a part
	Mentions   []string // parts of stdout or stderr
	Absent     []string // no parts of stdout or stderr
}

// layoutCounts are the counts in the last line of -o json.
type layoutCounts struct {
	Evaluated  int            `json:"evaluated"` // the sum of the next three
	Allowed    int            `json:"allowed"`
	Rejected   int            `json:"rejected"`
	Ambiguous  int            `json:"ambiguous"` // several CRDs apply, with different answers
	Errors     int            `json:"errors"`
	BuiltIn    int            `json:"builtin"`
	WithoutCRD map[string]int `json:"withoutCRD"` // by group
	Skipped    map[string]int `json:"skipped"`    // files and documents, by kind
	Unreadable int            `json:"unreadable"` // files and documents
}

// layoutEntry is an expected line of -o json, or two lines for the verdict ambiguous.
type layoutEntry struct {
	File      string
	Object    string // KIND/NAME
	Verdict   string // allowed, rejected, ambiguous, no CRD, error
	Kind      string // of a skipped file
	Violation string // a part of the first violation
	Error     string // a part
	Line      int    // of the first violation, or of the error
	Mentions  []string
	Absent    []string // no parts of the lines
	Without   string   // no part of the error
}

// layoutLine is a line of -o json.
type layoutLine struct {
	File, Kind, Name, Skipped, Error string

	Class   workspace.Class
	Line    int
	Verdict *struct {
		Allowed    bool
		Violations []layoutViolation
	}
	NextViolations []layoutViolation
	Summary        *layoutCounts
	text           string
}

type layoutViolation struct {
	Field, Message string
	Position       struct{ Line int }
}

// TestRepositories runs the command in the layouts of testdata/repositories.
func TestRepositories(t *testing.T) {
	names, err := filepath.Glob("testdata/repositories/*/expected.yaml")
	if err != nil || len(names) < 18 {
		t.Fatalf("%d layouts, %v", len(names), err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var l layout
		if err := yaml.UnmarshalStrict(text, &l); err != nil || len(l.Runs) == 0 {
			t.Errorf("%s: %d runs, %v", name, len(l.Runs), err)
			continue
		}
		t.Run(filepath.Base(filepath.Dir(name)), func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "tree")
			l.write(t, filepath.Join(filepath.Dir(name), "tree"), root)
			for _, r := range l.Runs {
				t.Run(r.Name, func(t *testing.T) {
					t.Chdir(filepath.Join(root, r.Dir))
					r.check(t)
				})
			}
		})
	}
}

// write writes the files of the layout to a folder, which becomes a repository of git.
func (l *layout) write(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	git(t, to, "init", "-q")
	for _, c := range l.Create {
		c.write(t, to)
	}
	if l.Commit {
		git(t, to, "add", "-A")
		git(t, to, "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgSign=false", "commit", "-q",
			"--no-verify", "-m", "base")
	}
	for _, c := range l.Change {
		c.write(t, to)
	}
}

func (c created) write(t *testing.T, root string) {
	t.Helper()
	path := filepath.Join(root, c.Path)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	var err error
	if c.Link != "" {
		err = os.Symlink(c.Link, path)
	} else if err = os.WriteFile(path, []byte(c.Text), 0o600); err == nil && c.Bytes > 0 {
		err = os.Truncate(path, c.Bytes)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// check runs the command and compares its exit code, its counts and its results.
func (r *layoutRun) check(t *testing.T) {
	t.Helper()
	code, stdout, stderr := invoke(t, "", append(slices.Clone(r.Args), "-o", "json")...)
	if code != r.Exit {
		t.Errorf("exit code %d, want %d; stderr: %s", code, r.Exit, stderr)
	}
	if !strings.Contains(stderr, r.Stderr) {
		t.Errorf("stderr does not contain %q: %s", r.Stderr, stderr)
	}
	lacks(t, "the output", stdout+stderr, r.Mentions, r.Absent)
	lines := readLayoutLines(t, stdout)
	if r.Counts != nil {
		var got *layoutCounts
		if len(lines) > 0 {
			got = lines[len(lines)-1].Summary
		}
		if got == nil || !reflect.DeepEqual(got.normal(), r.Counts.normal()) {
			t.Errorf("the counts are %s,\nwant %s", got, r.Counts)
		}
	}
	for _, e := range r.Objects {
		kind, name, _ := strings.Cut(e.Object, "/")
		e.checkObject(t, matching(lines, func(l *layoutLine) bool {
			return l.File == e.File && l.Kind == kind && l.Name == name
		}))
	}
	for _, e := range r.Skipped {
		found := matching(lines, func(l *layoutLine) bool { return l.File == e.File })
		if !slices.ContainsFunc(found, func(l *layoutLine) bool {
			return l.Skipped != "" && strings.Contains(l.text, e.Kind)
		}) {
			t.Errorf("%s is not skipped as %s: %s", e.File, e.Kind, texts(found))
		}
	}
	for _, e := range r.Unreadable {
		e.checkUnreadable(t, matching(lines, func(l *layoutLine) bool { return l.File == e.File && l.Error != "" }))
	}
}

func readLayoutLines(t *testing.T, stdout string) (all []*layoutLine) {
	t.Helper()
	in := bufio.NewScanner(strings.NewReader(stdout))
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		l := &layoutLine{text: in.Text()}
		if err := json.Unmarshal(in.Bytes(), l); err != nil {
			t.Fatalf("%v: %s", err, in.Text())
		}
		all = append(all, l)
	}
	return all
}

func matching(lines []*layoutLine, is func(*layoutLine) bool) (found []*layoutLine) {
	for _, l := range lines {
		if is(l) {
			found = append(found, l)
		}
	}
	return found
}

func texts(lines []*layoutLine) string {
	var b bytes.Buffer
	for _, l := range lines {
		fmt.Fprintf(&b, "\n  %s", l.text)
	}
	return b.String()
}

// checkObject compares the lines of an object.
func (e *layoutEntry) checkObject(t *testing.T, lines []*layoutLine) {
	t.Helper()
	want := 1
	if e.Verdict == "ambiguous" {
		want = 2
	}
	if len(lines) != want {
		t.Errorf("%s: %s has %d lines, want %d: %s", e.File, e.Object, len(lines), want, texts(lines))
		return
	}
	var verdicts []string
	var first *layoutViolation
	for _, l := range lines {
		verdict := "error"
		if l.Class == workspace.ClassWithoutCRD {
			verdict = "no CRD"
		}
		if v := l.Verdict; v != nil && v.Allowed {
			verdict = "allowed"
		} else if v != nil {
			verdict = "rejected"
			if first == nil && len(v.Violations) > 0 {
				first = &v.Violations[0]
			}
		}
		verdicts = append(verdicts, verdict)
	}
	if want == 1 && verdicts[0] != e.Verdict {
		t.Errorf("%s: %s is %s, want %s: %s", e.File, e.Object, verdicts[0], e.Verdict, texts(lines))
		return
	}
	if e.Violation != "" && (first == nil || !strings.Contains(first.Field+": "+first.Message, e.Violation) ||
		e.Line > 0 && first.Position.Line != e.Line) {
		t.Errorf("%s: %s: the first violation is %+v, want %q at line %d: %s",
			e.File, e.Object, first, e.Violation, e.Line, texts(lines))
	}
	reason := lines[0].Error + lines[0].Skipped
	if !strings.Contains(reason, e.Error) || e.Without != "" && strings.Contains(reason, e.Without) {
		t.Errorf("%s: %s: the error is %q, want %q without %q", e.File, e.Object, reason, e.Error, e.Without)
	}
	lacks(t, e.File+": "+e.Object, texts(lines), e.Mentions, e.Absent)
}

// checkUnreadable compares the lines of a file with errors.
func (e *layoutEntry) checkUnreadable(t *testing.T, lines []*layoutLine) {
	t.Helper()
	for _, l := range lines {
		if strings.Contains(l.Error, e.Error) &&
			(e.Line == 0 || l.Line == e.Line || strings.Contains(l.text, fmt.Sprintf(`"line":%d,`, e.Line))) {
			return
		}
	}
	t.Errorf("%s: no error contains %q and has line %d: %s", e.File, e.Error, e.Line, texts(lines))
}

// lacks fails if a text lacks a part, or contains one of absent.
func lacks(t *testing.T, what, text string, parts, absent []string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s does not contain %q: %s", what, part, text)
		}
	}
	for _, part := range absent {
		if strings.Contains(text, part) {
			t.Errorf("%s contains %q: %s", what, part, text)
		}
	}
}

// normal returns the counts without zeros in the maps.
func (c *layoutCounts) normal() *layoutCounts {
	n := *c
	n.WithoutCRD, n.Skipped = map[string]int{}, map[string]int{}
	for from, to := range map[*map[string]int]map[string]int{&c.WithoutCRD: n.WithoutCRD, &c.Skipped: n.Skipped} {
		for key, count := range *from {
			if count > 0 {
				to[key] = count
			}
		}
	}
	return &n
}

func (c *layoutCounts) String() string {
	text, _ := json.Marshal(c)
	return string(text)
}
