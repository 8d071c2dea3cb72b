package repository

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Filter recognises files of a repository that are not manifests: excluded files, templates and values of Helm charts,
// kustomizations and their patches. A nil filter recognises none. Its paths are absolute.
type Filter struct {
	root, working string
	exclude       []string
	templates     bool            // skip other templates than those of charts
	charts        map[string]bool // directories, whether they are charts
	visited       map[string]bool // directories whose kustomization is in uses
	uses          map[string]Skipped
	skipped       []Skipped
	recorded      map[string]bool // names of skipped
}

// Skipped is a file that a filter recognises. Kind is for counts.
type Skipped struct{ Name, Kind, Reason string }

// NewFilter returns a filter for the repository that contains a directory, an absolute path. exclude has globs, which
// are relative to either. If templates is true, files that are templates without a chart are recognised too.
func NewFilter(working string, exclude []string, templates bool) (*Filter, error) {
	for _, pattern := range exclude {
		if !doublestar.ValidatePattern(pattern) {
			return nil, fmt.Errorf("--exclude: %q is not a glob", pattern)
		}
	}
	return &Filter{
		root: RootOf(working), working: working, exclude: exclude, templates: templates, charts: map[string]bool{},
		visited: map[string]bool{}, uses: map[string]Skipped{}, recorded: map[string]bool{},
	}, nil
}

// Recognise returns for each file why it is not a manifest. The Kind is "" for files that can be manifests.
func (f *Filter) Recognise(names []string) []Skipped {
	all := make([]Skipped, len(names))
	if f == nil {
		return all
	}
	absolute := make([]string, len(names))
	for i, name := range names {
		if name == "-" || IsURL(name) {
			continue
		}
		absolute[i] = name
		if !filepath.IsAbs(name) {
			absolute[i] = filepath.Join(f.working, name)
		}
		f.visit(filepath.Dir(absolute[i]))
	}
	for i, path := range absolute {
		if path != "" {
			all[i] = f.recognise(path)
			all[i].Name = names[i]
		}
	}
	return all
}

// Record records that a file was skipped. Several arguments can contain the same file.
func (f *Filter) Record(s Skipped) {
	if !f.recorded[s.Name] {
		f.recorded[s.Name] = true
		f.skipped = append(f.skipped, s)
	}
}

// Skips reports whether a file was skipped.
func (f *Filter) Skips(name string) bool { return f != nil && f.recorded[name] }

// Skipped returns the files that were skipped.
func (f *Filter) Skipped() []Skipped { return f.skipped }

// recognise returns why a file is not a manifest. The kind is "" if it may be one.
func (f *Filter) recognise(file string) Skipped {
	dir, base := filepath.Split(file)
	dir = filepath.Clean(dir)
	if pattern := f.excludedBy(file); pattern != "" {
		return Skipped{Kind: "excluded file", Reason: "excluded by " + pattern}
	}
	if f.isChart(dir) && (base == "Chart.yaml" || base == "requirements.yaml" || strings.HasPrefix(base, "values")) {
		return Skipped{Kind: "Helm chart file", Reason: "part of a Helm chart"}
	}
	for ; ; dir = filepath.Dir(dir) {
		switch parent := filepath.Dir(dir); {
		case filepath.Base(dir) == "templates" && f.isChart(parent):
			return Skipped{Kind: "Helm template", Reason: "template of the Helm chart " + f.show(parent)}
		case filepath.Base(dir) == "ci" && f.isChart(parent) &&
			strings.HasSuffix(strings.TrimSuffix(base, filepath.Ext(base)), "values"):
			return Skipped{Kind: "Helm chart file", Reason: "part of a Helm chart"}
		case parent == dir, dir == f.root:
			return f.uses[file]
		}
	}
}

// excludedBy returns the pattern that matches a file or one of its directories, or "".
func (f *Filter) excludedBy(file string) string {
	for _, pattern := range f.exclude {
		for _, base := range []string{f.working, f.root} {
			relative, err := filepath.Rel(base, file)
			if err != nil {
				continue
			}
			for part := filepath.ToSlash(relative); part != "." && path.Base(part) != ".."; part = path.Dir(part) {
				name := part
				if !strings.Contains(strings.TrimSuffix(pattern, "/"), "/") {
					name = path.Base(part)
				}
				if doublestar.MatchUnvalidated(strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/"), name) {
					return pattern
				}
				if part == "/" {
					break
				}
			}
		}
	}
	return ""
}

// isChart reports whether a directory is a Helm chart.
func (f *Filter) isChart(dir string) bool {
	is, known := f.charts[dir]
	if !known {
		info, err := os.Stat(filepath.Join(dir, "Chart.yaml"))
		is = err == nil && info.Mode().IsRegular()
		f.charts[dir] = is
	}
	return is
}

// show returns a path for messages.
func (f *Filter) show(path string) string {
	if relative, err := filepath.Rel(f.working, path); err == nil {
		return filepath.ToSlash(relative)
	}
	return path
}

// Template is the kind of files outside of charts that are probably templates. The output always lists them, because
// they could be invalid manifests.
const Template = "template"

// action matches {{ on a line without quotes and comments before it.
var action = regexp.MustCompile(`(?m)^[^"'#\n]*\{\{`)

// Template returns why a file whose documents are unreadable is skipped. err is the error of the first one. The Kind is
// "" unless the file is a template.
func (f *Filter) Template(name string, content []byte, err error) Skipped {
	if f == nil || !f.templates || !action.Match(content) {
		return Skipped{}
	}
	return Skipped{Name: name, Kind: Template, Reason: "probably a template: it contains {{, and cannot be read (" +
		strings.TrimPrefix(err.Error(), "document: ") + ")"}
}
