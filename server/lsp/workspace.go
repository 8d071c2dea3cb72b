package lsp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/repository"
)

// Settings are those of a workspace.
type Settings struct {
	// CRDs are files, directories and URLs with CRDs in addition to those of the workspace. They take precedence over
	// them. Directories include their subdirectories.
	CRDs []string
	// Read reads a URL.
	Read func(url string) ([]byte, error)
	// Skip returns why a file is not read, such as a template, or "".
	Skip func(file string) string
	// SkipKind reports whether objects of a kind are not checked.
	SkipKind func(apiVersion, kind string) bool
	// FieldValidation is how unknown and duplicate fields are reported: as errors, as warnings, or not at all.
	FieldValidation engine.FieldValidation
	// KubernetesMinor is the minor version of Kubernetes, 0 for the latest.
	KubernetesMinor int
	// Namespace is that of objects without one.
	Namespace string
}

// maxFileBytes bounds a file that is read from disk.
const maxFileBytes = 16 << 20

// bounds are the limits of a search for CRDs. Files beyond a limit are not read. Settings.CRDs and the folders of the
// workspace are searched separately.
type bounds struct {
	entries int // of directories
	bytes   int // of all files
	time    time.Duration
}

var defaultBounds = bounds{entries: 50_000, bytes: 256 << 20, time: 30 * time.Second}

// crdSource is a CRD of a file. It is compiled when it is first used.
type crdSource struct {
	file     string
	text     string // as JSON
	whole    []byte // the text of the file
	begin    int    // of the document in it
	manifest *workspace.Manifest
	name     string
	group    string
	kind     string
	versions []crdVersion

	mu         sync.Mutex
	compiled   bool
	definition *engine.Definition // nil if the CRD is rejected
	crd        *apiextensionsv1.CustomResourceDefinition
	failure    string
	lines      *lineIndex // of whole, with docs; nil: not needed yet
	docs       []document
}

type crdVersion struct {
	Name   string `json:"name"`
	Served bool   `json:"served"`
}

// groupKind identifies a kind.
type groupKind struct{ group, kind string }

// folders have the CRDs of all files. Its methods can be called concurrently.
type folders struct {
	bounds   bounds
	mu       sync.Mutex
	roots    []string // all directories that are searched
	settings Settings
	explicit map[string]bool // files of Settings.CRDs
	files    map[string][]*crdSource
	kinds    map[groupKind][]*crdSource // nil: files has changed
	problems []string                   // of reading files
}

// load reads the settings' CRDs and the files of the roots. open has the content of open files.
func (w *folders) load(ctx context.Context, roots []string, settings Settings, open map[string][]byte) {
	w.mu.Lock()
	w.roots, w.settings, w.explicit = slices.Concat(settings.CRDs, roots), settings, map[string]bool{}
	w.files, w.problems = map[string][]*crdSource{}, nil
	w.mu.Unlock()
	w.search(ctx, settings.CRDs, true)
	w.search(ctx, roots, false)
	for path, text := range open {
		w.update(path, text)
	}
}

