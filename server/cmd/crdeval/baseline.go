package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/repository"
	"github.com/crdeval/crdeval/server/cmd/crdeval/terminal"
)

// baseline has the files that changed since a commit, as they were then: the merge base of HEAD and --base.
type baseline struct {
	command *admitCommand
	commit  string
	root    string              // of the repository
	changed map[string]bool     // paths of the files and submodules that changed and still exist
	files   map[string]*oldFile // files of the commit that changed, by their paths
	sources map[string]string   // paths of the commit, by the paths to which git reports that they were renamed
	all     bool                // everything is evaluated: a CRD, conversion rules or the settings changed

	now   map[string]map[key]int      // what the changed files have now that were read, and how often, by their paths
	nth   map[*workspace.Manifest]int // how many manifests before it in its file have the same key, if any
	real  sync.Map                    // results of realPath, by their arguments
	gone  map[key]*workspace.Manifest // results of findGone; nil if several are possible
	index sync.Once                   // of gone
}

// readBaseline reads the changed files of a repository. Uncommitted and untracked files count as changes.
func readBaseline(ctx context.Context, c *admitCommand) (*baseline, error) {
	b := &baseline{command: c, root: repository.Root(), changed: map[string]bool{}, files: map[string]*oldFile{},
		sources: map[string]string{}, now: map[string]map[key]int{}, nth: map[*workspace.Manifest]int{}}
	commit, err := b.git(ctx, nil, "merge-base", "--end-of-options", c.Base, "HEAD")
	if err != nil {
		return nil, fmt.Errorf("--base: there is no merge base of HEAD and %s: name a commit, and fetch its history, "+
			"such as with fetch-depth: 0 (%w)", terminal.OneLine(c.Base), err)
	}
	b.commit = strings.TrimSpace(string(commit))
	diff, err := b.git(ctx, nil, "diff", "--raw", "-z", "--no-abbrev", "--find-renames", b.commit, "--")
	if err != nil {
		return nil, err
	}
	var old []blob
	// Each change is ":MODE MODE ID ID STATUS" and the name, or for a rename both names. Each part ends with a zero byte.
	parts := strings.Split(string(diff), "\x00")
	for len(parts) > 1 {
		fields, name, now := strings.Fields(parts[0]), parts[1], parts[1]
		if len(fields) != 5 || fields[4][0] == 'R' && len(parts) < 3 {
			return nil, fmt.Errorf("--base: git diff printed %q", parts[0])
		}
		parts = parts[2:]
		if fields[4][0] == 'R' {
			now, parts = parts[0], parts[1:]
			b.sources[b.path(now)] = b.path(name)
			b.add(name, deleted)
		}
		old = b.addBlob(old, blob{id: fields[2], name: name}, strings.TrimPrefix(fields[0], ":"))
		b.add(now, fields[1])
	}
	untracked, err := b.git(ctx, nil, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(string(untracked), "\x00") {
		b.add(name, regular)
	}
	if err := b.read(ctx, old); err != nil {
		return nil, err
	}
	b.addLinked()
	return b, nil
}

// Modes of files in git.
const (
	deleted    = "000000"
	regular    = "100644"
	executable = "100755"
	symlink    = "120000"
	submodule  = "160000"
)

// addBlob adds a file of the commit to a list if it can have manifests.
func (b *baseline) addBlob(list []blob, of blob, mode string) []blob {
	switch {
	case !isManifest(of.name):
		return list
	case mode == regular || mode == executable:
	case mode == symlink && !strings.Contains(of.name, "\n"): // git cat-file reads lines
		of.id, of.link = b.commit+":"+of.name, true
	default:
		return list
	}
	return append(list, of)
}

// checkFiles returns an error for a file that git does not compare.
func (b *baseline) checkFiles(names []string) error {
	for _, name := range names {
		relative, err := filepath.Rel("/"+b.path(""), "/"+b.realPath(repository.PathOf(name)))
		if name == "-" || err != nil || !filepath.IsLocal(relative) {
			return fmt.Errorf("--base: %s is not in the repository %s", terminal.OneLine(name), terminal.OneLine(b.root))
		}
	}
	return nil
}

// isManifest reports whether a file of git can have manifests.
func isManifest(name string) bool { return workspace.IsFileName(path.Base(name)) }

// add adds a changed file by its name and its mode in git.
func (b *baseline) add(name, mode string) {
	b.all = b.all || path.Base(name) == configName
	if mode == submodule || mode != deleted && isManifest(name) {
		b.changed[b.path(name)] = true
	}
}

// path returns the path of a name that is relative to the root of the repository. No folder in it is a link.
func (b *baseline) path(name string) string {
	return path.Join(b.realPath(repository.PathOf(b.root)), name)
}

// maxBaseBytes bounds the files of a baseline together.
const maxBaseBytes = 1 << 30

// blob is a file of the commit. The id of a symbolic link is COMMIT:NAME, so that git reads the file to which it leads.
type blob struct {
	id, name string
	link     bool
}

// read reads files of the commit.
func (b *baseline) read(ctx context.Context, list []blob) error {
	if len(list) == 0 {
		return nil
	}
	var ids bytes.Buffer
	for _, of := range list {
		fmt.Fprintln(&ids, of.id)
	}
	out, err := b.git(ctx, &ids, "cat-file", "--batch", "--follow-symlinks")
	if err != nil {
		return err
	}
	in := bufio.NewReader(bytes.NewReader(out))
	for _, of := range list {
		text, err := nextObject(in)
		if err != nil {
			return fmt.Errorf("--base: %s in %s: %w", terminal.OneLine(of.name), b.commit, err)
		}
		name := of.name + " in " + b.commit[:min(len(b.commit), 12)]
		f := b.oldFile(workspace.Parse(workspace.Source{Name: name, Path: b.path(of.name)}, text, 0), of.link)
		b.files[f.Path] = f
		b.all = b.all || definesKinds(f.File)
	}
	return nil
}

// definesKinds reports whether a file has CRDs or conversion rules.
func definesKinds(f *workspace.File) bool {
	return len(f.CRDs) > 0 || slices.ContainsFunc(f.Manifests, func(m *workspace.Manifest) bool { return m.Conversion })
}

// nextObject reads an object that git cat-file --batch prints: its id, type and size, a line feed, the content, a line
// feed. It returns nil for a symbolic link that leads to no file of the commit: git prints why and a size.
func nextObject(in *bufio.Reader) ([]byte, error) {
	head, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(head)
	leadsNowhere := len(fields) == 2 && slices.Contains([]string{"dangling", "loop", "notdir", "symlink"}, fields[0])
	if len(fields) != 3 && !leadsNowhere {
		return nil, errors.New("git does not have the content: fetch it, such as without --filter")
	}
	size, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil {
		return nil, err
	}
	text := make([]byte, size+1)
	if _, err = io.ReadFull(in, text); leadsNowhere || fields[1] != "blob" {
		return nil, err
	}
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
		err = fmt.Errorf("git %s: %s", arguments[2], terminal.OneLine(reason))
	}
	if len(out) > maxBaseBytes {
		err = fmt.Errorf("--base: the changed files have more than %d MiB", maxBaseBytes>>20)
	}
	return out, err
}
