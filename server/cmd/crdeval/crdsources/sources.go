// Package crdsources has the CRDs that a configuration file lists by URL. sources.go reads the list, and checks the
// fetched files against their digests. pull.go fetches the files, and digests.go adds digests to the configuration file.
package crdsources

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/download"
	"github.com/crdeval/crdeval/server/cmd/crdeval/repository"
)

// Key is the key of CRD sources in a configuration file.
const Key = "crd-sources"

// PullCommand is the command that fetches CRD sources.
const PullCommand = "crdeval crds pull"

// Sources are the CRDs that a configuration file lists by URL. Only PullCommand fetches them. A nil Sources has none.
type Sources struct {
	config string // the name of the configuration file
	folder string // of the fetched files
	list   []*source
}

// IsEmpty reports whether no URL is listed.
func (s *Sources) IsEmpty() bool { return s == nil || len(s.list) == 0 }

// source is an entry.
type source struct {
	url, sha256 string // the digest is "" before the first pull
	file        string // with the folder
	line        int
	at          *yaml.Node // the value of url
	flow        bool       // the entry is in braces
	indent      int        // of its keys
}

// maxSourceFile bounds a fetched file in bytes, as package download does.
const maxSourceFile = 64 << 20

// Read reads the setting crd-sources of a configuration file.
func Read(config string, setting *yaml.Node) (s *Sources, errs []error) {
	fail := func(n *yaml.Node, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s:%d: %s: %s", config, n.Line, Key, fmt.Sprintf(format, args...)))
	}
	s = &Sources{config: config}
	folder, known := filepath.Join(".crdeval", "crds"), map[string]bool{}
	for key, value := range entries(setting, fail) {
		switch {
		case known[key.Value]:
			fail(key, "%s is set twice", key.Value)
		case key.Value == "folder":
			if folder = value.Value; value.Kind != yaml.ScalarNode || !filepath.IsLocal(folder) {
				fail(value, "folder must be a relative path below the directory of %s", filepath.Base(config))
			}
		case key.Value == "urls" && value.Kind == yaml.SequenceNode:
			for _, entry := range value.Content {
				if u := readSource(entry, fail); u != nil {
					s.list = append(s.list, u)
				}
			}
		case key.Value == "urls":
			fail(value, "urls must be a list of mappings with url and sha256")
		default:
			fail(key, "unknown key %q: use folder or urls", key.Value)
		}
		known[key.Value] = true
	}
	s.folder = filepath.Join(filepath.Dir(config), folder)
	urls := map[string]bool{}
	for _, u := range s.list {
		if u.file = filepath.Join(s.folder, fileOfURL(u.url)); urls[u.url] {
			fail(u.at, "%s is listed twice", download.WithoutSecrets(u.url))
		}
		urls[u.url] = true
	}
	return s, errs
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

// readSource reads an entry. It returns nil if the entry is invalid.
func readSource(entry *yaml.Node, fail func(*yaml.Node, string, ...any)) *source {
	u, failed := &source{line: entry.Line, flow: entry.Style&yaml.FlowStyle != 0}, false
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
			u.url, u.at, u.indent = value.Value, value, key.Column-1
			if err := download.CheckURL(u.url); err != nil || value.Kind != yaml.ScalarNode {
				reject(value, "%s: %v", download.WithoutSecrets(u.url), cmp.Or(err, errors.New("it is not a text")))
			}
		case key.Value == "sha256":
			if u.sha256 = value.Value; !sha256Digits.MatchString(u.sha256) || value.Kind != yaml.ScalarNode {
				reject(value, "sha256 must have 64 hexadecimal digits in lower case: remove the key, and run %s", PullCommand)
			}
		default:
			reject(key, "unknown key %q: use url and sha256", key.Value)
		}
		known[key.Value] = true
	}
	if !failed && u.at == nil {
		reject(entry, "an entry has no url")
	}
	if failed {
		return nil
	}
	return u
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
func (u *source) state() (state string, _ error) {
	content, err := repository.ReadRegular(u.file, maxSourceFile)
	name := download.WithoutSecrets(u.url)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "missing", fmt.Errorf("%s of %s does not exist", u.file, name)
	case err != nil:
		return "unreadable", err
	case u.sha256 == "":
		return "no digest", fmt.Errorf("%s has no sha256", name)
	case sha256Of(content) != u.sha256:
		return "changed", fmt.Errorf("%s has the SHA-256 %s, and %s of %s has %s",
			u.file, sha256Of(content), Key, name, u.sha256)
	}
	return "ok", nil
}

// Files returns the fetched files. Each must exist and have its digest.
func (s *Sources) Files() (files []string, _ error) {
	if s == nil {
		return nil, nil
	}
	var errs []error
	for _, u := range s.list {
		if _, err := u.state(); err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w: run %s", s.config, u.line, err, PullCommand))
		}
		files = append(files, u.file)
	}
	return files, errors.Join(errs...)
}