// search reads the CRDs of files and directories. explicit says that they are named in the settings.
func (w *folders) search(ctx context.Context, names []string, explicit bool) {
	ctx, cancel := context.WithTimeout(ctx, w.bounds.time)
	defer cancel()
	entries, bytes, files := 0, 0, 0
	var failed []error
	defer func() {
		switch more := len(failed) - 1; {
		case more == 0:
			w.problem("%v", failed[0])
		case more > 0:
			w.problem("%v (and %d more)", failed[0], more)
		}
	}()
	file := func(path string) {
		if explicit {
			w.mu.Lock()
			w.explicit[path] = true
			w.mu.Unlock()
		}
		files++
		text, err := w.read(path)
		bytes += len(text)
		if err != nil {
			failed = append(failed, err)
			return
		}
		w.update(path, text)
	}
	for _, root := range names {
		if repository.IsURL(root) {
			file(root)
			continue
		}
		files = 0
		bound := ""
		root = repository.WalkRoot(root)
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			entries++
			switch {
			case entries > w.bounds.entries:
				bound = fmt.Sprintf("%d directory entries", w.bounds.entries)
			case bytes > w.bounds.bytes:
				bound = fmt.Sprintf("%d MiB", w.bounds.bytes>>20)
			case errors.Is(ctx.Err(), context.DeadlineExceeded):
				bound = w.bounds.time.String()
			}
			switch {
			case bound != "" || ctx.Err() != nil:
				return fs.SkipAll
			case err != nil && path == root:
				return err
			case err != nil:
				failed = append(failed, err)
				return nil
			case e.IsDir() && path != root && isSkipped(e.Name()):
				return fs.SkipDir
			case !e.IsDir() && (path == root || workspace.IsFileName(e.Name()) && !repository.IsIrregular(path)):
				file(path)
			}
			return nil
		})
		switch {
		case err != nil:
			failed = append(failed, err)
		case bound != "":
			w.problem("%s: the search for CRDs ended after %s: the CRDs of the other files are unknown; "+
				"name their directories with --crds", root, bound)
			return
		case explicit && files == 0 && ctx.Err() == nil:
			w.problem("%s: the directory has no .yaml, .yml or .json file", root)
		}
	}
}

// isSkipped reports whether a search skips directories with a name.
func isSkipped(name string) bool { return name[0] == '.' || name == "node_modules" }

// inSkipped reports whether the search skips a directory with the file.
func (w *folders) inSkipped(path string) bool {
	for _, root := range w.roots {
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err == nil && filepath.IsLocal(dir) {
			return dir != "." && slices.ContainsFunc(strings.Split(dir, string(filepath.Separator)), isSkipped)
		}
	}
	return false
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
	w.mu.Lock()
	defer w.mu.Unlock()
	files := []string{path}
	for file := range w.files {
		if strings.HasPrefix(file, path+string(filepath.Separator)) {
			files = append(files, file)
		}
	}
	return files
}

// read returns the text of a file with CRDs. It is empty if a file of the workspace is skipped, or is not a regular
// file any more.
func (w *folders) read(path string) (text []byte, err error) {
	w.mu.Lock()
	explicit, read, skipped := w.explicit[path], w.settings.Read, w.inSkipped(path)
	w.mu.Unlock()
	switch {
	case !explicit && (skipped || w.skip(path) != ""):
	case repository.IsURL(path):
		if text, err = read(path); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	default:
		text, err = repository.ReadRegular(path, maxFileBytes)
		if !explicit && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, repository.ErrIrregular)) {
			err = nil
		}
	}
	if err != nil {
		return text, fmt.Errorf("%w: its CRDs are unknown", err)
	}
	return text, nil
}

// skip returns why a file is not read, or "".
func (w *folders) skip(path string) string {
	w.mu.Lock()
	skip, explicit := w.settings.Skip, w.explicit[path]
	w.mu.Unlock()
	if skip == nil || explicit {
		return ""
	}
	return skip(path)
}

// update replaces the CRDs of a file. It reports whether they changed. CRDs with the same text stay compiled.
func (w *folders) update(path string, text []byte) (changed bool) {
	list := crdsOf(path, text)
	w.mu.Lock()
	defer w.mu.Unlock()
	old := w.files[path]
	changed = len(old) != len(list)
	for i, c := range list {
		j := slices.IndexFunc(old, func(o *crdSource) bool { return o.text == c.text })
		if j < 0 {
			changed = true
			continue
		}
		if o := old[j]; o.mu.TryLock() { // else it is being compiled
			c.compiled, c.definition, c.crd, c.failure = o.compiled, o.definition, o.crd, o.failure
			o.mu.Unlock()
		}
		list[i] = c
	}
	if len(old)+len(list) == 0 {
		return false
	}
	w.kinds = nil
	w.files[path] = list
	if len(list) == 0 {
		delete(w.files, path)
	}
	return changed
}

