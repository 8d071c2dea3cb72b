package workspace

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"
)

// Skip says why a file or a document is not evaluated. The zero Skip means that it is evaluated.
type Skip struct {
	// Kind is for counts: Helm template, kustomization.
	Kind string
	// Reason is a phrase for messages: template of the Helm chart charts/app.
	Reason string
}

// The kinds of skipped files.
const (
	SkipExcluded      = "excluded file"
	SkipHelmFile      = "Helm chart file"
	SkipHelmTemplate  = "Helm template"
	SkipKustomization = "kustomization"
	SkipPatch         = "kustomize patch"
	SkipKustomizeFile = "kustomize file"
	// SkipSubstitution: objects whose violations are about values with variables that Flux or envsubst replaces.
	SkipSubstitution = "Flux substitution"
	// SkipTemplate: files outside of charts that are probably templates. Outputs always list them, because they could be
	// invalid manifests.
	SkipTemplate = "template"
)

// Filter recognises files that are not manifests: excluded files, templates and values of Helm charts, kustomizations
// and their patches. A nil Filter recognises none. It is safe for concurrent use.
type Filter struct {
	fsys          fs.FS
	root, working string
	exclude       []string
	templates     bool // recognise other templates than those of charts

	mu      sync.Mutex
	charts  map[string]bool // directories, whether they are charts
	visited map[string]bool // directories whose kustomization is in uses
	uses    map[string]Skip
	// resources of kustomizations are manifests, also if they are the content of a ConfigMap, or patches elsewhere.
	resources map[string]bool
}

// FilterOptions configure a Filter.
type FilterOptions struct {
	// Root is the folder of the repository. The filter ignores charts and kustomizations above it. Paths in messages
	// are relative to Working. Both are paths in the file system.
	Root, Working string
	// Exclude has globs of files and folders, relative to Working or Root. A glob without a slash matches base names.
	Exclude []string
	// Templates enables the search for templates outside of charts: files with template actions, and with a document
	// that cannot be read. In such a file, this document and those with placeholders are parts of the template.
	Templates bool
}

// NewFilter returns a filter for the files of a file system. The error is about a glob.
func NewFilter(fsys fs.FS, o FilterOptions) (*Filter, error) {
	for _, pattern := range o.Exclude {
		if !doublestar.ValidatePattern(pattern) {
			return nil, fmt.Errorf("%q is not a glob", pattern)
		}
	}
	return &Filter{
		fsys: fsys, root: path.Clean(o.Root), working: path.Clean(o.Working), exclude: o.Exclude, templates: o.Templates,
		charts: map[string]bool{}, visited: map[string]bool{}, uses: map[string]Skip{}, resources: map[string]bool{},
	}, nil
}

// Visit reads the kustomizations of the folders of files and of their parents. Recognise then knows the patches that
// they name in other folders, too.
func (f *Filter) Visit(paths ...string) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, file := range paths {
		f.visit(path.Dir(file))
	}
}

