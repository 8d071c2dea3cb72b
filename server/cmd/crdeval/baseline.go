package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
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
	changed map[string]bool            // Source.Path of the files that changed and still exist
	files   map[string]*workspace.File // files of the commit that changed, by their path
	crds    bool                       // a CRD changed
}

// readBaseline reads the changed files of a repository. Uncommitted and untracked files count as changes.
func readBaseline(ctx context.Context, reference string) (*baseline, error) {
	b := &baseline{root: repository.Root(), changed: map[string]bool{}, files: map[string]*workspace.File{}}
	commit, err := b.git(ctx, nil, "merge-base", "--end-of-options", reference, "HEAD")
	if err != nil {
		return nil, fmt.Errorf("--base: there is no merge base of HEAD and %s: name a commit, and fetch its history (%w)", reference, err)
	}
	b.commit = strings.TrimSpace(string(commit))
	gone, err := b.names(ctx, "diff", "-z", "--name-only", "--no-renames", "--diff-filter=a", b.commit, "--")
	if err != nil {
		return nil, err
	}
	for _, list := range [][]string{
		{"diff", "-z", "--name-only", "--no-renames", "--diff-filter=d", b.commit, "--"},
		{"ls-files", "-z", "--others", "--exclude-standard"},
	} {
		names, err := b.names(ctx, list...)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			b.changed[b.path(name)] = true
		}
	}
	return b, b.read(ctx, gone)
}

// path returns the Source.Path of a name that is relative to the root of the repository.
func (b *baseline) path(name string) string {
	return repository.PathOf(filepath.Join(b.root, filepath.FromSlash(name)))
}

// names returns the names of manifest files that git prints.
func (b *baseline) names(ctx context.Context, arguments ...string) (names []string, _ error) {
	out, err := b.git(ctx, nil, arguments...)
	for name := range strings.SplitSeq(string(out), "\x00") {
		if name != "" && workspace.IsFileName(filepath.Base(name)) {
			names = append(names, name)
		}
	}
	return names, err
}

// maxBaseBytes bounds the files of a baseline together.
const maxBaseBytes = 1 << 30

// read reads files of the commit.
func (b *baseline) read(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	var objects bytes.Buffer
	for _, name := range names {
		if strings.Contains(name, "\n") {
			return fmt.Errorf("--base: the name %q has a line break: rename the file", name)
		}
		fmt.Fprintf(&objects, "%s:%s\n", b.commit, name)
	}
	out, err := b.git(ctx, &objects, "cat-file", "--batch")
	if err != nil {
		return err
	}
	in := bufio.NewReader(bytes.NewReader(out))
	for _, name := range names {
		text, err := nextObject(in)
		if err != nil {
			return fmt.Errorf("--base: %s: %w", name, err)
		}
		f := workspace.Parse(workspace.Source{Name: name + " in " + b.commit[:min(len(b.commit), 12)], Path: b.path(name)}, text, 0)
		b.files[f.Path] = f
		b.crds = b.crds || len(f.CRDs) > 0
	}
	return nil
}

// nextObject reads an object that git cat-file --batch prints: a line that ends with its size, the content, a line feed.
func nextObject(in *bufio.Reader) ([]byte, error) {
	head, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(head)
	size, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil || len(fields) != 3 || fields[1] != "blob" {
		return nil, nil // such as a submodule
	}
	text := make([]byte, size+1)
	_, err = io.ReadFull(in, text)
	return text[:size], err
}

// git runs git in the root of the repository. It runs no hooks and no filters of the repository.
func (b *baseline) git(ctx context.Context, stdin io.Reader, arguments ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, "git", append([]string{"-c", "core.fsmonitor=false"}, arguments...)...) //nolint:gosec // no shell
	c.Dir, c.Stdin, c.Env = b.root, stdin, append(os.Environ(), "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0")
	out, err := c.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("git %s: %s", arguments[0], workspace.OneLine(strings.TrimSpace(string(exit.Stderr))))
	}
	if len(out) > maxBaseBytes {
		err = fmt.Errorf("--base: the changed files have more than %d MiB", maxBaseBytes>>20)
	}
	return out, err
}

// evaluates reports whether the objects of a file are evaluated: those of changed files, and all if a CRD changed.
func (b *baseline) evaluates(f *workspace.File) bool { return b == nil || b.crds || b.changed[f.Path] }

// addChanged notes the CRDs of a file that changed.
func (b *baseline) addChanged(f *workspace.File) {
	b.crds = b.crds || b.changed[f.Path] && len(f.CRDs) > 0
}

// existing returns the manifests before the changes. files are those of the run.
func (b *baseline) existing(files []*workspace.File) (all []*workspace.Manifest) {
	for _, f := range files {
		if !b.changed[f.Path] {
			all = append(all, f.Manifests...)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(b.files)) {
		all = append(all, b.files[path].Manifests...)
	}
	return all
}

// deleted returns the files with CRDs that were deleted.
func (b *baseline) deleted() (names []string) {
	for path, f := range b.files {
		if len(f.CRDs) > 0 && !b.changed[path] {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names
}

// compileOptions returns the options for a CRD: it is an update of the one that its file had.
func (b *baseline) compileOptions(c *workspace.CRD, o engine.Options) engine.Options {
	old := b.files[c.In.Path]
	if old == nil {
		return o
	}
	for _, before := range old.CRDs {
		if before.Name != c.Name {
			continue
		}
		if _, existing, err := engine.ExistingFrom(before.Document, engine.Limits{}); err == nil {
			o.Existing = func(string) *engine.Existing { return existing }
		}
	}
	return o
}
