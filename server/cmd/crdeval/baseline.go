package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/repository"
)

// baseline has the files that changed since a commit, as they were then: the merge base of HEAD and --base.
type baseline struct {
	commit  string
	root    string                     // of the repository
	changed map[string]bool            // Source.Path of the files and submodules that changed and still exist
	files   map[string]*workspace.File // files of the commit that changed, by their path
	all     bool                       // everything is evaluated: a CRD, conversion rules or the settings changed
}

// readBaseline reads the changed files of a repository. Uncommitted and untracked files count as changes.
func readBaseline(ctx context.Context, reference string) (*baseline, error) {
	b := &baseline{root: repository.Root(), changed: map[string]bool{}, files: map[string]*workspace.File{}}
	commit, err := b.git(ctx, nil, "merge-base", "--end-of-options", reference, "HEAD")
	if err != nil {
		return nil, fmt.Errorf("--base: there is no merge base of HEAD and %s: name a commit, and fetch its history, "+
			"such as with fetch-depth: 0 (%w)", workspace.OneLine(reference), err)
	}
	b.commit = strings.TrimSpace(string(commit))
	diff, err := b.git(ctx, nil, "diff", "--raw", "-z", "--no-abbrev", "--no-renames", b.commit, "--")
	if err != nil {
		return nil, err
	}
	var old []blob
	// Each change is ":MODE MODE ID ID STATUS" and the name, both with a zero byte at the end.
	parts := strings.Split(string(diff), "\x00")
	for i := 0; i+1 < len(parts); i += 2 {
		fields, name := strings.Fields(parts[i]), parts[i+1]
		if len(fields) != 5 {
			return nil, fmt.Errorf("--base: git diff printed %q", parts[i])
		}
		before, after := strings.TrimPrefix(fields[0], ":"), fields[1]
		if isManifest(name) && (before == "100644" || before == "100755") {
			old = append(old, blob{fields[2], name})
		}
		b.add(name, after)
	}
	untracked, err := b.git(ctx, nil, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(string(untracked), "\x00") {
		b.add(name, "100644")
	}
	return b, b.read(ctx, old)
}

// checkFiles returns an error for a file that git does not compare.
func (b *baseline) checkFiles(names []string) error {
	for _, name := range names {
		relative, err := filepath.Rel("/"+b.path(""), "/"+repository.PathOf(name))
		if name == "-" || err != nil || !filepath.IsLocal(relative) {
			return fmt.Errorf("--base: %s is not in the repository %s", workspace.OneLine(name), workspace.OneLine(b.root))
		}
	}
	return nil
}

// isManifest reports whether a file of git can have manifests.
func isManifest(name string) bool { return workspace.IsFileName(path.Base(name)) }

// add adds a changed file by its name and its mode in git.
func (b *baseline) add(name, mode string) {
	const deleted, submodule = "000000", "160000"
	b.all = b.all || path.Base(name) == configName
	if mode == submodule || mode != deleted && isManifest(name) {
		b.changed[b.path(name)] = true
	}
}

// path returns the Source.Path of a name that is relative to the root of the repository.
func (b *baseline) path(name string) string {
	return repository.PathOf(filepath.Join(b.root, filepath.FromSlash(name)))
}

// isChanged reports whether a file changed. All files of a changed submodule count as new: git does not have the old
// ones.
func (b *baseline) isChanged(file string) bool {
	for ; file != "." && file != "/"; file = path.Dir(file) {
		if b.changed[file] {
			return true
		}
	}
	return false
}

// maxBaseBytes bounds the files of a baseline together.
const maxBaseBytes = 1 << 30

// blob is a file of the commit.
type blob struct{ id, name string }

// read reads files of the commit.
func (b *baseline) read(ctx context.Context, list []blob) error {
	if len(list) == 0 {
		return nil
	}
	var ids bytes.Buffer
	for _, of := range list {
		fmt.Fprintln(&ids, of.id)
	}
	out, err := b.git(ctx, &ids, "cat-file", "--batch")
	if err != nil {
		return err
	}
	in := bufio.NewReader(bytes.NewReader(out))
	for _, of := range list {
		text, err := nextObject(in)
		if err != nil {
			return fmt.Errorf("--base: %s in %s: %w", workspace.OneLine(of.name), b.commit, err)
		}
		name := of.name + " in " + b.commit[:min(len(b.commit), 12)]
		f := workspace.Parse(workspace.Source{Name: name, Path: b.path(of.name)}, text, 0)
		b.files[f.Path] = f
		b.all = b.all || definesKinds(f)
	}
	return nil
}

// definesKinds reports whether a file has CRDs or conversion rules.
func definesKinds(f *workspace.File) bool {
	return len(f.CRDs) > 0 || slices.ContainsFunc(f.Manifests, func(m *workspace.Manifest) bool { return m.Conversion })
}

// nextObject reads an object that git cat-file --batch prints: its id, type and size, a line feed, the content, a line
// feed.
func nextObject(in *bufio.Reader) ([]byte, error) {
	head, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(head)
	if len(fields) != 3 {
		return nil, errors.New("git does not have the content: fetch it, such as without --filter")
	}
	size, err := strconv.Atoi(fields[2])
	if err != nil {
		return nil, err
	}
	text := make([]byte, size+1)
	_, err = io.ReadFull(in, text)
	return text[:size], err
}

// git runs git in the root of the repository. It runs no hooks and no filters of the repository.
func (b *baseline) git(ctx context.Context, stdin io.Reader, arguments ...string) ([]byte, error) {
	arguments = append([]string{"-c", "core.fsmonitor=false"}, arguments...)
	c := exec.CommandContext(ctx, "git", arguments...) //nolint:gosec // no shell
	c.Dir, c.Stdin, c.Env = b.root, stdin, append(os.Environ(), "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0")
	out, err := c.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		reason := cmp.Or(strings.TrimSpace(string(exit.Stderr)), exit.Error())
		err = fmt.Errorf("git %s: %s", arguments[2], workspace.OneLine(reason))
	}
	if len(out) > maxBaseBytes {
		err = fmt.Errorf("--base: the changed files have more than %d MiB", maxBaseBytes>>20)
	}
	return out, err
}