// Recognise returns why a source is not read as manifests, or the zero Skip.
func (f *Filter) Recognise(s Source) Skip {
	if f == nil || s.Path == "" {
		return Skip{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.visit(path.Dir(s.Path))
	return f.recognise(s.Path)
}

// recognise is Recognise for a path whose kustomizations are known.
func (f *Filter) recognise(file string) Skip {
	dir, base := path.Dir(file), path.Base(file)
	if pattern := f.excludedBy(file); pattern != "" {
		return Skip{SkipExcluded, "excluded by " + pattern}
	}
	chartFile := Skip{SkipHelmFile, "part of a Helm chart"}
	if f.isChart(dir) && (base == "Chart.yaml" || base == "requirements.yaml" || strings.HasPrefix(base, "values")) {
		return chartFile
	}
	for ; ; dir = path.Dir(dir) {
		switch parent := path.Dir(dir); {
		case path.Base(dir) == "templates" && f.isChart(parent):
			return Skip{SkipHelmTemplate, "template of the Helm chart " + f.show(parent)}
		case path.Base(dir) == "ci" && f.isChart(parent) && strings.HasSuffix(strings.TrimSuffix(base, path.Ext(base)), "values"):
			return chartFile
		case parent != dir && dir != f.root:
		case f.resources[file]:
			return Skip{}
		default:
			return f.uses[file]
		}
	}
}

// excludedBy returns the pattern that matches a file or one of its folders, or "".
func (f *Filter) excludedBy(file string) string {
	for _, pattern := range f.exclude {
		for _, base := range []string{f.working, f.root} {
			relative, ok := relativeTo(base, file)
			if !ok {
				continue
			}
			for part := relative; part != "." && part != "/" && path.Base(part) != ".."; part = path.Dir(part) {
				name := part
				if !strings.Contains(strings.TrimSuffix(pattern, "/"), "/") {
					name = path.Base(part)
				}
				if doublestar.MatchUnvalidated(strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/"), name) {
					return pattern
				}
			}
		}
	}
	return ""
}

// relativeTo returns a path relative to a folder that contains it.
func relativeTo(folder, file string) (relative string, ok bool) {
	if folder == "." {
		return file, true
	}
	return strings.CutPrefix(file, strings.TrimSuffix(folder, "/")+"/")
}

// isChart reports whether a folder is a Helm chart.
func (f *Filter) isChart(dir string) bool {
	is, known := f.charts[dir]
	if !known {
		info, err := fs.Stat(f.fsys, path.Join(dir, "Chart.yaml"))
		is = err == nil && info.Mode().IsRegular()
		f.charts[dir] = is
	}
	return is
}

// show returns a path for messages.
func (f *Filter) show(file string) string {
	if relative, err := filepath.Rel(f.working, file); err == nil {
		return filepath.ToSlash(relative)
	}
	return file
}

var (
	// action matches a line with an action of a template and without quotes and comments before it: of Go, Helm and Jinja.
	action = regexp.MustCompile(`^[^"'#]*(\{\{|\{%)`)
	// block matches a line before a block scalar.
	block = regexp.MustCompile(`(^|[-:?]\s+|\s)[|>][-+0-9]*\s*(#.*)?$`)
)

// hasAction reports whether a text has an action of a template outside of strings and comments.
func hasAction(text []byte) bool {
	scalar := -1 // the indentation of the line before a block scalar
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\r\n")
		indent := len(line) - len(bytes.TrimLeft(line, " "))
		if scalar >= 0 && (indent > scalar || len(bytes.TrimSpace(line)) == 0) {
			continue
		}
		scalar = -1
		if action.Match(line) {
			return true
		}
		if block.Match(line) {
			scalar = indent
		}
	}
	return false
}

// template marks the documents of a file that are parts of a template, if the file is one: it has template actions, and a
// document of it cannot be read. It returns why the file is skipped if all documents are.
func (f *Filter) template(of *File, text []byte) Skip {
	unreadable := func(m *Manifest) bool { return m.Err != nil }
	first := slices.IndexFunc(of.Manifests, unreadable)
	if f == nil || !f.templates || first < 0 || !hasAction(text) {
		return Skip{}
	}
	skip := Skip{SkipTemplate, fmt.Sprintf("probably a template: it contains {{ or {%%, and is not YAML (%v)", of.Manifests[first].Err)}
	others := 0
	for _, m := range of.Manifests {
		if m.IsTemplate = unreadable(m) || placeholder.Match(m.text()); !m.IsTemplate {
			others++
		}
	}
	if of.CRDs = slices.DeleteFunc(of.CRDs, func(c *CRD) bool { return c.IsTemplate }); others > 0 {
		return Skip{}
	}
	return skip
}

// objectKeys matches a text that could have an object, if it could be read.
var objectKeys = regexp.MustCompile(`"?\b(apiVersion|kind)"?\s*:`)

// MayBeObject reports whether a manifest that cannot be read could be an object: its file names an apiVersion or a kind.
// Other files, such as configurations in JSON with comments, are not meant for Kubernetes. The whole file counts, because
// a directive before an object is a document of its own for kubectl, and keeps it from reading the file.
func (m *Manifest) MayBeObject() bool {
	return len(m.text()) == 0 || objectKeys.Match(m.Text().Bytes())
}
