package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/value"
	"github.com/crdeval/crdeval/server/manifests"
)

// location identifies a manifest of a file.
type location struct {
	File   string `json:"file"`
	Number int    `json:"document"`       // of the document, from 1; 0 for the whole file
	Item   int    `json:"item,omitempty"` // of a list, from 1; 0 for another document
}

// source is a manifest of a file.
type source struct {
	manifests.Manifest
	location
	json    []byte // the manifest as JSON; nil if it cannot be parsed
	id      identity
	rules   bool  // it has the conversion rules of the CRD id.CRD
	typeErr error // why apiVersion and kind cannot be read
	several bool  // the file has other manifests
}

// identity has the names in a manifest. Names that cannot be read are empty.
type identity struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	CRD        string `json:"crd"` // of conversion rules
	Metadata   struct {
		Name         string `json:"name"`
		GenerateName string `json:"generateName"`
		Namespace    string `json:"namespace"`

		CreationTimestamp string `json:"creationTimestamp"`
	} `json:"metadata"`
	Spec struct {
		Group string `json:"group"`
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
		Versions []struct {
			Name    string `json:"name"`
			Storage bool   `json:"storage"`
		} `json:"versions"`
	} `json:"spec"`
	Status engine.Status `json:"status"`
}

// versions returns the names of the versions of a CRD.
func (id *identity) versions() (names []string) {
	for _, v := range id.Spec.Versions {
		names = append(names, v.Name)
	}
	return names
}

// groupOf returns the group of an apiVersion, "" for the core group.
func groupOf(apiVersion string) string { return apiVersion[:max(0, strings.Index(apiVersion, "/"))] }

// versionOf returns the version of an apiVersion.
func versionOf(apiVersion string) string { return apiVersion[strings.Index(apiVersion, "/")+1:] }