// crdsOf returns the CRDs of a file.
func crdsOf(path string, text []byte) (list []*crdSource) {
	if !bytes.Contains(text, []byte(workspace.CRDKind)) {
		return nil
	}
	for _, m := range workspace.Read(text) {
		if m.Err != nil || m.Kind != workspace.CRDKind {
			continue
		}
		var fields struct {
			Spec struct {
				Group string `json:"group"`
				Names struct {
					Kind string `json:"kind"`
				} `json:"names"`
				Version  string       `json:"version"` // v1beta1
				Versions []crdVersion `json:"versions"`
			} `json:"spec"`
		}
		manifest := m.JSON()
		_ = json.Unmarshal(manifest, &fields) // invalid fields stay empty
		c := &crdSource{
			file: path, text: string(manifest), whole: text, begin: max(m.Position("", engine.Position{Line: 1}).Offset,
				0), manifest: m, name: m.Name, group: fields.Spec.Group,
			kind: fields.Spec.Names.Kind, versions: fields.Spec.Versions,
		}
		if fields.Spec.Version != "" && len(c.versions) == 0 {
			c.versions = []crdVersion{{fields.Spec.Version, true}}
		}
		list = append(list, c)
	}
	return list
}

// ofKind returns the CRD of a kind, or nil. Files of the settings come first, then those of the workspace by name.
func (w *folders) ofKind(group, kind string) *crdSource {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.index()
	if all := w.kinds[groupKind{group, kind}]; len(all) > 0 {
		return all[0]
	}
	return nil
}

// index makes kinds. The caller holds the lock.
func (w *folders) index() {
	if w.kinds != nil {
		return
	}
	w.kinds = map[groupKind][]*crdSource{}
	for _, list := range w.files {
		for _, c := range list {
			key := groupKind{c.group, c.kind}
			w.kinds[key] = append(w.kinds[key], c)
		}
	}
	last := func(c *crdSource) int {
		if w.explicit[c.file] {
			return 0
		}
		return 1
	}
	for _, list := range w.kinds {
		slices.SortStableFunc(list, func(a, b *crdSource) int {
			return cmp.Or(cmp.Compare(last(a), last(b)), strings.Compare(a.file, b.file))
		})
	}
}

// all returns the CRDs, one for each kind, by group and kind.
func (w *folders) all() (list []*crdSource) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.index()
	for _, c := range w.kinds {
		list = append(list, c[0])
	}
	slices.SortFunc(list, func(a, b *crdSource) int {
		return cmp.Or(strings.Compare(a.group, b.group), strings.Compare(a.kind, b.kind))
	})
	return list
}

// compile compiles the CRD once. A CRD of a cluster, with the condition Established, is not checked.
func (c *crdSource) compile(ctx context.Context, minor int) (*engine.Definition, string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.compiled {
		return c.definition, c.failure
	}
	o := engine.Options{KubernetesMinor: minor}
	d, report, err := engine.Compile(ctx, c.manifest.Document, o)
	if err == nil && d == nil && c.established() {
		d, _, err = engine.CompileAsStored(ctx, c.manifest.Document, o)
	}
	if ctx.Err() != nil {
		return nil, "the CRD was not compiled in time"
	}
	c.compiled, c.definition = true, d
	switch {
	case err != nil:
		c.failure, _, _ = c.manifest.Describe(err)
	case d == nil && len(report.Violations) > 0:
		c.failure = report.Violations[0].Error()
	case d == nil && report.Rejection != nil:
		c.failure = report.Rejection.Message
	case d != nil:
		c.crd = &apiextensionsv1.CustomResourceDefinition{}
		if err := json.Unmarshal(d.Manifest(), c.crd); err != nil {
			c.failure = err.Error()
		}
	}
	return c.definition, c.failure
}

// established reports whether the CRD has the condition Established.
func (c *crdSource) established() bool {
	var crd struct {
		Status engine.Status `json:"status"`
	}
	_ = json.Unmarshal([]byte(c.text), &crd)
	return slices.ContainsFunc(crd.Status.Conditions, func(c engine.Condition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}

// schema returns the schema of a version of an accepted CRD, or nil.
func (c *crdSource) schema(version string) *schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.crd == nil {
		return nil
	}
	for i := range c.crd.Spec.Versions {
		if v := &c.crd.Spec.Versions[i]; v.Name == version && v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
			return &schema{props: v.Schema.OpenAPIV3Schema, root: true}
		}
	}
	return nil
}