// evaluates reports whether the objects of a file are evaluated.
func (b *baseline) evaluates(f *workspace.File) bool { return b == nil || b.all || b.isChanged(f.Path) }

// addChanged notes the CRDs and conversion rules of a file that changed.
func (b *baseline) addChanged(f *workspace.File) {
	b.all = b.all || definesKinds(f) && b.isChanged(f.Path)
}

// existing returns the manifests before the changes. files are those of the run.
func (b *baseline) existing(files []*workspace.File) (all []*workspace.Manifest) {
	for _, f := range files {
		if !b.isChanged(f.Path) {
			all = append(all, f.Manifests...)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(b.files)) {
		all = append(all, b.files[file].Manifests...)
	}
	return all
}

// deleted returns the files with CRDs that were deleted.
func (b *baseline) deleted() (files []*workspace.File) {
	for _, file := range slices.Sorted(maps.Keys(b.files)) {
		if len(b.files[file].CRDs) > 0 && !b.isChanged(file) {
			files = append(files, b.files[file])
		}
	}
	return files
}

// compileOptions returns the options for a CRD: it is an update of the CRD of its name that its file had, or that a
// file had which changed.
func (b *baseline) compileOptions(c *workspace.CRD, o engine.Options) engine.Options {
	before := b.before(c)
	if before == nil {
		return o
	}
	if _, existing, err := engine.ExistingFrom(before.Document, engine.Limits{}); err == nil {
		o.Existing = func(string) *engine.Existing { return existing }
	}
	return o
}

// before returns a CRD before the changes, or nil.
func (b *baseline) before(c *workspace.CRD) (moved *workspace.CRD) {
	if !b.isChanged(c.In.Path) {
		return c
	}
	for _, file := range slices.Sorted(maps.Keys(b.files)) {
		for _, old := range b.files[file].CRDs {
			switch {
			case old.Name != c.Name:
			case file == c.In.Path:
				return old
			case moved == nil && !b.isChanged(file): // the file is gone
				moved = old
			}
		}
	}
	return moved
}
