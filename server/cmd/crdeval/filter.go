package main

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// fileFilter recognises files of a repository that are not manifests: files that --exclude matches, templates and
// values of Helm charts, kustomizations and their patches. A nil filter recognises none. Its paths are absolute.
type fileFilter struct {
	root, working string
	exclude       []string
	templates     bool            // skip other templates than those of charts
	charts        map[string]bool // directories, whether they are charts
	visited       map[string]bool // directories whose kustomization is in uses
	uses          map[string]skippedFile
	skipped       []skippedFile
	recorded      map[string]bool // names of skipped
}

// skippedFile is a file that a filter recognises. kind is for counts.
type skippedFile struct{ name, kind, reason string }

func newFilter(flags *ciFlags) (*fileFilter, error) {
	for _, pattern := range flags.Exclude {
		if !doublestar.ValidatePattern(pattern) {
			return nil, fmt.Errorf("--exclude: %q is not a glob", pattern)
		}
	}
	working, err := os.Getwd()
	return &fileFilter{
		root: repositoryRoot(), working: working, exclude: flags.Exclude, templates: flags.Repository,
		charts: map[string]bool{}, visited: map[string]bool{}, uses: map[string]skippedFile{}, recorded: map[string]bool{},
	}, err
}

// mark sets the field skip of the files that are not manifests.
func (f *fileFilter) mark(files []fileContent) {
	if f == nil {
		return
	}
	absolute := make([]string, len(files))
	for i := range files {
		if name := files[i].name; name != "-" && !isURL(name) && files[i].err == nil {
			if path, err := filepath.Abs(name); err == nil {
				absolute[i] = path
				f.visit(filepath.Dir(path))
			}
		}
	}
	for i := range files {
		if absolute[i] != "" {
			files[i].skip = f.recognise(absolute[i])
		}
	}
}

// record records that a file was skipped. Several arguments can contain the same file.
func (f *fileFilter) record(name string, skip skippedFile) {
	skip.name = name
	if !f.recorded[name] {
		f.recorded[name] = true
		f.skipped = append(f.skipped, skip)
	}
}

// skips reports whether a file was skipped.
func (f *fileFilter) skips(name string) bool { return f != nil && f.recorded[name] }

// recognise returns why a file is not a manifest. The kind is "" if it may be one.
func (f *fileFilter) recognise(file string) skippedFile {
	dir, base := filepath.Split(file)
	dir = filepath.Clean(dir)
	if pattern := f.excludedBy(file); pattern != "" {
		return skippedFile{kind: "excluded file", reason: "excluded by " + pattern}
	}
	if f.isChart(dir) && (base == "Chart.yaml" || base == "requirements.yaml" || strings.HasPrefix(base, "values")) {
		return skippedFile{kind: "Helm chart file", reason: "part of a Helm chart"}
	}
	for ; ; dir = filepath.Dir(dir) {
		switch parent := filepath.Dir(dir); {
		case filepath.Base(dir) == "templates" && f.isChart(parent):
			return skippedFile{kind: "Helm template", reason: "template of the Helm chart " + f.show(parent)}
		case filepath.Base(dir) == "ci" && f.isChart(parent) &&
			strings.HasSuffix(strings.TrimSuffix(base, filepath.Ext(base)), "values"):
			return skippedFile{kind: "Helm chart file", reason: "part of a Helm chart"}
		case parent == dir, dir == f.root:
			return f.uses[file]
		}
	}
}

// excludedBy returns the pattern that matches a file or one of its directories, or "".
func (f *fileFilter) excludedBy(file string) string {
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
func (f *fileFilter) isChart(dir string) bool {
	is, known := f.charts[dir]
	if !known {
		info, err := os.Stat(filepath.Join(dir, "Chart.yaml"))
		is = err == nil && info.Mode().IsRegular()
		f.charts[dir] = is
	}
	return is
}

// show returns a path for messages.
func (f *fileFilter) show(path string) string {
	if relative, err := filepath.Rel(f.working, path); err == nil {
		return filepath.ToSlash(relative)
	}
	return path
}

// unreadableTemplate reports whether a file is a template: none of its documents can be read, and it contains {{. A file
// with a readable document is checked, so that its errors are reported.
func unreadableTemplate(content []byte, sources []*source) bool {
	readable := func(s *source) bool { return s.Err == nil }
	return len(sources) > 0 && bytes.Contains(content, []byte("{{")) && !slices.ContainsFunc(sources, readable)
}
