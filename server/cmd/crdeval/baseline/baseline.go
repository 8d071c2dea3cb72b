// Package baseline finds what changed in a git repository since a commit, and the objects and CRDs before the changes:
// baseline.go reads the changed files from git, before.go finds an object in them.
package baseline

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

// Changes are the files of a repository that changed since a commit, and what they had then.
type Changes struct {
	Commit string // the merge base of HEAD and the commit
	Root   string // of the repository

	namespace string // of objects without one
	settings  string // the name of files with settings

	changed map[string]bool     // paths of the files and submodules that changed and still exist
	files   map[string]*oldFile // files of the commit that changed, by their paths
	sources map[string]string   // paths of the commit, by the paths to which git reports that they were renamed
	all     bool                // everything is evaluated: a CRD, conversion rules or the settings changed

	now   map[string]map[Key]int      // what the changed files have now that were read, and how often, by their paths
	nth   map[*workspace.Manifest]int // how many manifests before it in its file have the same key, if any
	real  sync.Map                    // results of realPath, by their arguments
	gone  map[Key]*workspace.Manifest // results of findGone; nil if several are possible
	index sync.Once                   // of gone
}

// Key identifies an object in a cluster.
type Key struct{ Group, Kind, Namespace, Name string }

// KeyOf returns the key of an object. namespace is that of objects without one.
func KeyOf(id *workspace.Identity, namespace string) Key {
	return Key{workspace.GroupOf(id.APIVersion), id.Kind, cmp.Or(id.Namespace, namespace), id.Name}
}

// Read reads the changed files of the repository that contains the working directory. Uncommitted and untracked files
// count as changes. base names the commit. namespace is that of objects without one. If a file with the name settings
// changed, everything is evaluated.
func Read(ctx context.Context, base, namespace, settings string) (*Changes, error) {
	b := &Changes{Root: repository.Root(), namespace: namespace, settings: settings, changed: map[string]bool{},
		files: map[string]*oldFile{}, sources: map[string]string{}, now: map[string]map[Key]int{},
		nth: map[*workspace.Manifest]int{}}
	commit, err := b.git(ctx, nil, "merge-base", "--end-of-options", base, "HEAD")
	if err != nil {
		return nil, fmt.Errorf("--base: there is no merge base of HEAD and %s: name a commit, and fetch its history, "+
			"such as with fetch-depth: 0 (%w)", terminal.OneLine(base), err)
	}
	b.Commit = strings.TrimSpace(string(commit))
	diff, err := b.git(ctx, nil, "diff", "--raw", "-z", "--no-abbrev", "--find-renames", b.Commit, "--")
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
			b.sources[b.Path(now)] = b.Path(name)
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
func (b *Changes) addBlob(list []blob, of blob, mode string) []blob {
	switch {
	case !isManifest(of.name):
		return list
	case mode == regular || mode == executable:
	case mode == symlink && !strings.Contains(of.name, "\n"): // git cat-file reads lines
		of.id, of.link = b.Commit+":"+of.name, true
	default:
		return list
	}
	return append(list, of)
}

// CheckFiles returns an error for a file that git does not compare.
func (b *Changes) CheckFiles(names []string) error {
	for _, name := range names {
		relative, err := filepath.Rel("/"+b.Path(""), "/"+b.realPath(repository.PathOf(name)))
		if name == "-" || err != nil || !filepath.IsLocal(relative) {
			return fmt.Errorf("--base: %s is not in the repository %s", terminal.OneLine(name), terminal.OneLine(b.Root))
		}
	}
	return nil
}

// isManifest reports whether a file of git can have manifests.
func isManifest(name string) bool { return workspace.IsFileName(path.Base(name)) }

// add adds a changed file by its name and its mode in git.
func (b *Changes) add(name, mode string) {
	b.all = b.all || path.Base(name) == b.settings
	if mode == submodule || mode != deleted && isManifest(name) {
		b.changed[b.Path(name)] = true
	}
}

// Path returns the path of a name that is relative to the root of the repository. No folder in it is a link.
func (b *Changes) Path(name string) string {
	return path.Join(b.realPath(repository.PathOf(b.Root)), name)
}

// maxBaseBytes bounds the files of a baseline together.
const maxBaseBytes = 1 << 30

// blob is a file of the commit. The id of a symbolic link is COMMIT:NAME, so that git reads the file to which it leads.
type blob struct {
	id, name string
	link     bool
}

// read reads files of the commit.
func (b *Changes) read(ctx context.Context, list []blob) error {
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
			return fmt.Errorf("--base: %s in %s: %w", terminal.OneLine(of.name), b.Commit, err)
		}
		name := of.name + " in " + b.Commit[:min(len(b.Commit), 12)]
		f := b.oldFile(workspace.Parse(workspace.Source{Name: name, Path: b.Path(of.name)}, text, 0), of.link)
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
func (b *Changes) git(ctx context.Context, stdin io.Reader, arguments ...string) ([]byte, error) {
	arguments = append([]string{"-c", "core.fsmonitor=false"}, arguments...)
	c := exec.CommandContext(ctx, "git", arguments...) //nolint:gosec // no shell
	c.Dir, c.Stdin, c.Env = b.Root, stdin, append(os.Environ(), "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0")
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
