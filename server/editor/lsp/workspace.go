package lsp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/repository"
	"github.com/crdeval/crdeval/server/editor/assist"
)

// Settings are those of a workspace.
type Settings struct {
	// CRDs are files, directories and URLs with CRDs in addition to those of the workspace. They take precedence over
	// them. Directories include their subdirectories.
	CRDs []string
	// Read reads a URL.
	Read func(url string) ([]byte, error)
	// Filter recognises files that are not read, such as templates. It may be nil.
	Filter *workspace.Filter
	// SkipKind reports whether objects of a kind are not checked.
	SkipKind func(apiVersion, kind string) bool
	// FieldValidation is how unknown and duplicate fields are reported: as errors, as warnings, or not at all.
	FieldValidation engine.FieldValidation
	// Kubernetes is the version of Kubernetes, such as "1.34". The default is the latest.
	Kubernetes string
	// Namespace is that of objects without one.
	Namespace string
}

// maxFileBytes bounds a file that is read from disk.
const maxFileBytes = 16 << 20

// bounds are the limits of a search for CRDs. Files beyond a limit are not read. Settings.CRDs and the folders of the
// workspace are searched separately.
type bounds struct {
	entries int // folders, and files that can have manifests
	bytes   int // of all files
	time    time.Duration
}

var defaultBounds = bounds{entries: 50_000, bytes: 256 << 20, time: 30 * time.Second}

// folders have the CRDs of all files. Its methods can be called concurrently.
type folders struct {
	bounds   bounds
	mu       sync.Mutex
	roots    []string
	settings Settings
	editor   *assist.Assistant // with the CRDs; nil: none
	revision int               // increases with each change of the CRDs
	problems []string          // of reading files
}

// load reads the settings' CRDs and the files of the roots. open has the content of open files.
func (w *folders) load(ctx context.Context, roots []string, settings Settings, open map[string][]byte) {
	w.mu.Lock()
	w.roots, w.settings, w.problems = roots, settings, nil
	options := engine.Options{Kubernetes: settings.Kubernetes}
	w.editor = &assist.Assistant{CRDs: &workspace.Workspace{Options: options}}
	w.mu.Unlock()
	w.search(ctx, settings.CRDs)
	w.search(ctx, roots)
	for path, text := range open {
		w.update(w.parse(ctx, path, text))
	}
}

// assistant returns what completes and explains texts with the CRDs.
func (w *folders) assistant() *assist.Assistant {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.editor == nil {
		w.editor = &assist.Assistant{CRDs: &workspace.Workspace{}}
	}
	return w.editor
}

// set returns the workspace with the CRDs.
func (w *folders) set() *workspace.Workspace { return w.assistant().CRDs }

// source returns the source of a file, a URL or another document of an editor, without Read.
func (w *folders) source(name string) workspace.Source {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := workspace.Source{Name: name}
	if !filepath.IsAbs(name) {
		s.Given = slices.Contains(w.settings.CRDs, name)
		return s
	}
	s.Path = repository.PathOf(name)
	for _, root := range w.roots {
		if relative := repository.Relative(root, name); !filepath.IsAbs(filepath.FromSlash(relative)) {
			s.Name = relative
			break
		}
	}
	s.Given = slices.ContainsFunc(w.settings.CRDs, func(of string) bool { return contains(of, name) })
	return s
}

// contains reports whether a folder contains a file, or is the file.
func contains(folder, file string) bool {
	separator := string(filepath.Separator)
	return file == folder || strings.HasPrefix(file, strings.TrimSuffix(folder, separator)+separator)
}

// filter returns the filter for a source: nil for one of Settings.CRDs.
func (w *folders) filter(s workspace.Source) *workspace.Filter {
	if s.Given {
		return nil
	}
	return w.config().Filter
}

// skips reports whether a file is not read.
func (w *folders) skips(path string) bool {
	s := w.source(path)
	return w.filter(s).Recognise(s).Kind != ""
}

// parse returns the manifests of an open file.
func (w *folders) parse(ctx context.Context, path string, text []byte) *workspace.File {
	s := w.source(path)
	s.Read = func(context.Context) ([]byte, error) { return text, nil }
	return workspace.Load(ctx, s, w.filter(s))
}