// established reports whether the manifest is a CRD with the condition Established, as a CRD of a cluster.
func (s *source) established() bool {
	return slices.ContainsFunc(s.id.Status.Conditions, func(c engine.Condition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}

// where identifies the manifest in messages.
func (s *source) where() string {
	where := s.File
	if s.several {
		where = fmt.Sprintf("%s[%d]", s.File, s.Number)
	}
	if s.Item > 0 {
		where += fmt.Sprintf(".items[%d]", s.Item-1)
	}
	return where
}

// title identifies the object in messages.
func (s *source) title() string {
	name := s.id.Metadata.Name
	if prefix := s.id.Metadata.GenerateName; name == "" && prefix != "" {
		name = prefix + "…" // a server generates the rest
	}
	if s.id.Metadata.Namespace != "" {
		name = s.id.Metadata.Namespace + "/" + name
	}
	return cmp.Or(strings.TrimSpace(s.id.Kind+" "+name), "a document without a kind")
}

// errorAt returns the position of an error in the file, or else identifies the manifest.
func (s *source) errorAt(line int) string {
	if line > 0 {
		return fmt.Sprintf("%s:%d", s.File, line)
	}
	return s.where()
}

// reader reads the files of a command.
type reader struct {
	env       environment
	recursive bool // directories include their subdirectories
}

// each yields the manifests of files, of the files of directories, and of stdin ("-"). With an error, it yields a
// source that only has a File.
func (r reader) each(names ...string) iter.Seq2[*source, error] {
	return func(yield func(*source, error) bool) {
		for _, name := range names {
			files, err := r.files(name)
			if err != nil && !yield(&source{location: location{File: name}}, err) {
				return
			}
			for _, file := range files {
				list, err := r.file(file)
				if err != nil && !yield(&source{location: location{File: file}}, err) {
					return
				}
				for _, s := range list {
					if !yield(s, nil) {
						return
					}
				}
			}
		}
	}
}

// manifests returns all manifests of files and directories.
func (r reader) manifests(names ...string) (all []*source, _ error) {
	for s, err := range r.each(names...) {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.File, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// crds reads the CRDs of files or directories. It skips other kinds and conversion rules.
func (r reader) crds(names ...string) (all []*source, _ error) {
	for _, name := range names {
		list, _, err := r.crdsAndRules(name)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, errNoCRDIn(name)
		}
		all = append(all, list...)
	}
	return all, nil
}

// crdsAndRules reads the CRDs and the conversion rules of files or directories. It skips other kinds.
func (r reader) crdsAndRules(names ...string) (crds, rules []*source, _ error) {
	for _, name := range names {
		list, err := r.manifests(name)
		if err != nil {
			return nil, nil, err
		}
		before := len(crds) + len(rules)
		for _, s := range list {
			if s.typeErr != nil && len(list) > 1 { // a single one is taken for a CRD: registering it reports what is wrong
				text, line, _ := s.Describe(s.typeErr)
				return nil, nil, fmt.Errorf("%s:%d: %s", s.File, max(line, s.Line()), text)
			}
			switch {
			case s.rules:
				rules = append(rules, s)
			case s.id.Kind == manifests.CRDKind || s.id.Kind == "" && len(list) == 1:
				crds = append(crds, s)
			}
		}
		if len(crds)+len(rules) == before {
			return nil, nil, errNoCRDIn(name)
		}
	}
	return crds, rules, nil
}

func errNoCRDIn(name string) error { return fmt.Errorf("%s has no CustomResourceDefinition", name) }

// file reads the manifests of a file. It returns nil for a file without documents.
func (r reader) file(name string) ([]*source, error) {
	content, err := readFile(name, r.env)
	if err != nil {
		return nil, err
	}
	return sourcesOf(name, manifests.Split(content)), nil
}

// sourcesOf returns the manifests of the documents of a file.
func sourcesOf(name string, documents []manifests.Document) (all []*source) {
	for i, d := range documents {
		for item, m := range d.Manifests() {
			all = append(all, newSource(m, location{File: name, Number: i + 1, Item: item}))
		}
	}
	for _, s := range all {
		s.several = len(all) > 1
	}
	return all
}

func newSource(m manifests.Manifest, at location) *source {
	s := &source{Manifest: m, location: at}
	document := m.Document
	if document.YAML != nil { // parse YAML only once
		if text, _, err := value.YAMLToJSON(document.YAML, engine.Limits{}); err == nil {
			document = engine.JSON(text)
		}
	}
	var apiVersion, kind string
	apiVersion, kind, s.typeErr = engine.TypeMetaOf(document, engine.Limits{})
	s.json = document.JSON
	_ = json.Unmarshal(s.json, &s.id) // after a field of a wrong type it reads the others
	if s.typeErr == nil {
		s.id.APIVersion, s.id.Kind = apiVersion, kind
	}
	if s.typeErr == nil && kind == "" {
		s.id.CRD, s.rules, _ = engine.IsConversion(document, engine.Limits{}) // TypeMetaOf has read the document
	}
	return s
}

// files returns the file itself, or the manifest files of a directory. Hidden files and directories are skipped.
func (r reader) files(name string) (files []string, err error) {
	if info, _ := os.Stat(name); name == "-" || info == nil || !info.IsDir() {
		return []string{name}, nil // reading it reports an error
	}
	err = filepath.WalkDir(name, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == name:
		case e.IsDir() && (!r.recursive || e.Name()[0] == '.'):
			return fs.SkipDir
		case e.Type()&^fs.ModeSymlink == 0 && manifests.IsFileName(e.Name()):
			files = append(files, path)
		}
		return nil
	})
	if err == nil && files == nil {
		err = errors.New("the directory has no .yaml, .yml or .json file")
		if !r.recursive {
			err = fmt.Errorf("%w; use -R to include subdirectories", err)
		}
	}
	return files, err
}

// maxFileBytes bounds a file. Its content is in memory several times.
const maxFileBytes = 512 << 20

// readFile reads a file, or stdin for "-". Reading from a pipe ends when the command is interrupted.
func readFile(name string, env environment) ([]byte, error) {
	type result struct {
		content []byte
		err     error
	}
	done := make(chan result, 1)
	go func() {
		content, err := readAll(name, env.stdin)
		done <- result{content, err}
	}()
	select {
	case r := <-done:
		return r.content, r.err
	case <-env.interrupted:
		return nil, errors.New("interrupted")
	}
}

func readAll(name string, stdin io.Reader) (content []byte, err error) {
	defer func() {
		if e := (*fs.PathError)(nil); errors.As(err, &e) {
			err = e.Err // the caller adds the name
		}
	}()
	from := stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		from = file
	}
	content, err = io.ReadAll(io.LimitReader(from, maxFileBytes+1))
	if err == nil && len(content) > maxFileBytes {
		return nil, fmt.Errorf("the file is larger than %d MiB: split it", maxFileBytes>>20)
	}
	return content, err
}

// isStdinTwice reports whether "-" is among the names more than once.
func isStdinTwice(lists ...[]string) bool {
	names := slices.Concat(lists...)
	return slices.Contains(names[slices.Index(names, "-")+1:], "-")
}

var errStdinTwice = errors.New("only one argument can be - (stdin)")
