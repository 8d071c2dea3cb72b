package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/download"
	"github.com/crdeval/crdeval/server/cmd/crdeval/repository"
)

// crdSourcesKey is the key of CRD sources in a configuration file.
const crdSourcesKey = "crd-sources"

// pullCommand is the command that fetches CRD sources.
const pullCommand = "crdeval crds pull"

// crdSources are the CRDs that a configuration file lists by URL. Only crdeval crds pull fetches them.
type crdSources struct {
	folder string // of the fetched files
	list   []*crdURL
}

// crdURL is an entry of CRD sources.
type crdURL struct {
	url, sha256 string // the digest is "" before the first pull
	file        string // with the folder
	line        int
	at          *yaml.Node // the value of url
	flow        bool       // the entry is in braces
	indent      int        // of its keys
}

// maxSourceFile bounds a fetched file in bytes, as package download does.
const maxSourceFile = 64 << 20

// addSources reads the setting crd-sources.
func (c *configFile) addSources(setting *yaml.Node) (errs []error) {
	fail := func(n *yaml.Node, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s:%d: %s: %s", c.name, n.Line, crdSourcesKey, fmt.Sprintf(format, args...)))
	}
	c.sources = &crdSources{}
	folder, known := filepath.Join(".crdeval", "crds"), map[string]bool{}
	for key, value := range entries(setting, fail) {
		switch {
		case known[key.Value]:
			fail(key, "%s is set twice", key.Value)
		case key.Value == "folder":
			if folder = value.Value; value.Kind != yaml.ScalarNode || !filepath.IsLocal(folder) {
				fail(value, "folder must be a relative path below the directory of %s", filepath.Base(c.name))
			}
		case key.Value == "urls" && value.Kind == yaml.SequenceNode:
			for _, entry := range value.Content {
				if source := readCRDURL(entry, fail); source != nil {
					c.sources.list = append(c.sources.list, source)
				}
			}
		case key.Value == "urls":
			fail(value, "urls must be a list of mappings with url and sha256")
		default:
			fail(key, "unknown key %q: use folder or urls", key.Value)
		}
		known[key.Value] = true
	}
	c.sources.folder = filepath.Join(filepath.Dir(c.name), folder)
	urls := map[string]bool{}
	for _, s := range c.sources.list {
		if s.file = filepath.Join(c.sources.folder, fileOfURL(s.url)); urls[s.url] {
			fail(s.at, "%s is listed twice", download.WithoutSecrets(s.url))
		}
		urls[s.url] = true
	}
	return errs
}

