package corpus

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// match is a file that a list of globs selects.
type match struct {
	path string // relative to the module
	tag  string // the text before the glob's colon
}

// find lists the files that the globs select, sorted by path, each with the tag of the first matching glob.
func find(root string, globs []string) ([]match, error) {
	type pattern struct {
		re       *regexp.Regexp
		tag      string
		excludes bool
	}
	var patterns []pattern
	for _, g := range globs {
		p := pattern{excludes: strings.HasPrefix(g, "!")}
		g = strings.TrimPrefix(g, "!")
		if tag, rest, ok := strings.Cut(g, ":"); ok {
			p.tag, g = tag, rest
		}
		p.re = compileGlob(g)
		patterns = append(patterns, p)
	}
	var found []match
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		hit, selected := match{path: rel}, false
		for _, p := range patterns {
			if !p.re.MatchString(rel) {
				continue
			}
			if p.excludes {
				return nil
			}
			if !selected {
				hit.tag, selected = p.tag, true
			}
		}
		if selected {
			found = append(found, hit)
		}
		return nil
	})
	sort.Slice(found, func(i, j int) bool { return found[i].path < found[j].path })
	return found, err
}

// compileGlob returns a matcher for a glob.
func compileGlob(glob string) *regexp.Regexp {
	return regexp.MustCompile("^" + globPattern(glob) + "$")
}

// globPattern converts a glob to a regular expression: ** crosses directories, * does not.
func globPattern(glob string) string {
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		switch {
		case strings.HasPrefix(glob[i:], "**/"):
			b.WriteString("(?:.*/)?")
			i += 2
		case strings.HasPrefix(glob[i:], "**"):
			b.WriteString(".*")
			i++
		case glob[i] == '*':
			b.WriteString("[^/]*")
		default:
			b.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		}
	}
	return b.String()
}