// search reads the CRDs of files, directories and URLs.
func (w *folders) search(ctx context.Context, names []string) {
	ctx, cancel := context.WithTimeout(ctx, w.bounds.time)
	defer cancel()
	entries, size := 0, 0
	var failed []error
	for _, name := range names {
		bound := func() string {
			switch {
			case entries > w.bounds.entries:
				return fmt.Sprintf("%d files and folders", w.bounds.entries)
			case size > w.bounds.bytes:
				return fmt.Sprintf("%d MiB", w.bounds.bytes>>20)
			case errors.Is(ctx.Err(), context.DeadlineExceeded):
				return w.bounds.time.String()
			}
			return ""
		}
		files := 0
		read := func(path string, from func(context.Context) ([]byte, error)) bool {
			entries, files = entries+1, files+1
			if bound() != "" || ctx.Err() != nil {
				return false
			}
			f, read, err := w.readFrom(ctx, path, from)
			if size += read; err != nil {
				failed = append(failed, err)
				return true
			}
			w.update(f)
			return true
		}
		root := repository.PathOf(name)
		info, err := fs.Stat(repository.FS(), root)
		if repository.IsURL(name) || err != nil || !info.IsDir() {
			read(name, w.reader(name))
		} else {
			enter := func(string) bool { entries++; return bound() == "" && ctx.Err() == nil }
			options := workspace.WalkOptions{Recursive: true, Skips: isSkipped, Limit: maxFileBytes, Enter: enter}
			for s := range workspace.Walk(repository.FS(), root, options) {
				if !read(repository.NameOf(s.Path), s.Read) {
					break
				}
			}
		}
		switch reached := bound(); {
		case reached != "":
			w.problem("%s: the search for CRDs ended after %s: the CRDs of the other files are unknown; "+
				"name their directories with --crds", name, reached)
			w.report(failed)
			return
		case files == 0 && ctx.Err() == nil && w.source(name).Given:
			w.problem("%s: the directory has no .yaml, .yml or .json file", name)
		}
	}
	w.report(failed)
}

// report records the errors of a search.
func (w *folders) report(failed []error) {
	switch more := len(failed) - 1; {
	case more == 0:
		w.problem("%v", failed[0])
	case more > 0:
		w.problem("%v (and %d more)", failed[0], more)
	}
}

// config returns the settings.
func (w *folders) config() Settings {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.settings
}

// problem records a problem for the user.
func (w *folders) problem(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.problems) < 20 {
		w.problems = append(w.problems, fmt.Sprintf(format, args...))
	}
}

// takeProblems returns the problems since the last call.
func (w *folders) takeProblems() (all []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all, w.problems = w.problems, nil
	return all
}

// filesAt returns a path, and the files with CRDs below it.
func (w *folders) filesAt(path string) []string {
	files := []string{path}
	for _, f := range w.set().Files() {
		if f.Path == "" {
			continue
		}
		if file := repository.NameOf(f.Path); file != path && contains(path, file) {
			files = append(files, file)
		}
	}
	return files
}

// reader returns the function that reads a file or a URL.
func (w *folders) reader(name string) func(context.Context) ([]byte, error) {
	if repository.IsURL(name) {
		return func(context.Context) ([]byte, error) { return w.config().Read(name) }
	}
	return workspace.FileSource(repository.FS(), name, repository.PathOf(name), maxFileBytes).Read
}

// read reads a changed file. It has no manifests if the search skips its folder.
func (w *folders) read(ctx context.Context, name string) (*workspace.File, error) {
	if s := w.source(name); !s.Given && w.isHidden(s.Path) {
		return &workspace.File{Source: s}, nil
	}
	f, _, err := w.readFrom(ctx, name, w.reader(name))
	return f, err
}

// readFrom reads a file with CRDs, and returns its size. It has no manifests if it has no CRD, and if a file of the
// workspace is skipped, or is not a regular file any more.
func (w *folders) readFrom(ctx context.Context, name string, from func(context.Context) ([]byte, error)) (
	f *workspace.File, size int, err error) {
	s := w.source(name)
	s.Read = func(ctx context.Context) ([]byte, error) {
		text, err := from(ctx)
		if size = len(text); !bytes.Contains(text, []byte(workspace.CRDKind)) {
			return nil, err // most files: they are not parsed
		}
		return text, err
	}
	f = workspace.Load(ctx, s, w.filter(s))
	if f.Err != nil && (s.Given || !errors.Is(f.Err, fs.ErrNotExist) && !errors.Is(f.Err, fs.ErrInvalid)) {
		return f, size, fmt.Errorf("the CRDs of %s are unknown: %w", name, f.Err)
	}
	return f, size, nil
}

// isSkipped reports whether a search leaves out subfolders with a name.
func isSkipped(name string) bool { return strings.HasPrefix(name, ".") || name == "node_modules" }

// isHidden reports whether the search skips a folder with the file.
func (w *folders) isHidden(file string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, root := range w.roots {
		relative, ok := strings.CutPrefix(path.Dir(file), repository.PathOf(root))
		if ok && (relative == "" || relative[0] == '/') {
			return relative != "" && slices.ContainsFunc(strings.Split(relative[1:], "/"), isSkipped)
		}
	}
	return false
}

// update replaces the CRDs of a file. It reports whether they changed. CRDs with the same text stay compiled.
func (w *folders) update(f *workspace.File) (changed bool) {
	if !w.set().Set(f) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.revision++
	return true
}