// entries yields the keys and values of a mapping. Other nodes fail.
func entries(n *yaml.Node, fail func(*yaml.Node, string, ...any)) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		if n.Kind != yaml.MappingNode {
			fail(n, "it must be a mapping")
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

var sha256Digits = regexp.MustCompile(`^[0-9a-f]{64}$`)

// readCRDURL reads an entry. It returns nil if the entry is invalid.
func readCRDURL(entry *yaml.Node, fail func(*yaml.Node, string, ...any)) *crdURL {
	s, failed := &crdURL{line: entry.Line, flow: entry.Style&yaml.FlowStyle != 0}, false
	reject := func(n *yaml.Node, format string, args ...any) {
		failed = true
		fail(n, format, args...)
	}
	known := map[string]bool{}
	for key, value := range entries(entry, reject) {
		switch {
		case known[key.Value]:
			reject(key, "%s is set twice", key.Value)
		case key.Value == "url":
			s.url, s.at, s.indent = value.Value, value, key.Column-1
			if err := download.CheckURL(s.url); err != nil || value.Kind != yaml.ScalarNode {
				reject(value, "%s: %v", download.WithoutSecrets(s.url), cmp.Or(err, errors.New("it is not a text")))
			}
		case key.Value == "sha256":
			if s.sha256 = value.Value; !sha256Digits.MatchString(s.sha256) || value.Kind != yaml.ScalarNode {
				reject(value, "sha256 must have 64 hexadecimal digits in lower case: remove the key, and run %s", pullCommand)
			}
		default:
			reject(key, "unknown key %q: use url and sha256", key.Value)
		}
		known[key.Value] = true
	}
	if !failed && s.at == nil {
		reject(entry, "an entry has no url")
	}
	if failed {
		return nil
	}
	return s
}

var notInFileName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// fileOfURL returns the name of the file for a URL: the last part of its path, and a part of the digest of the URL,
// because many files have the same name.
func fileOfURL(address string) string {
	base := "crds.yaml"
	if u, err := url.Parse(address); err == nil && path.Base(u.Path) != "/" && path.Base(u.Path) != "." {
		base = notInFileName.ReplaceAllString(path.Base(u.Path), "-")
	}
	end := path.Ext(base)
	if !workspace.IsFileName(base) {
		end = ".yaml"
	}
	name := strings.TrimLeft(strings.TrimSuffix(base, end), ".")
	return name[:min(len(name), 100)] + "-" + sha256Of([]byte(address))[:8] + end
}

func sha256Of(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// state returns the state of the fetched file: ok, missing, changed, or no digest. The error says why it is not ok.
func (s *crdURL) state() (state string, _ error) {
	content, err := repository.ReadRegular(s.file, maxSourceFile)
	name := download.WithoutSecrets(s.url)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "missing", fmt.Errorf("%s of %s does not exist", s.file, name)
	case err != nil:
		return "unreadable", err
	case s.sha256 == "":
		return "no digest", fmt.Errorf("%s has no sha256", name)
	case sha256Of(content) != s.sha256:
		return "changed", fmt.Errorf("%s has the SHA-256 %s, and %s of %s has %s",
			s.file, sha256Of(content), crdSourcesKey, name, s.sha256)
	}
	return "ok", nil
}

// sourceFiles returns the fetched files. Each must exist and have its digest.
func (c *configFile) sourceFiles() (files []string, _ error) {
	if c.sources == nil {
		return nil, nil
	}
	var errs []error
	for _, s := range c.sources.list {
		if _, err := s.state(); err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w: run %s", c.name, s.line, err, pullCommand))
		}
		files = append(files, s.file)
	}
	return files, errors.Join(errs...)
}

// addDigests returns the text of a configuration file with the digests of entries that have none. The rest of the text
// does not change.
func addDigests(text []byte, digests map[*crdURL]string) ([]byte, error) {
	lines := slices.Collect(bytes.Lines(text))
	sources := make([]*crdURL, 0, len(digests))
	for s := range digests {
		sources = append(sources, s)
	}
	// From the end, because several entries can be in one line.
	slices.SortFunc(sources, func(a, b *crdURL) int {
		return cmp.Or(cmp.Compare(b.at.Line, a.at.Line), cmp.Compare(b.at.Column, a.at.Column))
	})
	for _, s := range sources {
		line := lines[s.at.Line-1]
		before := len(string([]rune(string(line))[:s.at.Column-1]))
		end := bytes.Index(line[before:], []byte(s.url))
		if end < 0 || end > 1 {
			return nil, fmt.Errorf("the URL %s has escapes or several lines: write it in one line",
				download.WithoutSecrets(s.url))
		}
		end += before + len(s.url)
		if end < len(line) && (line[end] == '"' || line[end] == '\'') {
			end++
		}
		if s.flow {
			lines[s.at.Line-1] = slices.Concat(line[:end], []byte(", sha256: "+digests[s]), line[end:])
			continue
		}
		added := strings.Repeat(" ", s.indent) + "sha256: " + digests[s] + "\n"
		if !bytes.HasSuffix(line, []byte("\n")) {
			added = "\n" + added
		}
		lines[s.at.Line-1] = append(slices.Clone(line), added...)
	}
	return bytes.Join(lines, nil), nil
}

// writeDigests adds digests to the configuration file.
func (c *configFile) writeDigests(digests map[*crdURL]string) error {
	text, err := os.ReadFile(c.name)
	if err != nil {
		return err
	}
	if text, err = addDigests(text, digests); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return replaceFile(c.name, text)
}
